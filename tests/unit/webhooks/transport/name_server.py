"""A name server that answers as a test says: real queries over UDP, and another answer each time if wanted."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address

TYPES = {1: "A", 5: "CNAME", 28: "AAAA"}
NUMBERS = {name: number for number, name in TYPES.items()}
NO_SUCH_NAME = 3
# name -> type -> its answers, each a list of values; the last one stays. "silent" as a type: no answer ever comes.
Zone = dict[str, dict[str, list[list[str]]]]


class NameServer:
    """`asked` are the queries so far, such as `("a.example", "AAAA")`."""

    def __init__(self, address: str = "127.0.0.1", port: int = 53) -> None:
        self.zone: Zone = {}
        self.asked: list[tuple[str, str]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                query, client = self._socket.recvfrom(4096)
                if (answer := self._answer(query)) is not None:
                    self._socket.sendto(answer, client)

    def _answer(self, query: bytes) -> bytes | None:
        name, end = _read_name(query)
        kind = TYPES.get(struct.unpack(">H", query[end : end + 2])[0], "other")
        self.asked.append((name, kind))
        if "silent" in self.zone.get(name, {}):
            return None
        records = list(self._records(name, kind))
        flags = 0x8180 | (0 if name in self.zone else NO_SUCH_NAME)
        header = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
        return header + query[12 : end + 4] + b"".join(records)

    def _records(self, name: str, kind: str) -> Iterator[bytes]:
        known = self.zone.get(name, {})
        for alias in known.get("CNAME", [[]])[0]:
            yield _record(name, "CNAME", _written(alias))
            yield from self._records(alias, kind)
        answers = known.get(kind, [[]])
        for value in answers.pop(0) if len(answers) > 1 else answers[0]:
            yield _record(name, kind, ip_address(value).packed)


def _read_name(query: bytes) -> tuple[str, int]:
    """Return the name of the question, and where its type begins."""
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1


def _written(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _record(name: str, kind: str, data: bytes) -> bytes:
    return _written(name) + struct.pack(">HHIH", NUMBERS[kind], 1, 0, len(data)) + data  # valid for 0 seconds
