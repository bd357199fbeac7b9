"""`events`: serves the live stream under ASGI. Any number of processes on any number of hosts."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config.supervision.ports import listen
from config.web_server.server import run

APPLICATION = "config.asgi:application"  # by its name, because it knows every app
STOP_AFTER_SECONDS = 0.5  # open streams never end by themselves; the pages reconnect to another process
SPARE = 200  # connections in addition to the viewers': health checks, and viewers that get 503


class Command(BaseCommand):
    help = "Serve the live stream of the dashboard on EVENTS_PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options; EVENTS_PORT comes from the environment."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped."""
        with listen(options["host"], settings.EVENTS_PORT) as listener:
            run(
                APPLICATION,
                listener=listener,
                connections=settings.EVENTS_MAX_VIEWERS + SPARE,
                grace_seconds=STOP_AFTER_SECONDS,
            )
