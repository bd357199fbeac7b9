"""`demo`: create the demo organization, or print its login again."""

from typing import Any

from django.core.management.base import BaseCommand

from dashboard.demo import ensure_demo


class Command(BaseCommand):
    help = "Create the demo organization with its user, key and form; a second run changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(ensure_demo())
