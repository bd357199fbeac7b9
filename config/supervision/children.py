"""The processes of `serve`: `manage.py` commands, restarted when they die, and replaced on a reload."""

import functools
import logging
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import ClassVar

from django.conf import settings
from django.core.management import call_command

from config.supervision.forks import Fork

RESTART_PAUSE_SECONDS = 1.0
POLL_SECONDS = 0.1
LAUNCHER = settings.BASE_DIR / "config" / "supervision" / "child.py"
Process = subprocess.Popen[bytes] | Fork
logger = logging.getLogger(__name__)


class Child:
    """A `manage.py` command that is restarted when it dies, once it is watched."""

    # Of its environment. glibc gives each thread another arena by default, up to eight for each core, which keep what
    # their threads have freed: after 40 exports of a million rows 18 MiB, with two arenas 4 MiB (docs/adr/0108).
    _defaults: ClassVar[dict[str, str]] = {"MALLOC_ARENA_MAX": "2"}
    _lifeline: ClassVar[tuple[int, int]] = (-1, -1)  # a pipe; every child ends when its writing end is closed

    def __init__(self, *command: str, forks: bool) -> None:
        """Start the command: in a fork of this process, or in a new interpreter, as every later time."""
        if Child._lifeline[0] < 0:
            Child._lifeline = os.pipe()
        self._command = command
        self._forks = forks
        self._ending = threading.Event()
        self._lock = threading.Lock()  # held while one process takes the place of another
        self._process = self._start()

    def watch(self) -> None:
        """Restart it when it dies. This starts a thread, so all that fork are started before."""
        threading.Thread(target=self._watch, daemon=True).start()

    def ask_to_end(self) -> None:
        """Send SIGTERM, and start it no more."""
        with self._lock:
            self._ending.set()
            self._process.terminate()

    def end(self, patience_seconds: float) -> None:
        """Terminate it gracefully; kill it after `patience_seconds`."""
        self.ask_to_end()
        _wait_or_kill(self._process, patience_seconds)

    def reload(self, patience_seconds: float) -> None:
        """Run the command again, with the code that is on disk now."""
        with self._lock:
            if not self._ending.is_set():
                self._process.terminate()
                _wait_or_kill(self._process, patience_seconds)
                self._process = self._start()

    def _start(self) -> Process:
        return self._run([])

    def _run(self, arguments: list[str], files: tuple[int, ...] = ()) -> Process:
        command, lifeline = [*self._command, *arguments], self._lifeline[0]
        if self._forks:
            self._forks = False
            return Fork(functools.partial(call_command, *command), name=command[0], lifeline=self._lifeline)
        # In a new session, so that Ctrl-C reaches only the parent, which then ends its children in order.
        return subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, str(LAUNCHER), str(lifeline), str(settings.BASE_DIR / "manage.py"), *command],
            start_new_session=True,
            pass_fds=(*files, lifeline),
            env={**self._defaults, **os.environ},
        )

    def _watch(self) -> None:
        while not self._ending.is_set():
            watched = self._process
            watched.wait()
            if self._ending.wait(RESTART_PAUSE_SECONDS):
                return
            with self._lock:
                if self._process is watched and not self._ending.is_set():
                    self._process = self._start()


class WebChild(Child):
    """
    A web process. It inherits the listening socket, so that a reload refuses no connection.

    A reload starts the new process first and ends the old one when the new one answers.
    """

    def __init__(self, listener: socket.socket, *, forks: bool) -> None:
        self._listener = listener
        self._ready = -1  # the end of a pipe that the newest process writes to
        super().__init__("web", forks=forks)

    def wait_until_ready(self, patience_seconds: float, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Return whether the newest process answers requests; False also if it has ended, or if `is_stopped()`."""
        ready, self._ready = self._ready, -1
        until = time.monotonic() + patience_seconds
        is_readable = False
        while not is_readable and not is_stopped() and time.monotonic() < until:
            is_readable = bool(select.select([ready], [], [], POLL_SECONDS)[0])
        answered = is_readable and os.read(ready, 1) != b""
        os.close(ready)
        return answered

    def reload(self, patience_seconds: float) -> None:
        """Replace the process. Keep the old one if the new one does not start."""
        with self._lock:
            if self._ending.is_set():
                return
            old, new = self._process, self._start()
            if not self.wait_until_ready(patience_seconds):
                logger.error("the reloaded web process did not start; the former one goes on")
                new.kill()
                return
            self._process = new
            old.terminate()
        _wait_or_kill(old, patience_seconds)

    def _start(self) -> Process:
        if self._ready >= 0:
            os.close(self._ready)
        self._ready, written = os.pipe()
        try:
            listener = self._listener.fileno()
            return self._run(["--listener", str(listener), "--ready", str(written)], (listener, written))
        finally:
            os.close(written)


def _wait_or_kill(process: Process, patience_seconds: float) -> None:
    try:
        process.wait(patience_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
