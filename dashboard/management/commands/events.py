"""`events`: serves the live stream with granian under ASGI. Any number of processes on any number of hosts."""

import multiprocessing
import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from config.supervision.parent_watch import SUPERVISOR_VARIABLE, end_with_parent
from config.supervision.ports import allow_open_files, refuse_busy_port

STOP_AFTER_SECONDS = 2  # open streams never end by themselves; the pages reconnect to another process
SPARE = 200  # connections in addition to the viewers': health checks, and viewers that get 503


class Command(BaseCommand):
    help = "Serve the live stream of the dashboard on EVENTS_PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options; EVENTS_PORT comes from the environment."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped."""
        refuse_busy_port(options["host"], settings.EVENTS_PORT)
        end_with_parent()
        os.environ[SUPERVISOR_VARIABLE] = str(os.getpid())  # the worker must not outlive this process
        connections = settings.EVENTS_MAX_VIEWERS + SPARE
        allow_open_files(connections + SPARE)
        multiprocessing.set_start_method("spawn", force=True)
        Granian(
            "config.asgi:application",
            address=options["host"],
            port=settings.EVENTS_PORT,
            interface=Interfaces.ASGINL,
            workers=1,
            backpressure=connections,  # by default 1,000, and further clients would wait without a response
            websockets=False,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_AFTER_SECONDS,
            log_level=LogLevels.warning,
        ).serve()
