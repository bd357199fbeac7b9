"""`deliver`: dispatch and delivery without Redis and Celery; `serve` starts one."""

import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.processes import end_with_parent
from submissions.retention import purge_idempotency_keys, purge_submissions
from webhooks.deliverer import Deliverer
from webhooks.retention import purge_log

CLEAN_UP_EVERY = 3600  # seconds


class Command(BaseCommand):
    help = "Dispatch submissions and deliver webhooks and mails until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--once", action="store_true", help="stop when nothing is due")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the loop."""
        end_with_parent()
        deliverer = Deliverer()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: deliverer.stop.set())
        if not options["once"]:
            threading.Thread(target=clean_up_hourly, args=(deliverer.stop,), daemon=True).start()
        deliverer.run(until_idle=options["once"])


def clean_up_hourly(stop: threading.Event) -> None:
    """Delete what is kept no longer, as beat does in production."""
    began = 0.0
    while not stop.wait(1 if began else 60):
        if time.monotonic() - began > CLEAN_UP_EVERY:
            began = time.monotonic()
            purge_submissions()
            purge_idempotency_keys()
            purge_log()
