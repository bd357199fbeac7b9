"""
Many uploads at the same time: each on its own connection, its bytes sent in small parts over a given time.

    python -m tests.load.uploads PORT FORM_ID KEY FIELD COUNT BYTES SECONDS

Prints one line of JSON, `{"statuses": {"201": 200}, "seconds": 31.2}`. One separate process with one loop: it
shares the cores of the service.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from config.supervision.ports import allow_open_files
from tests.load.slow_peers import address_of

BOUNDARY = "upload-boundary"
TICK_SECONDS = 0.5
PNG = b"\x89PNG\r\n\x1a\n"  # the signature of its type
ANSWER_SECONDS = 120.0
AGAIN_SECONDS = 2.0
GOLDEN = 0.618034  # the multiples of which are spread evenly, and neighbours far from each other


@dataclass(frozen=True)
class Uploads:
    """The result of a process of uploads: answers by status, and its time."""

    statuses: dict[str, int]
    seconds: float


def head_and_tail(form_id: str, key: str, field: str, size: int) -> tuple[bytes, bytes, bytes]:
    """Return the head of the request, and what comes before and after the bytes of the file."""
    texts = {"formId": form_id, "field": field}
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in texts.items()
    ]
    disposition = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="photo.png"\r\n'
    before = ("".join(parts) + disposition + "Content-Type: image/png\r\n\r\n").encode()
    after = f"\r\n--{BOUNDARY}--\r\n".encode()
    length = len(before) + size + len(after)
    head = (
        f"POST /api/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {key}\r\nConnection: close\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {length}\r\n\r\n"
    )
    return head.encode(), before, after


async def upload(port: int, request: tuple[bytes, bytes, bytes], number: int, size: int, seconds: float) -> str:
    """Send one file, evenly over `seconds`; again if the answer is 503. Return the answer's status; "" without one."""
    await asyncio.sleep(TICK_SECONDS * (GOLDEN * number % 1))  # so visitors send at different times of a tick
    try:
        while (status := await send(port, request, number, size, seconds)) == "503":
            await asyncio.sleep(AGAIN_SECONDS)
    except (OSError, TimeoutError):
        return ""
    return status


async def send(port: int, request: tuple[bytes, bytes, bytes], number: int, size: int, seconds: float) -> str:
    head, before, after = request
    seed = hashlib.sha256(str(number).encode()).digest()
    steps = max(1, round(seconds / TICK_SECONDS))
    each = -(-size // steps)
    part = seed * (each // len(seed) + 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address_of(number), 0))
    try:
        writer.write(head + before + PNG)
        left = size - len(PNG)
        start = time.monotonic()
        for step in range(steps):
            writer.write(part[: min(each, left)])
            left -= min(each, left)
            await writer.drain()
            await asyncio.sleep(max(0.0, start + (step + 1) * TICK_SECONDS - time.monotonic()))
        writer.write(after)
        answer = await asyncio.wait_for(reader.readline(), ANSWER_SECONDS)
    finally:
        writer.close()
    return answer.split()[1].decode() if answer else ""


async def upload_all(
    port: int, form_id: str, key: str, field: str, count: int, size: int, seconds: float
) -> dict[str, int]:
    request = head_and_tail(form_id, key, field, size)
    # Visitors have lines of different speeds: the last one takes all of the time, the first one half of it.
    each = [seconds * (1 + number / count) / 2 for number in range(count)]
    statuses = await asyncio.gather(*(upload(port, request, number, size, each[number]) for number in range(count)))
    return dict(Counter(statuses))


def main(arguments: Sequence[str]) -> None:
    port, form_id, key, field, count, size, seconds = arguments
    allow_open_files(2 * int(count) + 100)
    start = time.monotonic()
    statuses = asyncio.run(upload_all(int(port), form_id, key, field, int(count), int(size), float(seconds)))
    print(json.dumps({"statuses": statuses, "seconds": round(time.monotonic() - start, 1)}))


@contextmanager
def uploading(
    port: int, form_id: str, key: str, field: str, *, count: int, size: int, seconds: float
) -> Iterator[list[Uploads]]:
    """Upload next to the block, and wait for the end of it; then the list has the result."""
    command = [sys.executable, "-m", "tests.load.uploads", str(port), form_id, key, field]
    process = subprocess.Popen([*command, str(count), str(size), str(seconds)], stdout=subprocess.PIPE, text=True)
    found: list[Uploads] = []
    try:
        yield found
        printed, _ = process.communicate(timeout=seconds + ANSWER_SECONDS + 60)
        found.append(Uploads(**json.loads(printed)))
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
