"""Reading an hour's window from outside, and a client whose hour does not end in the middle of a test."""

import time
from collections.abc import Mapping
from typing import Any

from config.api.ratelimit import HOUR
from keys.models import Organization
from keys.organizations import set_plan
from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.tenants import Tenant, make_tenant

ENOUGH_SECONDS = 60  # every test here is over by then
CHEAP = "/api/forms?page=0"  # counts as any request, and is refused before it reads the forms


def remaining(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Remaining"])


def reset(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Reset"])


def lasts(answer: Answer) -> bool:
    return reset(answer) - time.time() > ENOUGH_SECONDS


def counted_tenant(api: Client, plan: Plan = Plan.ENTERPRISE, rate_limit: int | None = None) -> Tenant:
    """Return a tenant whose first request is made here, with the limit of its plan or its own."""
    tenant = make_tenant(plan)
    if rate_limit is not None:
        set_plan(Organization.objects.get(pk=tenant.organization.pk), plan, by=None, rate_limit=rate_limit)
    api.get("/api/forms", tenant.key)
    return tenant


def lasting_client(port: int, path: str = "/api/forms", headers: Mapping[str, str] | None = None) -> Client:
    """Return a client whose address, too, has a minute left. One request without a key has been counted."""
    while True:
        client = Client(port)
        if lasts(client.get(path, headers=dict(headers or {}))):
            return client


def over(answer: Answer, limit: int) -> dict[str, Any]:
    """Check the whole 429 except its message, and return its body without the message."""
    body = answer.json()
    wait = int(answer.headers["Retry-After"])
    assert 1 <= wait <= HOUR
    assert abs(wait - (reset(answer) - time.time())) <= 2
    assert [answer.headers["X-RateLimit-Limit"], remaining(answer)] == [str(limit), 0]
    assert body.pop("message")
    return {"status": answer.status, **body}


OVER = {"status": 429, "success": False, "error": "rate_limited"}
