"""`demo`: create the demo organization, or print its login again."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.demo import Demo, ensure_demo


class Command(BaseCommand):
    help = "Create the demo organization with its user, key and form; a second run changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(describe(ensure_demo()))


def describe(demo: Demo) -> str:
    """Return the text that `make run` prints: dashboard, login, key, demo page, curl line."""
    return (
        f"Dashboard  {settings.PUBLIC_URL}/dashboard/\n"
        f"Login      {demo.email}  {demo.password}\n"
        f"Key        {demo.key}\n"
        f"Demo page  {settings.PUBLIC_URL}/demo/\n"
        f"API docs   {settings.PUBLIC_URL}/api/docs\n"
        f"Try it:\n{demo.curl}"
    )
