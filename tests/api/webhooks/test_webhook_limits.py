"""Test events and replays are bounded, so that no account is a cannon aimed at a third party."""

from collections.abc import Callable, Iterator

import pytest

from config.base.ids import Prefix, decode_id
from keys.models import Organization
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import logged_in, person_of, place, text_of
from tests.support.deliveries import make_delivery
from tests.support.replies import SECONDS
from tests.support.rows import put
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import register
from webhooks.models import Delivery, Receiver

pytestmark = pytest.mark.on_sqlite
URL = "https://hooks.invalid/fieldpost"


@pytest.fixture
def limited(shared_service: Callable[..., Application]) -> Iterator[Client]:
    with Client(shared_service(TEST_EVENTS="2/h", REPLAYS="2/h").port) as client:
        yield client


def failed_deliveries(tenant: Tenant, webhook_id: str, count: int) -> list[Delivery]:
    """Store deliveries that failed, one for each of so many submissions."""
    webhook = Receiver.objects.get(pk=decode_id(Prefix.WEBHOOK, webhook_id))
    ids = [put(tenant, tenant.default_form_id, {"n": str(number)}) for number in range(count)]
    rows = [Submission.objects.get(pk=decode_id(Prefix.SUBMISSION, one)) for one in ids]
    return [make_delivery(webhook, submission=row, status="failed") for row in rows]


def test_test_events__over_the_limit__are_429_for_the_organization_by_api_and_dashboard(limited: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    first, second = (register(limited, tenant, f"{URL}/{number}")["id"] for number in range(2))
    assert [limited.post(f"/api/webhooks/{one}/test", tenant.key).status for one in (first, second)] == [200, 200]
    over = limited.post(f"/api/webhooks/{first}/test", tenant.key)
    assert (over.status, over.json()["error"]) == (429, "rate_limited")
    assert over.headers["Retry-After"] == SECONDS
    owner = logged_in(limited, person_of(tenant))
    page = place(tenant, f"destinations/{first}")
    assert "The limit of 2 requests is used up" in text_of(owner.follow(owner.post(f"{page}/test", form=page)))
    theirs = register(limited, other, URL)["id"]
    assert limited.post(f"/api/webhooks/{theirs}/test", other.key).status == 200


def test_replays__over_the_limit__are_429_and_dry_runs_are_not_counted(limited: Client) -> None:
    tenant = make_tenant()
    path = f"/api/webhooks/{register(limited, tenant, URL)['id']}/replay"
    for _ in range(3):
        assert limited.post(path, tenant.key, json={"dryRun": True}).status == 200
    assert [limited.post(path, tenant.key, json={}).status for _ in range(2)] == [200, 200]
    over = limited.post(path, tenant.key, json={})
    assert (over.status, over.json()["error"]) == (429, "rate_limited")
    assert over.headers["Retry-After"] == SECONDS


def test_replays__of_more_than_ten_times_the_plan__send_nothing(api: Client) -> None:
    tenant = make_tenant()
    webhook_id = register(api, tenant, URL)["id"]
    rows = failed_deliveries(tenant, webhook_id, 11)
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)
    owner = logged_in(api, person_of(tenant))
    page = place(tenant, f"destinations/{webhook_id}/replay")
    over = owner.send(page, status="failed", do="replay", **{"from": "", "to": ""})
    assert (over.status, "At most 10 deliveries can be sent again in an hour" in text_of(over)) == (400, True)
    stored = Delivery.objects.filter(pk__in=[row.pk for row in rows])
    assert stored.filter(status="failed", attempt_count=0).count() == 11
