"""Attacks by a stranger, or by anyone who copies a page's key, on everybody else."""

import json
import socket
from contextlib import ExitStack

from django.test import RequestFactory

from config.base.client_address import client_network
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import takes_at_most
from tests.support.tenants import make_tenant
from tests.support.webhooks import is_delivered, register, wait_for_delivery

THREADS = 8  # of a web process
PROMPT_SECONDS = 3.0


def test_strangers__who_send_their_bodies_slowly__hold_no_thread(api: Client) -> None:
    answers: list[int] = []
    with ExitStack() as stack:
        for _ in range(4 * THREADS):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", api.port), 10, (api.address, 0)))
            line.sendall(b"POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{")
        assert takes_at_most(PROMPT_SECONDS, lambda: answers.append(api.get("/healthz").status))
    assert set(answers) == {200}


def test_webhook_of_a_page__in_characters_of_many_bytes__stops_nobodys_deliveries(
    api: Client, receiver: Receiver
) -> None:
    tenant, bystander = make_tenant(), make_tenant()
    url = "https://example.com/" + "𓀀" * 2_000
    body = {"a": "1", "_webhook": url}
    assert api.post("/api/submit", tenant.publishable, json=body).status == 201
    webhook = register(api, bystander, receiver.url())
    assert api.post(f"/api/submit?formId={webhook['formId']}", bystander.key, json={"a": "1"}).status == 201
    wait_for_delivery(api, bystander, webhook["id"], is_delivered)
    refused = api.post("/api/webhooks", tenant.key, json={**_webhook(tenant.default_form_id), "url": url})
    assert (refused.status, refused.json()["details"][0]["code"]) == (400, "url_too_long")


def _webhook(form_id: str) -> dict[str, object]:
    return {"formId": form_id, "events": ["submission.created"]}


def test_form__of_eighty_thousand_empty_fields__is_refused_at_once(api: Client) -> None:
    body = json.dumps({"name": "Large", "fields": [{}] * 80_000}, separators=(",", ":"))
    key = make_tenant().key

    def send() -> None:
        answer = api.post("/api/forms", key, data=body, headers={"Content-Type": "application/json"})
        assert (answer.status, answer.json()["details"][0]["code"]) == (400, "max_length")

    assert takes_at_most(PROMPT_SECONDS, send)


def test_client_network__of_ipv6__is_what_one_customer_has() -> None:
    def network(address: str) -> str:
        return client_network(RequestFactory().get("/", REMOTE_ADDR=address))

    assert network("2001:db8:1:2::3") == network("2001:db8:1:2:ffff::") == "2001:db8:1:2::/64"
    assert network("2001:db8:1:3::3") != network("2001:db8:1:2::3")
    assert network("192.0.2.7") == "192.0.2.7"
