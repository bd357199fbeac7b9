"""A separate network in namespaces of network and mounts, whose names are asked of a name server of ours."""

import fcntl
import os
import socket
import struct
import subprocess
from pathlib import Path

# <linux/sockios.h> and <linux/if.h>; without the program `ip`, which not every host has.
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def separate(*program: str) -> list[str]:
    """Return the command that runs a program in its own namespaces. However it ends, so does all that it started."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    return ["unshare", *user, "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child", *program]


def raise_loopback() -> None:
    """Bring loopback up: in this network namespace only."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        flags = struct.unpack("16sH", fcntl.ioctl(line, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(line, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def use_our_resolver(folder: Path) -> None:
    """Put our files over those of the system: this mount namespace only."""
    for name, text in (("resolv.conf", "nameserver 127.0.0.1\n"), ("nsswitch.conf", "hosts: files dns\n")):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", str(folder / name), f"/etc/{name}"], check=True)
