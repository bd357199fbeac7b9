"""`create_key --organization SLUG --name N [--permission P]… [--admin] [--publishable] [--test] [--expires D]`."""

import datetime as dt
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.api.errors import ApiError
from config.base.times import parse_date
from keys.access_keys import ALL_PERMISSIONS, issue_key
from keys.management.operator_command import OperatorCommand, find_organization
from keys.models import AccessKey, Permission


def day(text: str) -> dt.date:
    """Return the date of `YYYY-MM-DD`, for argparse."""
    parsed = parse_date(text)
    if parsed is None:
        raise ArgumentTypeError(f"{text!r} is not a date in the form YYYY-MM-DD.")
    return parsed


class Command(OperatorCommand):
    help = "Create an access key and print only the key on standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", required=True, metavar="SLUG")
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--permission", action="append", choices=Permission.values, help="can be repeated; default: all permissions"
        )
        parser.add_argument("--admin", action="store_true", help="the key can manage keys")
        parser.add_argument("--publishable", action="store_true", help="a key for pages, which can only submit")
        parser.add_argument("--test", action="store_true", help="a key of test mode, which sees test submissions only")
        parser.add_argument("--expires", type=day, metavar="YYYY-MM-DD", help="the last day (UTC) on which it works")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = find_organization(options["organization"])
        if options["publishable"] and (options["admin"] or options["permission"]):
            raise CommandError("A publishable key can only submit: leave out --admin and --permission.")
        if options["test"] and options["admin"]:
            raise CommandError("A test key cannot manage keys: leave out --admin.")
        try:
            _, token = issue_key(
                organization=organization,
                name=options["name"],
                by=None,
                permissions=options["permission"] or ALL_PERMISSIONS,
                admin=options["admin"],
                kind=AccessKey.Kind.PUBLISHABLE if options["publishable"] else AccessKey.Kind.SECRET,
                mode=AccessKey.Mode.TEST if options["test"] else AccessKey.Mode.LIVE,
                expires_on=options["expires"],
            )
        except ApiError as error:
            raise CommandError(error.message) from None
        self.stdout.write(token)
