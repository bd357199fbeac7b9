"""`serve`: all roles on one machine. It listens, and starts web processes, live stream and deliveries as children."""

import ipaddress
import logging
import os
import queue
import signal
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils.module_loading import import_string

from config.supervision.children import Child, WebChild
from config.supervision.forks import may_fork, prepare_to_fork
from config.supervision.ports import listen, refuse_busy_port
from dashboard.demo import Demo, ensure_demo
from dashboard.management.commands.demo import describe

KILL_AFTER_SECONDS = 35  # until a child that does not end by itself is killed; the longest attempt, a mail, takes 30 s
CTRL_C_SECONDS = 0.8  # the same after Ctrl-C, twice: for the web, then for deliveries
READY_SECONDS = 60
STOPS = (signal.SIGINT, signal.SIGTERM)


class Command(BaseCommand):
    help = "Serve web and live stream, deliver webhooks and mails, on one machine. Applies migrations first."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options; PORT and WEB_CONCURRENCY come from the environment."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")
        parser.add_argument("--no-deliver", action="store_true", help="Celery workers deliver instead")
        parser.add_argument(
            "--no-events", action="store_true", help="`manage.py events` serves the live stream elsewhere"
        )
        parser.add_argument("--no-migrate", action="store_true", help="the migrations are already applied")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped."""
        os.umask(0o077)  # the database and its log are for this user only
        host = options["host"]
        if settings.DEMO and not is_loopback(host):
            raise CommandError(f"DEMO is on, and {host} is not this machine only. Remove DEMO=1 or --host.")
        if not options["no_events"]:
            refuse_busy_port(host, settings.EVENTS_PORT)
        with listen(host, settings.PORT) as listener:
            demo = self.prepare(migrates=not options["no_migrate"])
            roles, wishes = Roles(), Wishes()
            try:
                roles.start(listener, host=host, events=not options["no_events"], deliver=not options["no_deliver"])
                if roles.is_web_ready(wishes.has_stop):
                    self.announce(demo)
                while wishes.wait() == signal.SIGHUP:
                    roles.reload()
            finally:
                roles.end(CTRL_C_SECONDS if wishes.last == signal.SIGINT else KILL_AFTER_SECONDS)
        logging.shutdown()
        os._exit(0)  # Python would spend a moment on taking modules apart

    def prepare(self, *, migrates: bool) -> Demo | None:
        """Bring database and files into place; return the demo if it is on."""
        if migrates:
            call_command("migrate", verbosity=0)
        demo = ensure_demo() if settings.DEMO else None
        connections.close_all()
        return demo

    def announce(self, demo: Demo | None) -> None:
        """Print the address and the login."""
        text = describe(demo) if demo else f"Serving {settings.PUBLIC_URL}"
        self.stdout.write(f"\nFieldpost is running. Stop it with Ctrl-C.\n\n{text}\n")
        self.stdout.flush()


class Wishes:
    """Signals to this process, in their order. Ctrl-C while it starts or ends is one too, not an exception."""

    def __init__(self) -> None:
        self.last: int | None = None
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._had_terminal = sys.stdin is not None and sys.stdin.isatty()
        for number in (*STOPS, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: self._waiting.put(number))

    def has_stop(self) -> bool:
        """Return whether a signal waits."""
        return not self._waiting.empty()

    def wait(self) -> int:
        """Return the next signal. A hangup of the terminal counts as SIGTERM: nobody could stop the service then."""
        self.last = self._waiting.get()
        if self.last == signal.SIGHUP and self._had_terminal and not _has_terminal():
            self.last = signal.SIGTERM
        return self.last


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) >= 0
    except OSError:
        return False


class Roles:
    """The children: web processes, the live stream, deliverers."""

    def __init__(self) -> None:
        self._web: list[WebChild] = []
        self._others: list[Child] = []
        self._deliver: list[Child] = []

    def start(self, listener: socket.socket, *, host: str, events: bool, deliver: bool) -> None:
        """Start all, the web first: it is waited for."""
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        if forks := may_fork():
            _load_roles()
            prepare_to_fork()
        self._web = [WebChild(listener, forks=forks) for _ in range(settings.WEB_CONCURRENCY)]
        self._others = [Child("events", "--host", host, forks=forks)] if events else []
        deliverers = settings.DELIVERY_PROCESSES if deliver else 0
        self._deliver = [Child("deliver", forks=forks) for _ in range(deliverers)]
        for child in (*self._web, *self._others, *self._deliver):
            child.watch()

    def is_web_ready(self, is_stopped: Callable[[], bool]) -> bool:
        """Return True when the web answers, False if stopped; raise CommandError if it does not start."""
        if all(child.wait_until_ready(READY_SECONDS, is_stopped) for child in self._web):
            return True
        if not is_stopped():
            raise CommandError("The web did not start; the reason is printed above.")
        return False

    def reload(self) -> None:
        """Run every child again with the code on disk, the web first and one process after the other."""
        for child in (*self._web, *self._others, *self._deliver):
            child.reload(KILL_AFTER_SECONDS)

    def end(self, patience_seconds: float) -> None:
        """End them in order: first those that take requests, then the one that delivers what they have stored."""
        for group in ((*self._web, *self._others), self._deliver):
            until = time.monotonic() + patience_seconds
            for child in group:
                child.ask_to_end()
            for child in group:
                child.end(max(0.1, until - time.monotonic()))


def _load_roles() -> None:
    """Import what the children run, once for all of them."""
    for command in ("web", "events", "deliver"):
        load_command_class(get_commands()[command], command)
    import_module("submissions.live.stream")
    for middleware in settings.MIDDLEWARE:
        import_string(middleware)


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
