"""
Children that are forks of `serve`: they share its memory, and load nothing again.

Only for the first start on SQLite. A reload and a restart run the code on disk in a new interpreter, and on PostgreSQL
the settings of a connection depend on the role (docs/adr/0103).
"""

import gc
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from multiprocessing.connection import wait
from pathlib import Path

from django.core.management.base import CommandError
from django.db import connections

from config.supervision.child import end_with

TASKS, NAME = Path("/proc/self/task"), Path("/proc/self/comm")


def may_fork() -> bool:
    """Return whether this process can be forked: on Linux, with SQLite, and while it has a single thread."""
    is_sqlite = all(connection.vendor == "sqlite" for connection in connections.all())
    return is_sqlite and TASKS.is_dir() and len(list(TASKS.iterdir())) == 1


def prepare_to_fork() -> None:
    """Close the connections, and keep the collector off the modules, so that forks go on sharing their memory."""
    connections.close_all()
    gc.collect()
    gc.freeze()


class Fork:
    """A forked process, with the methods of subprocess.Popen that its supervisor calls, from any of its threads."""

    def __init__(self, run: Callable[[], object], *, name: str, lifeline: tuple[int, int]) -> None:
        """
        Call `run` in a fork of this process, which ends after it, or with the other end of the pipe `lifeline`.

        `name` is shown by `top`; the command line is that of this process.
        """
        self._lock = threading.Lock()
        # Blocked until the child has its own handlers: those of the parent would swallow a SIGTERM.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_become, args=(run, name, lifeline, former))
        self._process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        self.pid = self._process.pid

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the status with which it ended. Raises subprocess.TimeoutExpired."""
        if not wait([self._process.sentinel], timeout):
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        with self._lock:
            self._process.join()
            return self._process.exitcode

    def terminate(self) -> None:
        """Send SIGTERM unless it has ended."""
        with self._lock:
            self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL unless it has ended."""
        with self._lock:
            self._process.kill()


def _become(
    run: Callable[[], object], name: str, lifeline: tuple[int, int], signals: Iterable[signal.Signals | int]
) -> None:
    """Do what an exec would: new session, default signals. Then run it."""
    os.setsid()
    NAME.write_text(name)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(lifeline[1])
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    threading.Thread(target=end_with, args=(lifeline[0],), daemon=True, name="lifeline").start()
    try:
        run()
    except CommandError as error:
        sys.exit(str(error))
    finally:
        logging.shutdown()
