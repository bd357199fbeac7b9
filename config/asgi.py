"""ASGI entry point of the `events` role: the live stream (`manage.py events`)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from submissions.live.stream import application as application  # noqa: E402 - after setup
