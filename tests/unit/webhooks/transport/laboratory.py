"""
A separate host for the address guard: its network has a public receiver, private traps, and a name server.

    unshare --net --mount python -m tests.unit.webhooks.transport.laboratory

It runs in namespaces of network and mounts, so that addresses such as 169.254.169.254 are really there, the system's
resolver asks our name server, and nothing leaves the machine. It reads calls from standard input, one JSON list each:
a function's name and its arguments. It prints the result of each as JSON.
"""

import fcntl
import json
import os
import socket
import struct
import sys
import tempfile
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from unittest import mock

import django
from django.conf import settings

from tests.services.own_network import raise_loopback, use_our_resolver
from tests.unit.webhooks.transport.name_server import NameServer, Zone
from tests.unit.webhooks.transport.raw_receiver import BODY, HEADERS, KeepingReceiver

PUBLIC = "93.184.215.14"
PUBLIC_V6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
TRAPS = ["127.0.0.1", "10.0.0.66", "169.254.169.254", "100.100.100.200", "::1", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"]
PORT = 80
# <linux/sockios.h>; without the program `ip`, which not every host has.
SIOCSIFADDR = 0x8916


def build_network() -> None:
    """Bring loopback up, and give it all addresses of the play."""
    raise_loopback()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for number, address in enumerate(each for each in [PUBLIC, *TRAPS] if ":" not in each):
            if not address.startswith("127."):
                packed = struct.pack("=HH4s8x", socket.AF_INET, 0, ip_address(address).packed)
                fcntl.ioctl(line, SIOCSIFADDR, struct.pack("16s16s8x", f"lo:{number}".encode(), packed))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as line:
        for address in [PUBLIC_V6, *TRAPS]:
            if ":" in address and address != "::1":
                request = struct.pack("=16sIi", ip_address(address).packed, 128, socket.if_nametoindex("lo"))
                fcntl.ioctl(line, SIOCSIFADDR, request)


class Laboratory:
    """Every public method can be called from outside."""

    def __init__(self) -> None:
        self._names = NameServer()
        self._public = [KeepingReceiver(address=address, port=PORT) for address in (PUBLIC, PUBLIC_V6)]
        self._traps = {address: KeepingReceiver(address=address, port=PORT) for address in TRAPS}

    def begin(self, zone: Zone, allowed_networks: list[str]) -> None:
        """Start a test with these names; forget the last one."""
        from webhooks.transport import kept_connections

        with mock.patch.object(kept_connections, "MAX_AGE_SECONDS", 0.0):
            kept_connections.KEPT.sweep()
        self._names.zone, self._names.asked = zone, []
        for receiver in [*self._public, *self._traps.values()]:
            receiver.connections, receiver.requests = 0, []
        settings.WEBHOOK_ALLOW_HTTP, settings.WEBHOOK_PROXY_URL = True, ""
        settings.WEBHOOK_ALLOWED_NETWORKS, settings.WEBHOOK_ALLOWED_PORTS = allowed_networks, [443, 80, 8443, 8080]

    def save(self, url: str) -> str:
        """Check a URL as when a webhook is saved; return the code of its refusal, or an empty text."""
        from webhooks.transport.address_guard import UrlRefused, check_url

        try:
            check_url(url)
        except UrlRefused as refused:
            return refused.code
        return ""

    def post(self, url: str, endpoint: str) -> dict[str, Any]:
        """Send a message; return its outcome."""
        from webhooks.transport.http import post

        return asdict(post(url, BODY, HEADERS, endpoint=endpoint))

    def limit_age(self, seconds: float) -> None:
        """Set the age at which kept connections end."""
        from webhooks.transport import kept_connections

        kept_connections.MAX_AGE_SECONDS = seconds

    def limit_look_ups(self, seconds: float) -> None:
        """Set how long a look-up may take."""
        from webhooks.transport import http

        http.DNS_SECONDS = seconds  # type: ignore[attr-defined]  # the name that `post` reads

    def called(self) -> dict[str, int]:
        """Return the connections to each address, traps included, that got any."""
        counts = {address: trap.connections for address, trap in self._traps.items()}
        counts["public"] = sum(receiver.connections for receiver in self._public)
        return {address: count for address, count in counts.items() if count}

    def asked(self) -> list[tuple[str, str]]:
        """Return the queries that the name server got."""
        return self._names.asked


def main() -> None:
    build_network()
    with tempfile.TemporaryDirectory(prefix="fieldpost-laboratory-") as folder:
        use_our_resolver(Path(folder))
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        laboratory = Laboratory()
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            print(json.dumps(getattr(laboratory, name)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
