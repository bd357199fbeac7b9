"""Registering webhooks, submitting to their forms and reading their logs, over HTTP as a customer does."""

from collections.abc import Callable
from typing import Any

from tests.services.client import Client
from tests.services.receivers import Received, Receiver
from tests.services.waiting import PATIENCE_SECONDS, eventually
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

EVENTS = ["submission.created"]


def register(api: Client, tenant: Tenant, url: str, form_id: str | None = None) -> dict[str, Any]:
    """Attach an endpoint to a form (a new one unless given) and return its record with its secret."""
    body = {"formId": form_id or tenant.form(), "url": url, "events": EVENTS}
    answer = api.post("/api/webhooks", tenant.key, json=body)
    assert answer.status == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def register_for_all_forms(api: Client, tenant: Tenant, url: str) -> dict[str, Any]:
    """Attach an endpoint to all forms and return its record with its secret."""
    answer = api.post("/api/webhooks", tenant.key, json={"formId": None, "url": url, "events": EVENTS})
    assert answer.status == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def one_message(api: Client, receiver: Receiver) -> tuple[Received, str]:
    """Return a message that the service sent to a new webhook, and the webhook's secret."""
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    submit_and_get_id(api, tenant, webhook["formId"], {"message": "Grüße 🎉"})
    (message,) = receiver.wait_for(1)
    return message, str(webhook["secret"])


def one_message_after_a_rotation(api: Client, receiver: Receiver) -> tuple[Received, str, str]:
    """Return a message sent after the secret was rotated, the old secret and the new one."""
    tenant = make_tenant()
    webhook = register(api, tenant, receiver.url())
    rotated = api.post(f"/api/webhooks/{webhook['id']}/rotate-secret", tenant.key).json()["data"]
    submit_and_get_id(api, tenant, webhook["formId"])
    (message,) = receiver.wait_for(1)
    return message, str(webhook["secret"]), str(rotated["secret"])


def message_id_of(submission_id: str) -> str:
    """Return the `webhook-id` of a submission's messages (docs/contract.md 7.6)."""
    return "msg_" + submission_id.removeprefix("sub_")


def log_of(api: Client, tenant: Tenant, webhook_id: str) -> list[dict[str, Any]]:
    """Return a webhook's deliveries, newest first."""
    answer = api.get(f"/api/webhooks/{webhook_id}/deliveries?limit=100", tenant.key)
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def wait_for_delivery(
    api: Client,
    tenant: Tenant,
    webhook_id: str,
    so: Callable[[dict[str, Any]], object],
    timeout: float = PATIENCE_SECONDS,
) -> dict[str, Any]:
    """Return the newest delivery of a webhook once it is `so`."""

    def seen() -> dict[str, Any]:
        log = log_of(api, tenant, webhook_id)
        assert log, "no delivery yet"
        assert so(log[0]), log[0]
        return log[0]

    return eventually(seen, timeout, "the newest delivery is as wanted", every=0.1)  # each is a request


def is_delivered(delivery: dict[str, Any]) -> bool:
    return bool(delivery["status"] == "delivered")


def attempts_are(count: int) -> Callable[[dict[str, Any]], bool]:
    """Return a test for deliveries that have been tried so often."""
    return lambda delivery: len(delivery["attempts"]) == count
