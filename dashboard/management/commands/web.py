"""`web`: one web process, which `serve` starts. It inherits the listening socket."""

import os
import socket
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.utils.module_loading import import_string

from config.web_server.front import Front
from config.web_server.server import run
from submissions.receiving.page_limits import may_wait_for_body

APPLICATION = "config.wsgi.application"  # by its name, because it knows every app
GRACE_SECONDS = 10  # for open requests when the process ends
MAX_SWITCH_SECONDS = 0.001  # for which a thread keeps the interpreter while the event loop waits for it


class Command(BaseCommand):
    help = "Serve the web from a socket that `serve` has opened. Not called by hand."
    requires_system_checks = []  # `config.wsgi` runs ours

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the file descriptors that are inherited."""
        parser.add_argument("--listener", type=int, required=True, help="the listening socket")
        parser.add_argument("--ready", type=int, required=True, help="written to once requests are answered")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped."""
        sys.setswitchinterval(MAX_SWITCH_SECONDS)
        front = Front(import_string(APPLICATION), may_wait_for_body)
        run(
            front,
            listener=socket.socket(fileno=options["listener"]),
            connections=settings.WEB_MAX_CONNECTIONS,
            grace_seconds=GRACE_SECONDS,
            on_start=front.start,
            on_ready=lambda: _report(options["ready"]),
        )


def _report(ready: int) -> None:
    os.write(ready, b"1")
    os.close(ready)
