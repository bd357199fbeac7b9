"""ASGI entry point of the `events` role: the live stream (`manage.py events`)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from config.supervision.parent_watch import end_with_parent  # noqa: E402 - after setup
from submissions.live.stream import application as application  # noqa: E402 - after setup

end_with_parent()
