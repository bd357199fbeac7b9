"""`keys_made_by EMAIL`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import Q

from config.base.times import format_time
from keys.models import AccessKey, AuditEvent

MADE = ("key.created", "key.regenerated")


class Command(BaseCommand):
    help = "List the access keys that a person made or regenerated, by the audit trail; also of a deleted account."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"]
        by_person = Q(user__email__iexact=email) | Q(actor__iexact=email)
        events = AuditEvent.objects.filter(by_person, action__in=MADE).order_by("created_at", "pk")
        for event in events:
            line = (format_time(event.created_at) or "", event.organization_slug, event.subject, state_of(event))
            self.stdout.write("  ".join(line))


def state_of(event: AuditEvent) -> str:
    """Return the state of the key with that hint: "active", "revoked", "expired", or "replaced or deleted"."""
    keys = AccessKey.objects.filter(organization=event.organization_id) if event.organization_id else []
    key = next((one for one in keys if one.hint and one.hint in event.subject), None)
    if key is None:
        return "replaced or deleted"
    if key.revoked_at:
        return "revoked"
    return "expired" if key.is_expired else "active"
