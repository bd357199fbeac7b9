"""`organization_usage SLUG [--json|--csv]`, `organization_usage --all --csv`."""

import json
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.management.operator_command import find_organization
from keys.models import Organization
from submissions.counts.usage import KEPT, SHOWN, usage_of
from submissions.exporting.csv_lines import csv_line
from submissions.models import UsageDay

HEAD = ("day", "submissions", "mails", "refusals", "stored bytes")
CSV_HEAD = ("organization", "plan", "day", "submissions", "mails", "refusals", "storedBytes")
MOST_DAYS = KEPT.days


class Command(BaseCommand):
    help = f"Print the usage of an organization, or of all as CSV, by UTC day: of the last {SHOWN} days by default."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", nargs="?")
        parser.add_argument("--all", action="store_true", help="every organization, with --csv")
        parser.add_argument("--days", type=int, default=SHOWN, metavar="N", help=f"1 to {MOST_DAYS}; default: {SHOWN}")
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--json", action="store_true", help="an array of objects instead of a table")
        kind.add_argument("--csv", action="store_true", help="CSV instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["slug"]) == options["all"]:
            raise CommandError("Name an organization, or give --all.")
        if options["all"] and not options["csv"]:
            raise CommandError("All organizations are printed as CSV: add --csv.")
        if not 1 <= options["days"] <= MOST_DAYS:
            raise CommandError(f"Give 1 to {MOST_DAYS} days.")
        one = None if options["all"] else find_organization(options["slug"])
        if options["csv"]:
            self._print_csv([one] if one else Organization.objects.order_by("slug").iterator(), options["days"])
        elif one is not None:
            self._print(usage_of(one, days=options["days"]), as_json=options["json"])

    def _print(self, days: list[UsageDay], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps([_object(day) for day in days], indent=1))
            return
        self.stdout.write("".join(f"{name:>18}" for name in HEAD))
        for day in days:
            stored = "unknown" if day.stored_bytes is None else f"{day.stored_bytes:,}"
            counts = (f"{number:,}" for number in (day.submissions, day.mails, day.refusals))
            self.stdout.write("".join(f"{text:>18}" for text in (day.day.isoformat(), *counts, stored)))

    def _print_csv(self, organizations: Iterable[Organization], days: int) -> None:
        self.stdout.write(csv_line(CSV_HEAD), ending="")
        for organization in organizations:
            for day in usage_of(organization, days=days):
                counts = ("" if value is None else str(value) for value in _object(day).values())
                self.stdout.write(csv_line([organization.slug, organization.plan, *counts]), ending="")


def _object(row: UsageDay) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in ("submissions", "mails", "refusals")}
    return {"day": row.day.isoformat(), **counts, "storedBytes": row.stored_bytes}
