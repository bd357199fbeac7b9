"""Threads that run blocking code for an event loop. Cheaper than `run_in_executor`, which submit would notice."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """A fixed number of daemon threads: one that hangs does not keep the process from ending."""

    def __init__(self, count: int, name: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        for number in range(count):
            threading.Thread(target=self._run, daemon=True, name=f"{name}-{number}").start()

    @property
    def waiting(self) -> int:
        """Return how many calls wait for a thread."""
        return self._work.qsize()

    def call(self, function: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        """Return a future of the function's result, run in one of the threads."""
        future: asyncio.Future[T] = self._loop.create_future()
        settle = self._loop.call_soon_threadsafe

        def work() -> None:
            try:
                result = function(*arguments)
            except BaseException as error:
                settle(_fail, future, error)
            else:
                settle(_succeed, future, result)

        self._work.put(work)
        return future

    def _run(self) -> None:
        while True:
            self._work.get()()


def _succeed(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[T]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
