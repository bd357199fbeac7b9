"""
Hosts in namespaces: each has its own network, name, processes and temporary files, so they share the network only.

The code is the same directory for all, as an image would be. Needs ip(8), unshare(1) and nsenter(1).
"""

import ipaddress
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services.processes import ROOT, Process

NETWORK = ipaddress.ip_network("10.77.0.0/24")
BRIDGE, OURS = "bridge", "10.77.0.1"  # of this namespace: the hosts' databases, and the outside world
IPV4 = 0x0800  # the EtherType
BEGIN = "hostname {name} && mount -t tmpfs tmpfs {place} && ip link set lo up && echo up && exec sleep infinity"


def run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")


def build_bridge() -> None:
    """Make the network that connects the hosts. It ends with this namespace."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{OURS}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


class Trap:
    """Sees each packet that a host sends to somewhere else, a query for a name too. Their default route leads here."""

    def __init__(self) -> None:
        self.caught: set[str] = set()  # "from > to"
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(IPV4))
        self._socket.bind((BRIDGE, IPV4))
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while header := self._socket.recv(20):
            source, target = (ipaddress.ip_address(header[place : place + 4]) for place in (12, 16))
            if target not in NETWORK and not target.is_multicast:
                self.caught.add(f"{source} > {target}")


class Host:
    """A host at 10.77.0.`number`. Its processes end with it, and it ends with this process."""

    def __init__(self, name: str, number: int, logs: Path) -> None:
        self.name, self.address, self._logs = name, f"10.77.0.{number}", logs
        namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--mount-proc", "--fork", "--kill-child"]
        self.place = logs / "own"  # the same path on each host, and another directory
        self.place.mkdir(exist_ok=True)
        command = ["unshare", *namespaces, "sh", "-c", BEGIN.format(name=name, place=self.place)]
        self._root = Process(name, command, log=logs / f"{name}.log")
        self._root.wait_until(lambda: "up" in self._root.printed())
        parent = self._root.popen.pid
        self._pid = int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])
        line = f"to-{name}"
        run("ip", "link", "add", line, "type", "veth", "peer", "name", "eth0", "netns", str(self._pid))
        run("ip", "link", "set", line, "master", BRIDGE, "up")
        run(*self._inside("ip", "address", "add", f"{self.address}/24", "dev", "eth0"))
        run(*self._inside("ip", "link", "set", "eth0", "up"))
        run(*self._inside("ip", "route", "add", "default", "via", OURS))

    def _inside(self, *command: str) -> list[str]:
        namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", f"--wd={ROOT}"]
        return ["nsenter", "--target", str(self._pid), *namespaces, *command]

    def start(self, role: str, command: Sequence[str], environment: Mapping[str, str]) -> Process:
        """Start a role of the service there, with its own DATA_DIR."""
        own = {**environment, "DATA_DIR": str(self.place / role), "TMPDIR": str(self.place)}
        return Process(role, self._inside(*command), log=self._logs / f"{self.name}-{role}.log", env=own)

    def crash(self) -> None:
        """End the host and all its processes without notice."""
        self._root.kill()
