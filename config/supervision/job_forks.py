"""
Jobs of a process with threads, each in a fork with its own interpreter (docs/adr/0108).

A process with threads must not fork. So it makes one fork of itself before it starts any, the fork server, which does
nothing but fork again for each job. A job is a generator function and its arguments; its parts come back through a
pair of sockets. The fork server ends when the process does, killed or not, and a job when nobody reads its parts.

Both sides unpickle what the other one sends. No other process can: the sockets have no name, and only these two have
their ends.
"""

import logging
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

from config.supervision.forks import TASKS, close_all_but, prepare_to_fork, show_as

NICENESS = 10  # of jobs: requests go first
AUTOGROUP = Path("/proc/self/autogroup")
POLL_SECONDS = 0.5
START_SECONDS = 10.0  # until a fork server that does not answer is done without
END_SECONDS = 8  # for an abandoned job to clean up; canceling a statement has 5
MOST_THREADS = 2  # of a process that forks: its own, and the one that waits for the end of `serve`
STARTED, PART, FAILED, DONE = b"S", b"P", b"F", b"D"
HEAD = struct.Struct("=cIQ")  # kind, bytes of the pickled value, bytes of data
LENGTH = struct.Struct("=Q")  # of a pickled job
Part = tuple[bytes, Any]  # data, and a value about it that can be pickled
Parts = Generator[Part, None, None]
logger = logging.getLogger(__name__)


class JobEnded(RuntimeError):
    """The process of a job ended before its last part: killed, such as for its memory."""


class _Abandoned(BaseException):
    """Nobody reads the parts any longer."""


class JobForks:
    """The fork server of this process, if it has one."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def start(self, title: str, job_title: str) -> None:
        """
        Fork the server. `title`, `job_title`: the commands of server and jobs in `ps`.

        Call it before this process starts threads or opens connections. Does nothing without /proc, or if there are
        threads. What jobs need should be imported: the forks share it.
        """
        if not TASKS.is_dir() or len(list(TASKS.iterdir())) > MOST_THREADS:
            return
        prepare_to_fork()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if not self._pid:
            ours.close()
            _run_and_exit(lambda: _serve(theirs, title, job_title))
        theirs.close()
        self._requests = ours

    def run(self, function: Callable[..., Parts], *arguments: object) -> Parts | None:
        """
        Start a job. Return its parts, and between them `(b"", None)` twice a second while none is ready.

        None where nothing can be forked: then the caller does it. Errors of the job are raised instead of a part, and
        JobEnded if it is killed. Closing the parts ends the job.
        """
        if self._requests is None:
            return None
        job = pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)
        channel, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._requests, [b"\0"], [theirs.fileno()])
            except OSError as error:
                channel.close()
                self._give_up(error)
                return None
        if not _starts(channel, job):
            channel.close()
            return None
        return _received(channel)

    def _give_up(self, error: OSError) -> None:
        with self._lock:
            is_first, self._requests = self._requests is not None, None
        if is_first:
            logger.error("the process %s that forks jobs has ended, so they run in threads: %s", self._pid, error)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)  # its socket is closed, so it is about to


def _starts(channel: socket.socket, job: bytes) -> bool:
    """Send a job. Return whether a process has begun with it."""
    _limit(channel, START_SECONDS)
    with suppress(OSError):
        channel.sendall(LENGTH.pack(len(job)) + job)
        has_begun = channel.recv(1) == STARTED
        _limit(channel, POLL_SECONDS)
        return has_begun
    return False


def _limit(channel: socket.socket, seconds: float) -> None:
    """Set for how long the socket waits. Not Python's limit: that would wake us for each piece of a part."""
    limit = struct.pack("ll", int(seconds), round(seconds % 1 * 1_000_000))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        channel.setsockopt(socket.SOL_SOCKET, option, limit)


def _received(channel: socket.socket) -> Parts:
    with channel:
        while True:
            kind, value_size, size = HEAD.unpack((yield from _whole(channel, HEAD.size)))
            value = pickle.loads((yield from _whole(channel, value_size)))  # noqa: S301 - from our own fork
            data = yield from _whole(channel, size)
            if kind == DONE:
                return
            if kind == FAILED:
                error, error.__cause__ = value
                raise error
            yield data, value


def _whole(channel: socket.socket, size: int) -> Generator[Part, None, bytes]:
    """Return so many bytes. Raises JobEnded at the end of the stream."""
    found = b""
    while len(found) < size:
        try:
            piece = channel.recv(size - len(found), socket.MSG_WAITALL)
        except BlockingIOError:
            yield b"", None
            continue
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise JobEnded("the process of a job ended before its last part")
        found = found + piece if found else piece
    return found


def _run_and_exit(run: Callable[[], object]) -> NoReturn:
    """Run it in this fork, and never return to the frames of the parent."""
    status = 1
    try:
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _serve(requests: socket.socket, title: str, job_title: str) -> None:
    """Fork for each request, until the other end of the socket is closed."""
    # A signal to all processes, as some supervisors send it, must not cut jobs that this one's parent waits for.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system collects those that have ended
    close_all_but({0, 1, 2, requests.fileno()})
    _lower_priority()
    show_as(title)
    while True:
        request, files, _, _ = socket.recv_fds(requests, 1, 1)
        if not request:
            return
        if not files:  # too many are open
            continue
        try:
            pid = os.fork()
        except OSError:
            logger.exception("no process could be forked for a job")
            pid = -1
        if not pid:
            requests.close()
            show_as(job_title)
            _run_and_exit(_Job(socket.socket(fileno=files[0])).run)
        os.close(files[0])


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


class _Job:
    """A job in its fork."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._is_ending = False

    def run(self) -> None:
        """Send the parts."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self._abandon)
        with suppress(_Abandoned):
            try:
                self._channel.sendall(STARTED)
                function, arguments = pickle.loads(self._read())  # noqa: S301 - from the process that we are a fork of
                threading.Thread(target=self._watch, daemon=True, name="watch").start()
                with closing(function(*arguments)) as parts:
                    for data, value in parts:
                        self._send(PART, value, data)
                self._is_ending = True
                self._send(DONE)
            except Exception as error:
                self._is_ending = True
                self._send(FAILED, _described(error))

    def _read(self) -> bytes:
        (size,) = LENGTH.unpack(self._channel.recv(LENGTH.size, socket.MSG_WAITALL))
        return self._channel.recv(int(size), socket.MSG_WAITALL)

    def _send(self, kind: bytes, value: object = None, data: bytes = b"") -> None:
        about = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        head = HEAD.pack(kind, len(about), len(data)) + about
        try:
            sent = self._channel.sendmsg([head, data])
            if sent < len(head) + len(data):  # a signal came in between
                self._channel.sendall((head + data)[sent:])
        except OSError:
            self._is_ending = True
            raise _Abandoned from None

    def _watch(self) -> None:
        """Wait until the other side closes the socket, then end the job, which may be waiting for a database."""
        with suppress(OSError):
            self._channel.recv(1)
        if number := threading.main_thread().ident:
            signal.pthread_kill(number, signal.SIGUSR1)
        signal.alarm(END_SECONDS)  # kills, also while the interpreter is held by a driver that waits

    def _abandon(self, *_signal: object) -> None:
        if not self._is_ending:
            self._is_ending = True
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
