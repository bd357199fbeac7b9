"""`partition_submissions [--dry-run] [--drop YYYY-MM [--yes]]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connection

from config.postgresql.pooler import without_pooler
from keys.management.operator_command import OperatorCommand
from submissions.models import Submission
from submissions.partitions.brief import TableInUse
from submissions.partitions.conversion import CannotPartition, partition_table, remaining_steps
from submissions.partitions.dropping import CannotDrop, drop_month, find_month
from submissions.partitions.months import first_id, later_month, read_month


class Command(OperatorCommand):
    help = "Keep submissions in a partition for each month, on PostgreSQL. A second call continues an interrupted one."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments."""
        parser.add_argument("--dry-run", action="store_true", help="only print what there is to do")
        parser.add_argument("--drop", metavar="YYYY-MM", help="delete a past month's submissions and its partition")
        parser.add_argument("--yes", action="store_true", help="without it, --drop deletes nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            raise CommandError("SQLite has no partitions. This needs PostgreSQL.")
        try:
            with without_pooler(connection.alias):
                self._run(options)
        except (CannotPartition, CannotDrop) as error:
            raise CommandError(str(error)) from error
        except TableInUse as error:
            raise CommandError(f"{error} Finished steps are kept. Run the command again.") from error

    def _run(self, options: dict[str, Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")  # for this process: it reads the whole table
        if options["drop"]:
            self._drop(options["drop"], is_confirmed=options["yes"] and not options["dry_run"])
        elif options["dry_run"]:
            self.stdout.write("\n".join(remaining_steps()) or "Nothing to do.")
        else:
            partition_table(self.stdout.write)

    def _drop(self, text: str, *, is_confirmed: bool) -> None:
        try:
            month = read_month(text)
        except ValueError as error:
            raise CommandError(f"{text!r} is no month. Enter it as YYYY-MM.") from error
        find_month(month)
        if not is_confirmed:
            rows = Submission.objects.filter(id__gte=first_id(month), id__lt=first_id(later_month(month)))
            raise CommandError(f"This deletes {rows.count():,} submissions of {text} permanently. Add --yes to do it.")
        self.stdout.write(
            f"{drop_month(month, self.stdout.write):,} submissions of {text} and its partition are deleted."
        )
