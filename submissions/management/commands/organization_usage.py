"""`organization_usage SLUG [--json]`."""

import dataclasses
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from keys.management.find_organization import find_organization
from submissions.usage import SHOWN, Usage, usage_of

HEAD = ("day", "submissions", "mails", "refusals", "stored bytes")


class Command(BaseCommand):
    help = f"Print the usage of an organization in the last {SHOWN} days, by UTC day."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments."""
        parser.add_argument("slug")
        parser.add_argument("--json", action="store_true", help="an array of objects instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["slug"])
        days = usage_of(organization)
        if options["json"]:
            self.stdout.write(json.dumps([_object(day) for day in days], indent=1))
            return
        self.stdout.write("".join(f"{name:>18}" for name in HEAD))
        for day in days:
            stored = "unknown" if day.stored_bytes is None else f"{day.stored_bytes:,}"
            counts = (f"{number:,}" for number in (day.submissions, day.mails, day.refusals))
            self.stdout.write("".join(f"{text:>18}" for text in (day.day.isoformat(), *counts, stored)))


def _object(usage: Usage) -> dict[str, Any]:
    """Return `{day, submissions, mails, refusals, storedBytes}`."""
    row = dataclasses.asdict(usage)
    stored = row.pop("stored_bytes")
    return {**row, "day": usage.day.isoformat(), "storedBytes": stored}
