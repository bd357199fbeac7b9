"""Checks before a role starts to listen: a free port, enough open files."""

import resource
import socket
import threading

from django.core.management.base import CommandError

BACKLOG = 4096  # connections that wait to be accepted, as far as the system allows
PORT_TRIES = 8
PORT_TRY_SECONDS = 0.25


def refuse_busy_port(host: str, port: int) -> None:
    """
    Raise CommandError if another process listens on the port.

    Retries for two seconds: the workers of a killed command end within half a second.
    """
    pause = threading.Event()
    for tries_left in reversed(range(PORT_TRIES)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                return
            except OSError as error:
                if not tries_left:
                    message = f"Cannot listen on {host}:{port}: {error}. Choose another port, such as PORT=8080."
                    raise CommandError(message) from None
        pause.wait(PORT_TRY_SECONDS)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, for child processes to accept from. Raises CommandError for a busy port."""
    refuse_busy_port(host, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual)


def allow_open_files(wanted: int) -> None:
    """Raise the limit of open files of this process and its children, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
