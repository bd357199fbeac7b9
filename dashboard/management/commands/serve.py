"""`serve`: all roles on one machine. The web role with granian under WSGI; live stream and deliveries as children."""

import logging
import multiprocessing
import os
import threading
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from config.supervision.children import Child
from config.supervision.parent_watch import SUPERVISOR_VARIABLE
from config.supervision.ports import refuse_busy_port
from dashboard.demo import Demo, ensure_demo
from dashboard.management.commands.demo import describe

THREADS = 8  # per web process; each has its own database connection
KILL_AFTER_SECONDS = 35  # until a child that does not end by itself is killed; the longest attempt, a mail, takes 30 s
READY_SECONDS = 60


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
        refuse_busy_port(options["host"], settings.PORT)
        if not options["no_events"]:
            refuse_busy_port(options["host"], settings.EVENTS_PORT)
        Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # in DATA_DIR
        if not options["no_migrate"]:
            call_command("migrate", verbosity=0)
        demo = ensure_demo() if settings.DEMO else None
        os.environ[SUPERVISOR_VARIABLE] = str(os.getpid())
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        threading.Thread(target=self.announce, args=(options["host"], demo), daemon=True).start()
        children = [] if options["no_events"] else [Child("events", "--host", options["host"])]
        children += [] if options["no_deliver"] else [Child("deliver")]
        connections.close_all()
        try:
            make_server(options["host"]).serve()
        finally:
            for child in children:
                child.end(KILL_AFTER_SECONDS)

    def announce(self, host: str, demo: Demo | None) -> None:
        """Print the address and the login once the service is ready."""
        if wait_until_ready(host):
            text = describe(demo) if demo else f"Serving {settings.PUBLIC_URL}"
            self.stdout.write(f"\nFieldpost is running. Stop it with Ctrl-C.\n\n{text}\n")
            self.stdout.flush()


def make_server(host: str) -> Any:
    """Return granian, configured for WSGI."""
    # Forked workers would keep the settings of this process, which have no connection pool.
    multiprocessing.set_start_method("spawn", force=True)
    # granian warns about more threads than cores; ours mostly wait for the disk of the database.
    logging.getLogger("_granian").addFilter(lambda record: "Python threads" not in record.getMessage())
    return Granian(
        "config.wsgi:application",
        address=host,
        port=settings.PORT,
        interface=Interfaces.WSGI,
        workers=settings.WEB_CONCURRENCY,
        blocking_threads=THREADS,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_AFTER_SECONDS,
        log_level=LogLevels.warning,
    )


def wait_until_ready(host: str) -> bool:
    """Return whether the service answers within a minute."""
    address = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    known_host = {"Host": urlsplit(settings.PUBLIC_URL).netloc}  # ALLOWED_HOSTS may leave 127.0.0.1 out
    request = urllib.request.Request(f"http://{address}:{settings.PORT}/readyz", headers=known_host)
    pause = threading.Event()
    for _ in range(READY_SECONDS * 5):
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:  # noqa: S310 - our own address
                return bool(answer.status == 200)
        except OSError:
            pause.wait(0.2)
    return False
