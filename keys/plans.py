"""The plans and their terms (docs/contract.md 2)."""

import dataclasses

from django.db import models
from django.utils.formats import number_format


class Plan(models.TextChoices):
    FREE = "free", "Free"
    PRO = "pro", "Pro"
    ENTERPRISE = "enterprise", "Enterprise"


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """
    `hourly_requests`: requests per hour; `scoped_keys`: keys can have fewer permissions or an expiry date.

    `stored_bytes`: values, metadata and files that may be stored. `forms`: that are not archived, the default one
    included; of archived ones ARCHIVED_FORMS_FACTOR times as many.
    """

    hourly_requests: int
    scoped_keys: bool
    stored_bytes: int
    forms: int


KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40  # bytes


TERMS = {
    Plan.FREE: Terms(hourly_requests=100, scoped_keys=False, stored_bytes=100 * MIB, forms=100),
    Plan.PRO: Terms(hourly_requests=10_000, scoped_keys=False, stored_bytes=10 * GIB, forms=1000),
    Plan.ENTERPRISE: Terms(hourly_requests=100_000, scoped_keys=True, stored_bytes=TIB, forms=1000),
}


ARCHIVED_FORMS_FACTOR = 10
# Mails an hour, as a multiple of the setting MAILS_PER_ORGANIZATION.
MAIL_FACTORS = {Plan.FREE: 1, Plan.PRO: 10, Plan.ENTERPRISE: 100}


def show_bytes(number: int) -> str:
    """Return bytes as people read them, such as `100 MiB`."""
    if 0 < number < KIB:
        return f"{number} B"
    for unit, label in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB")):
        if number >= unit:
            return f"{_decimal(number / unit)} {label}"
    return f"{_decimal(number / KIB)} KiB"


def _decimal(number: float) -> str:
    return number_format(f"{number:.1f}".removesuffix(".0"), force_grouping=True)
