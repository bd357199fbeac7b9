"""`setup_link`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.installation import setup_line


class Command(BaseCommand):
    help = "Print the link with which the first person sets up this installation."

    def handle(self, *args: Any, **options: Any) -> None:
        line = setup_line()
        if not line:
            raise CommandError("This installation is set up. `manage.py invite` and `login_link` let people in.")
        self.stdout.write(line, ending="")
