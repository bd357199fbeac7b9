"""`deliver`: dispatch and delivery without Redis and Celery; `serve` starts one."""

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from webhooks import periodic_jobs
from webhooks.models import DelivererSlots
from webhooks.outbox.loop import Deliverer, suspects_from
from webhooks.processes.presence import leave_heartbeat


class Command(BaseCommand):
    help = "Dispatch submissions and deliver webhooks and mails until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop when nothing is due")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            # From a thread, as the signal may interrupt this one while it holds the lock of the event.
            signal.signal(number, lambda *_: threading.Thread(target=stop.set).start())
        if options["once"]:
            Deliverer(stop=stop).run(until_idle=True)
            return
        leave_heartbeat(DelivererSlots.Role.DELIVER)
        periodic_jobs.start(stop)
        Deliverer(stop=stop, suspects_from=suspects_from()).run()
