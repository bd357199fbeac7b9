"""ASGI entry point of the `events` role: live streams (`manage.py events`)."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from webhooks.listening.application import application as application  # noqa: E402 - after setup
