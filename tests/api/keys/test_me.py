"""`GET /api/me`: whose key this is (docs/contract.md 3.13)."""

import datetime as dt
import time
from typing import Any

import pytest

from config.base.ids import Prefix, encode_id
from keys.models import Organization
from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Client
from tests.support.replies import TIME, an_id, failure, success, wrong_fields
from tests.support.tenants import make_tenant


def moment(text: str) -> float:
    return dt.datetime.fromisoformat(text).timestamp()


def test_me__key_without_permissions__learns_who_it_is(api: Client, service: Application) -> None:
    tenant = make_tenant(Plan.PRO)
    key = tenant.issue(expires_on=dt.date(2999, 12, 31))

    answer = api.get("/api/me", key)

    assert (answer.status, answer.json()) == (
        200,
        success(
            {
                "organization": {
                    "id": encode_id(Prefix.ORGANIZATION, tenant.organization.pk),
                    "name": tenant.organization.name,
                    "plan": "pro",
                },
                "key": {
                    "id": an_id("key"),
                    "name": "Test",
                    "kind": "secret",
                    "mode": "live",
                    "admin": False,
                    "permissions": [],
                    "expiresAt": "2999-12-31",
                    "hint": f"fp_…{key[-4:]}",
                    "createdAt": TIME,
                    "lastUsedAt": TIME,
                    "revokedAt": None,
                },
                "hour": {"limit": 10_000, "used": 1, "resetsAt": TIME},
                "eventsUrl": service.environment["EVENTS_URL"],
            },
            f"This is the key Test of {tenant.organization.name}.",
        ),
    )
    resets_at = moment(answer.json()["data"]["hour"]["resetsAt"])
    assert resets_at == int(answer.headers["X-RateLimit-Reset"])
    assert 0 <= resets_at - time.time() <= 3601


def test_me__asked_again__counts_itself_and_every_other_request(api: Client) -> None:
    tenant = make_tenant()

    def hour() -> Any:
        return api.get("/api/me", tenant.key).json()["data"]["hour"]

    first = hour()
    api.get("/api/forms", tenant.issue())
    again = hour()

    assert (first["used"], again["used"], again["limit"]) == (1, 3, 100_000)
    assert again["resetsAt"] == first["resetsAt"]


@pytest.mark.on_sqlite
def test_me__at_and_over_the_limit__used_stays_at_most_the_limit(api: Client) -> None:
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=2)

    answers = [api.get("/api/me", tenant.key) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[1].json()["data"]["hour"]["used"] == 2


@pytest.mark.on_sqlite
def test_me__organization_suspended__says_so(api: Client) -> None:
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(suspended_at=dt.datetime.now(dt.UTC))

    answer = api.get("/api/me", tenant.key)

    assert (answer.status, answer.json()) == (403, failure("suspended"))


@pytest.mark.on_sqlite
def test_me__unknown_parameter__is_refused(api: Client) -> None:
    assert wrong_fields(api.get("/api/me?expand=1", make_tenant().key)) == {"expand"}
