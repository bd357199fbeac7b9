"""Commands of operators: the audit trail names the person who ran one."""

import os
import pwd
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.audit import acting
from keys.models import Organization, User


class OperatorCommand(BaseCommand):
    """A command with `--by EMAIL`. Its events are that operator's, without it those of the system's user."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.add_argument("--by", metavar="EMAIL", help="the operator whom the audit trail names")
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        email = options.pop("by", None)
        with acting(find_operator(email) if email else system_user()):
            return super().execute(*args, **options)


def find_organization(slug: str) -> Organization:
    """Return the organization with this slug. Raises CommandError if there is none."""
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"There is no organization with the slug {slug!r}.")
    return organization


def find_operator(email: str) -> User:
    """Return the operator with this address. Raises CommandError for a stranger, and for a user without the rights."""
    found = User.objects.filter(email__iexact=email, is_active=True, is_staff=True).first()
    if found is None:
        raise CommandError(f"There is no operator with the address {email}. Operators have access to /admin/.")
    return found


def system_user() -> str:
    """Return the user who runs this process, and who called sudo, with the host: `ada as fieldpost on web1`."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container without such an entry
        name = f"uid {os.getuid()}"
    caller = os.environ.get("SUDO_USER")
    return f"{f'{caller} as ' if caller and caller != name else ''}{name} on {socket.gethostname()}"
