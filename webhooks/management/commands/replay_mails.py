"""`replay_mails SLUG|--all --from D --to D [--status S] [--dry-run]`."""

from argparse import ArgumentTypeError
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from config.base.times import Period, parse_period
from keys.management.operator_command import OperatorCommand, find_organization
from keys.models import Organization
from webhooks.replays import replay_mails
from webhooks.serializers import MAIL_STATUSES, REPLAYABLE


def period(text: str) -> Period:
    """Return the period of a day (UTC) or a time, for argparse."""
    try:
        return parse_period(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


class Command(OperatorCommand):
    help = "Send mails about submissions again, of one organization or of all, such as after an outage of the relay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", nargs="?")
        parser.add_argument("--all", action="store_true", help="every organization")
        for name, into in (("--from", "since"), ("--to", "until")):
            help_text = "when the submissions arrived: a day (UTC) or a time"
            parser.add_argument(name, dest=into, type=period, required=True, metavar="YYYY-MM-DD", help=help_text)
        parser.add_argument("--status", choices=MAIL_STATUSES, default=MAIL_STATUSES[0], help="default: %(default)s")
        parser.add_argument("--dry-run", action="store_true", help="count them, and send nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["slug"]) == options["all"]:
            raise CommandError("Name an organization, or give --all.")
        some = [find_organization(options["slug"])] if options["slug"] else Organization.objects.order_by("slug")
        total = 0
        for organization in some:
            resend = partial(
                replay_mails,
                organization,
                since=options["since"].start,
                until=options["until"].end,
                statuses=REPLAYABLE[options["status"]],
                is_limited=False,
            )
            matched, _ = resend(dry_run=True)
            if matched and not options["dry_run"]:
                matched, _ = resend(dry_run=False)
            if matched:
                self.stdout.write(f"{organization.slug}: {matched:,}")
            total += matched
        self.stdout.write(f"{total:,} mails {'would be sent again' if options['dry_run'] else 'are sent again'}.")
