"""Long work in the threads of a web process lets its requests pass, each of which would wait for it a dozen times."""

from collections.abc import Generator, Iterable
from time import monotonic, sleep, thread_time
from typing import TypeVar

BUSY_SECONDS = 0.1  # after a request
PAUSE = 3  # times the processor time of a part, after it
MOST_SECONDS = 0.1  # of a pause
T = TypeVar("T")


class Traffic:
    """Whether this process answers requests at the moment. Written by the event loop only."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def note(self) -> None:
        """Note that a request has arrived."""
        self._last = monotonic()

    def is_busy(self) -> bool:
        """Return whether a request arrived within BUSY_SECONDS. False in processes without our web server."""
        return monotonic() - self._last < BUSY_SECONDS

    def let_pass(self, parts: Iterable[T]) -> Generator[T, None, None]:
        """Yield the parts, with a pause after each while requests arrive: they get a quarter of the time then."""
        began = thread_time()
        for part in parts:
            yield part
            if self.is_busy():
                sleep(min(MOST_SECONDS, PAUSE * (thread_time() - began)))
            began = thread_time()


TRAFFIC = Traffic()
