"""Refused submissions and their records."""

import json

from dashboard.refusal_advice import advise
from submissions.models import Refusal
from submissions.refusals.recorder import recent_refusals
from tests.services.waiting import eventually
from tests.support.tenants import Tenant

SHOP, EVIL = "https://shop.example", "https://evil.example"
Told = tuple[str, str, str, str, str]  # gate's label, code, detail's code, field, origin


def rows(tenant: Tenant) -> list[Refusal]:
    return list(recent_refusals(tenant.organization))


def rows_of(tenant: Tenant, times: int) -> list[Refusal]:
    """Return the rows of a tenant once as many refusals are counted in them."""
    eventually(
        lambda: sum(row.count for row in rows(tenant)) >= times, because=f"{times} refusals are noted", every=0.05
    )
    found = rows(tenant)
    assert sum(row.count for row in found) == times
    return found


def the_row(tenant: Tenant) -> Refusal:
    """Return the only refusal of a tenant, once it is written."""
    [row] = rows_of(tenant, 1)
    return row


def told(row: Refusal) -> Told:
    return str(advise(row).gate.label), row.code, row.detail_code, row.field, row.origin


def public_id(row: Refusal) -> str | None:
    return row.form.public_id if row.form else None


def everything(row: Refusal) -> str:
    """Return every column as text."""
    return json.dumps(Refusal.objects.filter(pk=row.pk).values().get(), default=str)
