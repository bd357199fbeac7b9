"""A client that reads a download as fast as it comes, in its own process, and keeps nothing."""

import http.client
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass

from tests.load.client import WrongAnswer

PART = 256 * 1024  # bytes
LONGEST_SECONDS = 60.0  # without a byte


@dataclass(frozen=True)
class Download:
    """`seconds` from the request to the last byte that was read; `end` by time.monotonic."""

    seconds: float
    end: float
    lines: int


@contextmanager
def downloading(port: int, path: str, key: str, *, at_most: float = float("inf")) -> "Iterator[Future[Download]]":
    """Yield a download in another process; it is cut after `at_most` seconds. Raises WrongAnswer unless it is a 200."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(time.monotonic).result()  # the process has started
        yield pool.submit(_read, port, path, key, at_most)


def _read(port: int, path: str, key: str, at_most: float) -> Download:
    lines = 0
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_SECONDS)) as connection:
        start = time.monotonic()
        connection.request("GET", path, headers={"x-access-key": key})
        answer = connection.getresponse()
        if answer.status != 200:
            raise WrongAnswer(answer.read().decode(errors="replace"))
        while time.monotonic() < start + at_most and (part := answer.read(PART)):
            lines += part.count(b"\n")
    end = time.monotonic()
    return Download(end - start, end, lines)
