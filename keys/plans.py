"""The plans and their terms (docs/contract.md 2)."""

import dataclasses

from django.db import models


class Plan(models.TextChoices):
    """The plan of an organization."""

    FREE = "free", "Free"
    PRO = "pro", "Pro"
    ENTERPRISE = "enterprise", "Enterprise"


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """`hourly_requests`: requests per hour; `scoped_keys`: keys can have fewer permissions or an expiry date."""

    hourly_requests: int
    scoped_keys: bool


TERMS = {
    Plan.FREE: Terms(hourly_requests=100, scoped_keys=False),
    Plan.PRO: Terms(hourly_requests=10_000, scoped_keys=False),
    Plan.ENTERPRISE: Terms(hourly_requests=100_000, scoped_keys=True),
}


def hourly_limit(plan: str, custom: int | None) -> int:
    """Return an organization's requests per hour; only Enterprise can have a custom limit."""
    terms = TERMS[Plan(plan)]
    return custom if custom and plan == Plan.ENTERPRISE else terms.hourly_requests
