"""
The customers' servers, in a separate process, so that they outlive every kill of the service.

    python -m tests.faults.checker.receivers LOG    prints its port and its trap's; serves until standard input ends

Each line of standard input is JSON: `{"prefix": "/a", "kind": "slow", ...}` sets the behavior of paths that begin so,
`{"secrets": {"/a/1": ["whsec_..."]}}` says which secrets a path's messages are verified with. Each is answered by `ok`.

Each line of LOG is JSON: an arrival (with `n`), or the end of its answer (`{"n", "answered"}`; `"cut": true` when the
sender closed first). The trap, on an address that no webhook may reach, logs every connection as `{"trap": ...}`.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

from tests.faults.checker.signature import verifies

HOST, TRAP_HOST = "127.0.0.1", "127.0.0.2"
GIBIBYTE = 1 << 30
BLOCK = b"x" * 65_536
LONGEST_SILENCE = 600.0  # seconds
OK: dict[str, Any] = {"kind": "ok"}


class Receivers:
    def __init__(self, log: IO[str]) -> None:
        self._log = log
        self._numbers = itertools.count(1)
        self._behaviors: dict[str, dict[str, Any]] = {}
        self._secrets: dict[str, list[str]] = {}
        self._in_flight: Counter[str] = Counter()

    def control(self, order: dict[str, Any]) -> None:
        self._secrets.update(order.get("secrets", {}))
        if "prefix" in order:
            self._behaviors[order["prefix"]] = order

    def _write(self, **entry: Any) -> None:
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()

    def _behavior(self, path: str) -> dict[str, Any]:
        fitting = [prefix for prefix in self._behaviors if path.startswith(prefix)]
        return self._behaviors[max(fitting, key=len)] if fitting else OK

    async def trapped(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._write(trap=str(writer.get_extra_info("sockname")), arrived=time.time())
        writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while await self._one(reader, writer):
                pass
        with contextlib.suppress(OSError):
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take one request; return whether another one may follow on the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        number = next(self._numbers)
        self._in_flight[path] += 1
        self._note(number, path, headers, body)
        is_cut = True
        try:
            await self._answer(self._behavior(path), reader, writer)
            is_cut = False
        finally:
            self._in_flight[path] -= 1
            self._write(n=number, answered=time.time(), cut=is_cut)
        return headers.get("connection", "").lower() != "close"

    def _note(self, number: int, path: str, headers: dict[str, str], body: bytes) -> None:
        message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        signatures = headers.get("webhook-signature", "")
        self._write(
            n=number,
            path=path,
            id=message_id,
            timestamp=timestamp,
            sha256=hashlib.sha256(body).hexdigest(),
            valid=[verifies(secret, message_id, timestamp, body, signatures) for secret in self._secrets.get(path, [])],
            in_flight=self._in_flight[path],
            arrived=time.time(),
        )

    async def _answer(
        self, behavior: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        kind = behavior["kind"]
        if kind == "silent":
            await _until_closed(reader, LONGEST_SILENCE)
            raise ConnectionResetError
        if behavior.get("seconds"):
            await _until_closed(reader, behavior["seconds"])
        if kind == "drip":
            await _drip(reader, writer)
        elif kind == "huge":
            await _send_a_gibibyte(writer)
        else:
            location = f"Location: {behavior['location']}\r\n" if "location" in behavior else ""
            status = behavior.get("status", 200)
            writer.write(f"HTTP/1.1 {status} As asked\r\n{location}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()


async def _until_closed(reader: asyncio.StreamReader, seconds: float) -> None:
    """Wait; raise ConnectionResetError when the sender closes."""
    with contextlib.suppress(asyncio.TimeoutError):
        if await asyncio.wait_for(reader.read(1), seconds) == b"":
            raise ConnectionResetError


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the status line and then headers, one byte a second."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 600:
        writer.write(bytes([byte]))
        await writer.drain()
        await _until_closed(reader, 1)


async def _send_a_gibibyte(writer: asyncio.StreamWriter) -> None:
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {GIBIBYTE}\r\n\r\n".encode())
    for _ in range(GIBIBYTE // len(BLOCK)):
        writer.write(BLOCK)
        await writer.drain()


async def main(path: str) -> None:
    with Path(path).open("a") as log:
        receivers = Receivers(log)
        server = await asyncio.start_server(receivers.serve, HOST, 0, limit=1 << 20, backlog=1024)
        trap = await asyncio.start_server(receivers.trapped, TRAP_HOST, 0)
        print(server.sockets[0].getsockname()[1], trap.sockets[0].getsockname()[1], flush=True)
        orders = asyncio.StreamReader(limit=1 << 24)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        while line := await orders.readline():
            receivers.control(json.loads(line))
            print("ok", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
