"""
Children that are forks of `serve`: they share its memory, and load nothing again.

Only for the first start on SQLite. A reload and a restart run the code on disk in a new interpreter, and on PostgreSQL
the settings of a connection depend on the role (docs/adr/0103).
"""

import gc
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from django.core.management.base import CommandError
from django.db import connections

from config.supervision.child import end_with

TASKS, DESCRIPTORS = Path("/proc/self/task"), Path("/proc/self/fd")
# Their places among the fields of /proc/self/stat behind the name, see proc(5).
ARGUMENTS_START, ARGUMENTS_END = 45, 46


def may_fork() -> bool:
    """Return whether this process can be forked: on Linux, with SQLite, and while it has a single thread."""
    is_sqlite = all(connection.vendor == "sqlite" for connection in connections.all())
    return is_sqlite and TASKS.is_dir() and len(list(TASKS.iterdir())) == 1 and _has_pidfds()


def _has_pidfds() -> bool:
    """Return whether `Fork` can watch a process. Older kernels, some sandboxes and some builds of Python cannot."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return hasattr(signal, "pidfd_send_signal")


def prepare_to_fork() -> None:
    """Close the connections, and keep the collector off the modules, so that forks go on sharing their memory."""
    connections.close_all()
    gc.collect()
    gc.freeze()


class Fork:
    """A forked process, with the methods of subprocess.Popen that its supervisor calls."""

    def __init__(self, run: Callable[[], object], *, title: str, lifeline: int, files: Iterable[int] = ()) -> None:
        """
        Call `run` in a fork of this process, which ends after it, or with `lifeline`.

        It keeps no descriptors but standard input and output, `lifeline` and `files`. `title`: the command in `ps`.
        """
        self._lock = threading.Lock()
        self.returncode: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        # Blocked until the child has its own handlers: those of the parent would swallow a SIGTERM.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.pid = os.fork()
        if not self.pid:
            _become(run, title, lifeline, {0, 1, 2, lifeline, *files}, former)
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        self._ended = os.pidfd_open(self.pid)  # readable when it has ended; never closed, there are only a few

    def wait(self, timeout: float | None = None) -> int:
        """Return the status with which it ended. Raises subprocess.TimeoutExpired."""
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        with self._lock:
            if self.returncode is None:
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            return self.returncode

    def terminate(self) -> None:
        """Send SIGTERM unless it has ended."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL unless it has ended."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, number)


def _become(
    run: Callable[[], object], title: str, lifeline: int, kept: set[int], signals: Iterable[signal.Signals | int]
) -> NoReturn:
    """Do what an exec would: new session, default signals, few descriptors. Never returns to the parent's frames."""
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        close_all_but(kept)
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        threading.Thread(target=end_with, args=(lifeline,), daemon=True, name="lifeline").start()
        show_as(title)
        run()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def close_all_but(kept: set[int]) -> None:
    """Close the listener, the pipes and the files of the parent: another process would hold them open."""
    for number in [int(path.name) for path in DESCRIPTORS.iterdir()]:
        if number not in kept:
            with suppress(OSError):  # the one that listed them
                os.close(number)


def show_as(title: str) -> None:
    """Show `title` in `ps` instead of the parent's command, over which it is written."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, room = int(fields[ARGUMENTS_START]), int(fields[ARGUMENTS_END]) - int(fields[ARGUMENTS_START])
        program = Path("/proc/self/cmdline").read_bytes().split(b"\0")[0].decode()
        for words in (f"{program} manage.py {title}", f"python manage.py {title}", f"manage.py {title}"):
            text = words.replace(" ", "\0").encode()
            if len(text) < room:
                with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
                    memory.seek(start)
                    memory.write(text.ljust(room, b"\0"))
                return
