"""
Producing a streamed answer in a thread of its own.

A web server may take an answer's parts, and give up on it, in any of its threads; a database transaction belongs to
the one that began it. So one thread reads, and hands its parts over through a short queue.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator
from typing import Self

from django.db import connections

PARTS_AHEAD = 4  # produced before the client has taken them
PATIENCE_SECONDS = 60.0  # with a client that takes nothing; then its transaction is ended
LOOK_SECONDS = 0.5


class BackgroundParts:
    """Iterates what `make()` yields in another thread. Errors come out where the parts would have."""

    def __init__(self, make: Callable[[], Generator[str, None, None]]) -> None:
        self._make = make
        self._parts: queue.Queue[str | BaseException] = queue.Queue(PARTS_AHEAD)
        self._abandoned = threading.Event()
        threading.Thread(target=self._produce, daemon=True, name="export").start()
        self._next = self._take()

    def check(self) -> None:
        """Raise what went wrong before the first part, while that can still be an error answer."""
        if isinstance(self._next, BaseException) and not isinstance(self._next, StopIteration):
            raise self._next

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        part = self._next
        if isinstance(part, BaseException):
            raise part
        self._next = self._take()
        return part

    def close(self) -> None:
        """Give up: the thread ends its transaction soon. Django calls this at the answer's end, however it came."""
        self._abandoned.set()

    def _take(self) -> str | BaseException:
        while True:
            try:
                return self._parts.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if self._abandoned.is_set():  # half an export must not look like a whole one
                    return ConnectionAbortedError("the reader took nothing for too long")

    def _produce(self) -> None:
        end: BaseException = StopIteration()
        try:
            with contextlib.closing(self._make()) as parts:
                for part in parts:
                    if not self._hand_over(part):
                        return
        except BaseException as error:
            end = error
        finally:
            connections.close_all()
            self._hand_over(end)

    def _hand_over(self, part: str | BaseException) -> bool:
        """Tell whether the other side still takes parts."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._abandoned.is_set() and time.monotonic() < until:
            with contextlib.suppress(queue.Full):
                self._parts.put(part, timeout=LOOK_SECONDS)
                return True
        self._abandoned.set()
        return False
