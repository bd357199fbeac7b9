"""`events`: serves the live stream under ASGI. Any number of processes on any number of hosts."""

import socket
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config.supervision.ports import BACKLOG, allow_open_files, listen

APPLICATION = "config.asgi:application"  # by its name, because it knows every app
STOP_AFTER_SECONDS = 1  # open streams never end by themselves; the pages reconnect to another process
SPARE = 200  # connections in addition to the viewers': health checks, and viewers that get 503
SPARE_FILES = 300  # besides the connections
KEEP_ALIVE_SECONDS = 75  # longer than a proxy keeps an idle connection (nginx: 60 s), so the proxy closes it first


class Command(BaseCommand):
    help = "Serve the live stream of the dashboard on EVENTS_PORT."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")

    def handle(self, *args: Any, **options: Any) -> None:
        with listen(options["host"], settings.EVENTS_PORT) as listener:
            stream(listener)


def stream(listener: socket.socket) -> None:
    """Serve the live stream until SIGTERM or SIGINT."""
    connections = settings.EVENTS_MAX_VIEWERS + SPARE
    allow_open_files(connections + SPARE_FILES)
    config = uvicorn.Config(
        APPLICATION,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=connections,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_AFTER_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])
