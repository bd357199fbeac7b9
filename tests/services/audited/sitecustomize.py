"""Writes each address that a program connects to or asks a name server for, a line each, to the file AUDITED_LOG."""

import os
import sys
from typing import Any

NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
PLACES = ("socket.connect", "socket.sendto")


def note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in NAMES:
        found = f"{event} {arguments[0]}"
    elif event in PLACES:
        place = arguments[1]
        found = f"{event} {place[0]} {place[1]}" if isinstance(place, tuple) else f"{event} {place!r}"
    else:
        return
    descriptor = os.open(os.environ["AUDITED_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{found}\n".encode())
    os.close(descriptor)


sys.addaudithook(note)
