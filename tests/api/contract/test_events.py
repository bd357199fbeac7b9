"""The one event of webhooks (docs/contract.md 7.3)."""

import json

import pytest

from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.quick


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_submission_created__is_told_when_one_is_received(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    form = tenant.form()
    body = {"formId": form, "url": receiver.url(), "events": ["submission.created"]}
    assert api.post("/api/webhooks", tenant.key, json=body).status == 201
    made = api.post(f"/api/submit?formId={form}", tenant.key, json={"name": "Ada"}).json()["data"]
    message = json.loads(receiver.wait_for(1)[0].body)
    assert (message["type"], message["data"]["id"]) == ("submission.created", made["id"])
    assert message["data"]["data"] == {"name": "Ada"}


@pytest.mark.parametrize("events", [["submission.deleted"], ["submission.created", "form.created"], [], "x"], ids=str)
def test_any_other_event__validation_error(api: Client, tenant: Tenant, receiver: Receiver, events: object) -> None:
    body = {"formId": tenant.form(), "url": receiver.url(), "events": events}
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["details"][0]["field"].partition(".")[0] == "events"
