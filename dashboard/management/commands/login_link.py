"""`login_link EMAIL`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.accounts.login_link import login_link
from keys.audit import record_event
from keys.management.operator_command import OperatorCommand
from keys.models import User


class Command(OperatorCommand):
    help = "Print a link that logs a person in once, within 10 minutes. Second steps are asked as always."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(email__iexact=options["email"].strip()).first()
        if user is None:
            raise CommandError(f"Nobody has an account with the address {options['email']}.")
        if not user.is_active:
            raise CommandError(f"The account of {user.email} is closed. Open it in /admin/ first.")
        record_event(organization=None, action="operator.login_link", subject=user.email)
        self.stdout.write(login_link(user))
