"""What a role that listens asks of this machine before it starts."""

import resource
import socket
import threading

from django.core.management.base import CommandError

PORT_TRIES = 8
PORT_TRY_SECONDS = 0.25


def refuse_busy_port(host: str, port: int) -> None:
    """
    Raise CommandError when something else listens already; granian would only log it.

    Waits a little first: the workers of a command that was killed notice it within half a second.
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


def allow_open_files(wanted: int) -> None:
    """Raise this process's limit of open files, which its children inherit, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
