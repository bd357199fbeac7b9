"""
Settings of a process that dies of a poisonous delivery: the service's, and one more app.

The app makes a POST of a body with `POISON` kill the process that sends it, as a crash in a library would.
"""

import os
import signal
from typing import Any

from django.apps import AppConfig

from config.settings import *  # noqa: F403 - all of them
from config.settings import INSTALLED_APPS as OUR_APPS

POISON = "kills the process that sends it"
INSTALLED_APPS = [*OUR_APPS, "tests.unit.webhooks.outbox.poison.Poison"]


class Poison(AppConfig):
    """Puts itself before the request of the webhook channel."""

    name = "tests.support"
    label = "poison"

    def ready(self) -> None:
        """Replace `post`, once."""
        from webhooks.transport import http

        post = http.post

        def post_or_die(url: str, body: bytes, *arguments: Any, **options: Any) -> Any:
            if POISON.encode() in body:
                os.kill(os.getpid(), signal.SIGKILL)
            return post(url, body, *arguments, **options)

        http.post = post_or_die
