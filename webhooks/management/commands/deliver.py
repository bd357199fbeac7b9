"""`deliver`: dispatch and delivery without Redis and Celery; `serve` starts one."""

import logging
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from config.clean_up import clean_up
from webhooks.models import DelivererSlots
from webhooks.outbox.loop import Deliverer
from webhooks.processes.presence import leave_heartbeat

FIRST_CLEAN_UP = 60.0  # seconds after the start
CLEAN_UP_EVERY = 3600.0  # seconds

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Dispatch submissions and deliver webhooks and mails until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--once", action="store_true", help="stop when nothing is due")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the loop."""
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        deliverer = Deliverer(stop=stop)
        if not options["once"]:
            leave_heartbeat(DelivererSlots.Role.DELIVER)
            threading.Thread(target=clean_up_hourly, args=(deliverer.stop,), daemon=True).start()
        deliverer.run(until_idle=options["once"])


def clean_up_hourly(stop: threading.Event) -> None:
    """Delete expired rows, as beat does in production."""
    delay = FIRST_CLEAN_UP
    while not stop.wait(delay):
        delay = CLEAN_UP_EVERY
        try:
            clean_up()
        except Exception:
            logger.exception("clean-up failed; the next one is in an hour")
        finally:
            connection.close()  # after an hour the server may have been restarted
