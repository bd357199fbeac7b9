"""The three plans and what each includes (SPEC sections 1.6 and 8, CONTRACT section 2)."""

import dataclasses

from django.db import models


class Plan(models.TextChoices):
    """What an organization pays for."""

    FREE = "free", "Free"
    PRO = "pro", "Pro"
    ENTERPRISE = "enterprise", "Enterprise"


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """`hourly_requests`: the plan's limit; `scoped_keys`: may it make keys with a permission list and an expiry."""

    hourly_requests: int
    scoped_keys: bool


TERMS = {
    Plan.FREE: Terms(hourly_requests=100, scoped_keys=False),
    Plan.PRO: Terms(hourly_requests=10_000, scoped_keys=False),
    Plan.ENTERPRISE: Terms(hourly_requests=100_000, scoped_keys=True),
}


def hourly_limit(plan: str, custom: int | None) -> int:
    """Return an organization's requests an hour; only Enterprise can have a custom one."""
    terms = TERMS[Plan(plan)]
    return custom if custom and plan == Plan.ENTERPRISE else terms.hourly_requests
