"""Values of Email fields that make a test submission spam, held or unanswerable (docs/contract.md 12.5)."""

from collections.abc import Mapping, Sequence

from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import FieldType
from submissions.models import Submission

SPAM = "spam@fieldpost.test"  # it is taken for spam
HELD = "held@fieldpost.test"  # it is held, as if by a rule
BOUNCE = "bounce@fieldpost.test"  # the mail to its submitter fails
UNDECLARED = "email"  # the name that counts where the form does not declare it


def special_addresses(fields: Sequence[FieldDefinition], values: Mapping[str, str]) -> set[str]:
    """Return the addresses in the Email fields of a form, in lower case."""
    named = {field["name"] for field in fields if field["type"] == FieldType.EMAIL} | {UNDECLARED}
    return {values[name].strip().lower() for name in named if name in values}


def asked_for(fields: Sequence[FieldDefinition], values: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the reasons why a test submission is spam, and why it is held."""
    addresses = special_addresses(fields, values)
    reasons = [f"test: the address is {SPAM}"] if SPAM in addresses else []
    return reasons, Submission.Held.RULE if HELD in addresses else Submission.Held.NOT
