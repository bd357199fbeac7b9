"""
The roles of `serve`: forks of it, which share its memory, and are forked again when they die.

Nothing but the forks may run here: a process with a second thread must not fork, so the main thread watches them all.
"""

import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from django.core.management.base import CommandError
from django.db import connections

from config.environment.postgresql import LIMIT, ROLE_VARIABLE

RESTART_PAUSE_SECONDS = 1.0
NAME = Path("/proc/self/comm")
FORKS = multiprocessing.get_context("fork")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Children:
    """The children of this process. Make it in the main thread: it takes the signals of SIGNALS."""

    def __init__(self) -> None:
        self._lifeline = os.pipe()  # every child ends when its writing end is closed
        self._runs: dict[str, Callable[[], object]] = {}
        self._alive: dict[int, ForkProcess] = {}  # by the descriptor that becomes readable when it ends
        self._dead: list[str] = []
        self._signals, written = socket.socketpair()
        written.setblocking(False)
        self._written = written  # each signal is a byte in it
        signal.set_wakeup_fd(written.fileno())
        for number in SIGNALS:
            signal.signal(number, _note)
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # of programs that a child starts: docs/adr/0108

    def prepare(self, modules: Iterable[str]) -> None:
        """Import what the children run, close connections, and keep the collector off what they share."""
        for module in modules:
            import_module(module)
        connections.close_all()
        gc.collect()
        gc.freeze()

    def start(self, name: str, run: Callable[[], object]) -> None:
        """Call `run` in a fork, which is named `name` and has its role."""
        self._runs[name] = run
        # Blocked until the child has its own handlers: those of the parent would swallow a SIGTERM.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        child = FORKS.Process(target=_become, args=(run, name, self._lifeline, former), name=name)
        child.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        self._alive[child.sentinel] = child

    def wait_for_signal(self) -> int:
        """Return the next signal. Meanwhile, start children that die, after a pause."""
        while True:
            ready = wait([self._signals, *self._alive], RESTART_PAUSE_SECONDS if self._dead else None)
            if self._signals in ready:
                return self._signals.recv(1)[0]
            if not ready:
                while self._dead:
                    self.start(name := self._dead.pop(), self._runs[name])
            self._dead += [self._collect(sentinel) for sentinel in ready if isinstance(sentinel, int)]

    def has_signal(self) -> bool:
        return bool(wait([self._signals], 0))

    def hear(self, descriptor: int, patience_seconds: float) -> bool:
        """Return whether something can be read here in time, before a signal comes or a child dies."""
        return descriptor in wait([descriptor, self._signals, *self._alive], patience_seconds)

    def end(self, patience_seconds: float, *names: str) -> None:
        """End these children, or all, with SIGTERM; after a while kill them, and what they have started."""
        chosen = {key: child for key, child in self._alive.items() if not names or child.name in names}
        until = time.monotonic() + patience_seconds
        for child in chosen.values():
            child.terminate()
        alive = set[object](chosen)
        while alive and (left := until - time.monotonic()) > 0:
            alive -= set(wait(list(chosen), left))
        for sentinel, child in chosen.items():
            if sentinel in alive and child.pid:
                with suppress(ProcessLookupError):  # it has no own group yet
                    os.killpg(child.pid, signal.SIGKILL)
                child.kill()
            self._collect(sentinel)

    def _collect(self, sentinel: int) -> str:
        child = self._alive.pop(sentinel)
        child.join()
        return child.name


def _note(*_signal: object) -> None:
    """Handle a signal: it is in the pipe already."""


def _become(
    run: Callable[[], object], role: str, lifeline: tuple[int, int], signals: Iterable[signal.Signals | int]
) -> None:
    """Do what an exec would: new session, default signals, settings of the role. Then run it."""
    os.setsid()
    if NAME.exists():  # Linux
        NAME.write_text(role)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(lifeline[1])
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    threading.Thread(target=_end_with, args=(lifeline[0],), daemon=True, name="lifeline").start()
    _take_role(role)
    try:
        run()
    except CommandError as error:
        sys.exit(str(error))
    finally:
        logging.shutdown()


def _end_with(lifeline: int) -> None:
    """Wait until `serve` has ended, killed or not; then kill this process and what it has started."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _take_role(role: str) -> None:
    """Let connections to PostgreSQL have the name and the limits of this role: settings were read for `serve`."""
    os.environ[ROLE_VARIABLE] = role
    ours = import_module("config.settings")
    if connections["default"].vendor == "postgresql":
        pooled = bool(ours.DATABASE_DIRECT_URL)
        found = ours.databases(ours.DATABASE_URL, replica_url=ours.DATABASE_REPLICA_URL, has_pooler=pooled)
        for alias, database in found.items():
            connections.settings[alias] |= {name: database[name] for name in ("OPTIONS", LIMIT) if name in database}
