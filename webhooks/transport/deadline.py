"""The end of one attempt, for every channel: one thread watches all connections (docs/adr/0005, docs/adr/0048)."""

import heapq
import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

logger = logging.getLogger(__name__)


class Alarm:
    """One call in the future. It can be canceled until it starts."""

    __slots__ = ("action", "due")

    def __init__(self, due: float, action: Callable[[], object]) -> None:
        self.due = due
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        """Cancel the call and release everything that it refers to; its entry is dropped later."""
        self.action = None


class _Watchdog:
    """Makes calls at their time in one thread for the process: a thread for each attempt costs more than its POST."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Forget all calls, as a fork has to: it has the alarms of its parent, and none of its threads."""
        self._changed = threading.Condition()
        self._alarms: list[tuple[float, int, Alarm]] = []  # a heap; canceled ones leave it when they come first
        self._numbers = itertools.count()  # alarms of one moment are not compared
        self._thread: threading.Thread | None = None

    def call_later(self, seconds: float, action: Callable[[], object]) -> Alarm:
        """
        Call `action` in the watchdog's thread. It must not block: every deadline of the process waits for it.

        Raises RuntimeError when the host has no thread left.
        """
        alarm = Alarm(time.monotonic() + seconds, action)
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                thread.start()
                self._thread = thread
            heapq.heappush(self._alarms, (alarm.due, next(self._numbers), alarm))
            if self._alarms[0][2] is alarm:
                self._changed.notify()
        return alarm

    def _run(self) -> None:
        while True:
            action = self._next()
            try:
                action()
            except Exception:  # the others still need the thread
                logger.exception("a call of the watchdog failed")

    def _next(self) -> Callable[[], object]:
        """Wait for the next call that is due and was not canceled."""
        with self._changed:
            while True:
                if not self._alarms:
                    self._changed.wait()
                    continue
                due, _, alarm = self._alarms[0]
                action, seconds = alarm.action, due - time.monotonic()
                if action is not None and seconds > 0:
                    self._changed.wait(seconds)
                    continue
                heapq.heappop(self._alarms)
                if action is not None:
                    return action


_watchdog = _Watchdog()
call_later = _watchdog.call_later
os.register_at_fork(after_in_child=_watchdog.start_over)


class Deadline:
    """
    The end of one attempt, `seconds` from now. It shuts the watched connection down, even in the middle of a read.

    A socket timeout starts again at every read, so a receiver that sends a byte a second would never run into it.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()  # without it, a shutdown could hit the next owner of a closed descriptor
        self._line: socket.socket | None = None
        self._alarm: Alarm | None = None
        self._is_cut = False

    @property
    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed, so that an error on the connection is its doing."""
        return self._is_cut or self.remaining == 0.0

    def watch(self, line: socket.socket) -> None:
        """
        Watch a connected socket, new or used before, instead of the one until now.

        Closes it and raises TimeoutError if the deadline has passed.
        """
        if self.is_over:
            line.close()
            raise TimeoutError
        if self._alarm is None:
            self._alarm = call_later(self.remaining, self.cut)
        # A duplicate, since TLS takes the descriptor of the socket that it wraps, and the owner may close it.
        duplicate = socket.socket(line.family, line.type, line.proto, fileno=os.dup(line.fileno()))
        with self._lock:
            previous, self._line = self._line, duplicate
            if self._is_cut:  # meanwhile
                self._shut_down()
        if previous is not None:
            previous.close()

    def cut(self) -> None:
        """Shut the watched connection down now, for every thread that uses it."""
        with self._lock:
            self._is_cut = True
            self._shut_down()

    def _shut_down(self) -> None:
        with suppress(OSError):  # the peer closed it first
            if self._line is not None:
                self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop watching. Safe to call at any time and more than once."""
        if self._alarm is not None:
            self._alarm.cancel()
        with self._lock:
            if self._line is not None:
                self._line.close()
                self._line = None
