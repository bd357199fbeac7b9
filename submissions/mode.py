"""Values of Email fields that make a test submission spam, held or unanswerable (docs/contract.md 12.5)."""

import uuid
from collections.abc import Mapping, Sequence

from django.db.models import Sum

from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType
from submissions.models import Submission

SPAM = "spam@fieldpost.test"  # it is taken for spam
HELD = "held@fieldpost.test"  # it is held, as if by a rule
BOUNCE = "bounce@fieldpost.test"  # the mail to its submitter fails
MOST_TEST_FILES = 50 * 1024 * 1024  # bytes that an organization keeps; the oldest go first
UNTIL_PURGED = 4  # times as many may wait until the oldest are gone
UNDECLARED = "email"  # the name that counts where the form does not declare it


def special_addresses(fields: Sequence[FieldDefinition], values: Mapping[str, str]) -> set[str]:
    """Return the addresses in the Email fields of a form, in lower case."""
    named = {field["name"] for field in fields if field["type"] == FieldType.EMAIL} | {UNDECLARED}
    return {values[name].strip().lower() for name in named if name in values}


def has_room_for(size: int, organization_id: uuid.UUID) -> bool:
    """Return whether test files of so many bytes can be kept."""
    own = Submission.objects.of_mode(test=True).filter(organization=organization_id)
    stored = own.aggregate(size=Sum("files_size"))["size"] or 0
    return size <= MOST_TEST_FILES and stored + size <= UNTIL_PURGED * MOST_TEST_FILES


def asked_for(fields: Sequence[FieldDefinition], values: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the reasons why a test submission is spam, and why it is held."""
    addresses = special_addresses(fields, values)
    reasons = [f"test: the address is {SPAM}"] if SPAM in addresses else []
    return reasons, Submission.Held.RULE if HELD in addresses else Submission.Held.NOT
