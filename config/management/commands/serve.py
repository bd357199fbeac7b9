"""`serve`: all roles on one machine. It listens, and forks the web, the live stream and deliverers."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS
from django.utils.module_loading import import_string
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from config.checks import is_loopback
from config.management.commands.events import stream
from config.supervision.children import Children
from config.supervision.ports import bequeath, listen
from config.web_server import settings as gunicorn_settings
from dashboard.demo import ensure_demo
from dashboard.installation import setup_line

# Until children that do not end by themselves are killed, twice: those that take requests, then deliverers.
PATIENCE_SECONDS: dict[int, float] = {
    signal.SIGTERM: 35,  # the longest attempt, a mail, takes 30 s
    signal.SIGHUP: 5,
    signal.SIGINT: 0.8,
}
READY_SECONDS = 60
CHECK = ("check", "--database", DEFAULT_DB_ALIAS)
TAKES_REQUESTS = ("web", "events")
MODULES = (  # of the children, imported once for all of them
    *("config.urls", "webhooks.listening.application", "webhooks.management.commands.deliver"),
    *("gunicorn.arbiter", "gunicorn.workers.gthread", "django.core.handlers.wsgi"),
    *(name.rpartition(".")[0] for name in settings.MIDDLEWARE),
)


class Command(BaseCommand):
    help = "Serve web and live stream, deliver webhooks and mails, on one machine. Applies migrations first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")
        parser.add_argument("--no-deliver", action="store_true", help="Celery workers deliver instead")
        parser.add_argument(
            "--no-events", action="store_true", help="`manage.py events` serves the live stream elsewhere"
        )
        parser.add_argument("--no-migrate", action="store_true", help="the migrations are already applied")

    def handle(self, *args: Any, **options: Any) -> None:
        os.umask(0o077)  # the database and its log are for this user only
        host = options["host"]
        if settings.DEMO and not is_loopback(host):
            raise CommandError(f"DEMO is on, and {host} is not this machine only. Remove DEMO=1 or --host.")
        ports = [settings.PORT] if options["no_events"] else [settings.PORT, settings.EVENTS_PORT]
        with ExitStack() as stack:
            listeners = [stack.enter_context(listen(host, port)) for port in ports]
            demo = self.prepare(migrates=not options["no_migrate"])
            children = Children()
            patience = PATIENCE_SECONDS[signal.SIGTERM]
            try:
                deliverers = 0 if options["no_deliver"] else settings.DELIVERY_PROCESSES
                ready = start(children, listeners, deliverers=deliverers)
                if children.hear(ready, READY_SECONDS):
                    self.announce(demo)
                elif not children.has_signal():
                    raise CommandError("The web did not start; the reason is printed above.")
                wish = next_wish(children)
                patience = PATIENCE_SECONDS[wish]
            finally:
                children.end(patience, *TAKES_REQUESTS)
                children.end(patience)  # those that deliver what the others have stored
            logging.shutdown()
            if wish == signal.SIGHUP:
                bequeath(*listeners)
                signal.signal(signal.SIGHUP, signal.SIG_IGN)  # another one, until the new code takes signals
                os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 - as it was called
            os._exit(0)  # Python would spend a moment on taking modules apart

    def prepare(self, *, migrates: bool) -> str:
        """Bring database and files into place; return the text about the demo, "" if it is off."""
        if migrates:
            call_command("migrate", verbosity=0)
        self.check(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS])
        return ensure_demo() if settings.DEMO else ""

    def announce(self, demo: str) -> None:
        text = demo or f"Serving {settings.PUBLIC_URL}"
        if not settings.TRUSTED_PROXY_COUNT and not is_loopback(urlsplit(settings.PUBLIC_URL).hostname or ""):
            text += "\nNo proxy is in front of it (TRUSTED_PROXY_COUNT=0): a few slow clients can stop it."
        self.stdout.write(f"\nFieldpost is running. Stop it with Ctrl-C.\n\n{text}\n{setup_line()}")
        self.stdout.flush()


def start(children: Children, listeners: Sequence[socket.socket], *, deliverers: int) -> int:
    """Start all roles. Return the end of a pipe, from which a byte can be read when the web answers."""
    ready, written = os.pipe()
    children.prepare(MODULES)
    children.start("web", Web(listeners[0], written).run)
    for listener in listeners[1:]:
        children.start("events", partial(stream, listener))
    for _ in range(deliverers):
        children.start("deliver", partial(call_command, "deliver"))
    return ready


class Log(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's errors among the other lines of the log, without its access log."""

    def access(self, *_arguments: object) -> None:
        """Do nothing: gunicorn builds the line of each request, a tenth of a submission's time, for nobody to read."""


class Web(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn with our settings, on an open socket. `ready`: written to when it answers."""

    def __init__(self, listener: socket.socket, ready: int) -> None:
        self._listener, self._ready = listener, ready
        super().__init__()

    def load_config(self) -> None:
        own = {
            "bind": f"fd://{self._listener.fileno()}",
            "logconfig_dict": settings.LOGGING,
            "logger_class": Log,
            "post_worker_init": lambda _worker: os.write(self._ready, b"1"),
            "proc_name": "web",
            "threads": settings.WEB_THREADS,
            "workers": settings.WEB_CONCURRENCY,
        }
        for name, value in (vars(gunicorn_settings) | own).items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        return import_string("config.wsgi.application")  # by its name, because it knows every app


def next_wish(children: Children) -> int:
    """
    Return the signal with which to end. A hangup of the terminal counts as SIGTERM: nobody could stop the service then.

    SIGHUP only if the code on disk passes its checks: nothing ends otherwise.
    """
    had_terminal = _has_terminal()
    while (wish := children.wait_for_signal()) == signal.SIGHUP:
        if had_terminal and not _has_terminal():
            return signal.SIGTERM
        if not subprocess.run([sys.executable, sys.argv[0], *CHECK], check=False).returncode:  # noqa: S603 - our own
            return wish
        logging.getLogger(__name__).error("the code on disk does not pass its checks; what runs goes on")
    return wish


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) >= 0
    except (AttributeError, OSError, ValueError):
        return False
