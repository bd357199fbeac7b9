"""
Jobs of a process with threads, each in its own process (docs/adr/0108).

A job is a generator function and its arguments; its parts come back through a pair of sockets. The fork server of
`multiprocessing`, which the first job starts, forks for each one. A job ends when nobody reads its parts any longer.
"""

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import django
from django.apps import apps

NICENESS = 10  # of jobs: requests go first
AUTOGROUP, NAME = Path("/proc/self/autogroup"), Path("/proc/self/comm")
POLL_SECONDS = 0.5
AGAIN_SECONDS = 0.1  # until the signal that ends a job is sent again
END_SECONDS = 8  # for an abandoned job to clean up; canceling a statement has 5
Part = tuple[bytes, Any]  # data, and a value about it that can be pickled
Parts = Generator[Part, None, None]
PROCESSES = multiprocessing.get_context("forkserver")


class JobEnded(RuntimeError):
    """The process of a job could not be started, or ended before its last part: killed, such as for its memory."""


class _Abandoned(SystemExit):
    """Nobody reads the parts any longer. psycopg cancels its statement at a SystemExit."""


def preload(*modules: str) -> None:
    """Let the fork server import this module and these, as far as that is possible. Call it before the first job."""
    PROCESSES.set_forkserver_preload([__name__, *modules])


def run(function: Callable[..., Parts], *arguments: object) -> Parts:
    """
    Start a job. Yield its parts, and between them `(b"", None)` twice a second while none is ready.

    Errors of the job are raised instead of a part, and JobEnded if it is killed. Closing the parts ends the job.
    """
    ours, theirs = PROCESSES.Pipe()
    job = PROCESSES.Process(target=_run, args=(theirs, function, arguments), daemon=True)
    try:
        with ours:
            _start(job, theirs)
            while part := _next(ours):
                data, value = part
                if isinstance(data, Exception):
                    raise data from value
                yield data, value
    finally:
        if job.pid:  # it was started, and ends soon after its pipe
            job.join()
        job.close()


def _start(job: multiprocessing.process.BaseProcess, theirs: Connection) -> None:
    try:
        with theirs:
            job.start()
    except (EOFError, OSError) as error:
        raise JobEnded("the process of a job could not be started") from error


def _next(channel: Connection) -> Part | tuple[Exception, BaseException | None] | None:
    """Return a part, an empty one if there is none yet, an error with its cause, or None behind the last part."""
    try:
        return channel.recv() if channel.poll(POLL_SECONDS) else (b"", None)
    except (EOFError, OSError) as error:
        raise JobEnded("the process of a job ended before its last part") from error


def _run(channel: Connection, function: Callable[..., Parts], arguments: tuple[object, ...]) -> None:
    """Send the parts, in the process of the job."""
    gc.freeze()  # to collect what the fork server has would take time, and copy its pages
    with suppress(OSError):  # only Linux has it
        NAME.write_text("web-job")
    signal.signal(signal.SIGTERM, _abandon)
    threading.Thread(target=_watch, args=(channel,), daemon=True, name="watch").start()
    with suppress(_Abandoned):
        try:
            with closing(function(*arguments)) as parts:
                for part in parts:
                    _send(channel, part)
            _send(channel, None)
        except Exception as error:
            _send(channel, _described(error))


def _send(channel: Connection, value: object) -> None:
    try:
        channel.send(value)
    except OSError:
        _abandon()


def _watch(channel: Connection) -> None:
    """Wait until the other side closes the pipe, then end the job, which may be waiting for a database."""
    wait([channel])
    signal.alarm(END_SECONDS)  # kills, also while the interpreter is held by a driver that waits
    while True:  # a signal that comes just before the main thread begins to wait does not wake it
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(AGAIN_SECONDS)


def _abandon(*_signal: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # cleaning up is not interrupted again
    raise _Abandoned


def _described(error: Exception) -> tuple[Exception, BaseException | None]:
    """Return an error as it can be sent, with its traceback as a note, and its cause."""
    text = "".join(traceback.format_exception(error))
    found = error, error.__cause__
    try:
        error.add_note(f"In the process of the job:\n{text}")
        pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    except Exception:  # of any kind: classes decide how they are pickled
        return RuntimeError(text), None
    return found


def _lower_priority() -> None:
    """
    Let requests go first, on Linux in every way that it divides processor time.

    It does so among sessions first, where niceness does not count, then among the processes of each. Jobs in the
    session of their web process would use up its share. Source: sched(7), "The autogroup feature".
    """
    os.setsid()
    os.nice(NICENESS)
    with suppress(OSError):  # the feature is switched off
        AUTOGROUP.write_text(str(NICENESS))


if not apps.models_ready:  # in the fork server, or in a job whose fork server could not import this module
    django.setup()  # at the priority of requests: the first job waits for it
    _lower_priority()
