"""The ports of a role: a listening socket, and enough open files."""

import os
import resource
import socket
import time

from django.core.management.base import CommandError

INHERITED = "FIELDPOST_LISTENERS"  # descriptors of `serve`, for its next code: "8000=5 8001=6"
BACKLOG = 4096  # connections that wait to be accepted, as far as the system allows
PATIENCE_SECONDS, PAUSE_SECONDS = 2.0, 0.25


def listen(host: str, port: int) -> socket.socket:
    """
    Return a socket that listens, for child processes to accept from: one that this process has inherited, or a new one.

    Raises CommandError for a busy port, after two seconds: the workers of a killed command end within half a second.
    """
    inherited = dict(pair.split("=") for pair in os.environ.get(INHERITED, "").split())
    if str(port) in inherited:
        return socket.socket(fileno=int(inherited[str(port)]))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual)
        except OSError as error:
            if time.monotonic() >= until:
                message = f"Cannot listen on {host}:{port}: {error}. Choose another port, such as PORT=8080."
                raise CommandError(message) from None
        time.sleep(PAUSE_SECONDS)


def bequeath(*listeners: socket.socket) -> None:
    """Leave listening sockets to the program that takes the place of this one."""
    for listener in listeners:
        listener.set_inheritable(True)
    os.environ[INHERITED] = " ".join(f"{one.getsockname()[1]}={one.fileno()}" for one in listeners)


def allow_open_files(wanted: int) -> None:
    """Raise the limit of open files of this process and its children, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
