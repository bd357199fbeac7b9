"""`purge_submissions`: the hourly clean-up of submissions, by hand."""

from typing import Any

from keys.management.operator_command import OperatorCommand
from submissions.lifecycle.retention import purge_idempotency_keys, purge_submissions


class Command(OperatorCommand):
    help = "Delete the submissions that are older than their form keeps them, and outdated idempotency keys."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{purge_submissions()} submissions, {purge_idempotency_keys()} idempotency keys deleted.")
