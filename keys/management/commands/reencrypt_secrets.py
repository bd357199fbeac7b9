"""`reencrypt_secrets`: encrypt every stored secret with the first of ENCRYPTION_KEYS."""

from typing import Any

from django.core.management.base import CommandError

from config.secrets.rotation import reencrypt_secrets
from keys.management.operator_command import OperatorCommand


class Command(OperatorCommand):
    help = "Encrypt every stored secret with the first of ENCRYPTION_KEYS. Can be interrupted and repeated."

    def handle(self, *args: Any, **options: Any) -> None:
        outcome = reencrypt_secrets()
        self.stdout.write(f"{outcome.rewritten} secrets encrypted with the first key.")
        if outcome.unreadable:
            raise CommandError(
                f"{outcome.unreadable} secrets cannot be read with any key. Add the key that encrypted them to "
                "ENCRYPTION_KEYS, and do not remove an earlier key yet."
            )
        self.stdout.write("No secret needs an earlier key any more.")
