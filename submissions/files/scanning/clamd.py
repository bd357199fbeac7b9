"""
The protocol of clamd: one file over a socket, one line back (https://linux.die.net/man/8/clamd, INSTREAM).

Each connection carries one file. Nothing here trusts the answer: it is read up to a size and a time.
"""

import contextlib
import socket
import struct
import time
from typing import IO

from config.files.clamd_url import read_clamd_url

CONNECT_SECONDS = 5
SILENCE_SECONDS = 30  # for which clamd may take no bytes, or give none; it scans 25 MiB of archives in less
SCAN_SECONDS = 120  # a file altogether, however slowly bytes go
CHUNK = 128 * 1024
MAX_REPLY = 1024  # bytes; a name of a virus has about 50
_COMMAND = b"zINSTREAM\0"  # z: the command and the reply end with a zero byte
_LENGTH = struct.Struct("!I")
_CLEAN, _FOUND, _REFUSED = "stream: OK", " FOUND", " ERROR"


class ClamdAway(OSError):
    """The scanner cannot be reached, or does not speak its protocol."""


class NotScanned(Exception):
    """
    The scanner has no result for this file: it exceeds a limit, or took too long, or ended the connection.

    The last two may be the file's fault, so another try must not come before all other files.
    """


def scan(content: IO[bytes], url: str) -> str | None:
    """Return the name of the virus in a file, read from where it is; None if it is clean. Raises the two above."""
    deadline = time.monotonic() + SCAN_SECONDS
    with _connect(url) as connection:
        try:
            # clamd answers and closes the connection before the end of a file that exceeds its limit.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                _send(connection, content, deadline)
            reply = _reply(connection, deadline)
        except OSError as error:
            raise NotScanned(f"{type(error).__name__}: {error}") from error
    return _result(reply)


def _connect(url: str) -> socket.socket:
    place = read_clamd_url(url)
    connection = socket.socket(socket.AF_UNIX)
    try:
        if isinstance(place, tuple):
            connection.close()
            return socket.create_connection(place, timeout=CONNECT_SECONDS)
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(place)
    except OSError as error:
        connection.close()
        raise ClamdAway(f"{type(error).__name__}: {error}") from error
    return connection


def _send(connection: socket.socket, content: IO[bytes], deadline: float) -> None:
    _wait_at_most(connection, deadline)
    connection.sendall(_COMMAND)
    while chunk := content.read(CHUNK):
        _wait_at_most(connection, deadline)
        connection.sendall(_LENGTH.pack(len(chunk)) + chunk)
    connection.sendall(_LENGTH.pack(0))


def _reply(connection: socket.socket, deadline: float) -> bytes:
    reply = b""
    while b"\0" not in reply and len(reply) < MAX_REPLY:
        _wait_at_most(connection, deadline)
        part = connection.recv(MAX_REPLY - len(reply))
        if not part:
            break
        reply += part
    return reply


def _wait_at_most(connection: socket.socket, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(f"no result after {SCAN_SECONDS} s")
    connection.settimeout(min(left, SILENCE_SECONDS))


def _result(reply: bytes) -> str | None:
    line, end, _rest = reply.partition(b"\0")
    text = line.decode("utf-8", errors="replace").strip()
    if end and text == _CLEAN:
        return None
    if end and text.startswith("stream: ") and text.endswith(_FOUND):
        return text.removeprefix("stream: ").removesuffix(_FOUND)[:200]
    if end and text.endswith(_REFUSED):
        raise NotScanned(text[:200])
    if not reply:
        raise NotScanned("the scanner ended the connection")  # when it crashes, for instance
    raise ClamdAway(f"it answered {text[:80]!r}")  # something else listens there
