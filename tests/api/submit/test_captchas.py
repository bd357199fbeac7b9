"""Turnstile and hCaptcha, played by a receiver that speaks their protocol (docs/contract.md 5.15)."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.support.hosted_posts import post
from tests.support.submitting import accepted, records
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # about another service, not rows

FIELDS = {"turnstile": "cf-turnstile-response", "hcaptcha": "h-captcha-response"}


def verdict(success: bool, *errors: str) -> Reply:
    return Reply(body=json.dumps({"success": success, "error-codes": list(errors)}).encode())


def protection(kind: str) -> dict[str, Any]:
    return {"captcha": kind, "captcha_site_key": "site-key", "captcha_secret": "the-secret"}


@pytest.fixture(scope="module")
def verifier() -> Iterator[Receiver]:
    """Yield the captcha services' server."""
    with Receiver() as server:
        yield server


@pytest.fixture
def receiver(verifier: Receiver) -> Receiver:
    """Return the same, without the requests of the test before."""
    verifier.requests.clear()
    verifier.replies.clear()
    verifier.reply = Reply()
    return verifier


@pytest.fixture
def guarded(shared_service: Callable[..., Application], receiver: Receiver) -> Iterator[Client]:
    """Yield a client of a service whose captcha services are the receiver."""
    service = shared_service(
        TURNSTILE_VERIFY_URL=receiver.url("/turnstile"), HCAPTCHA_VERIFY_URL=receiver.url("/hcaptcha")
    )
    with Client(service.port) as client:
        yield client


@pytest.mark.parametrize("kind", FIELDS)
def test_captcha__passed_refused_missing_or_out_of_reach(guarded: Client, receiver: Receiver, kind: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=protection(kind))
    path, key, field = f"/api/submit?formId={form_id}", tenant.publishable, FIELDS[kind]

    receiver.replies.extend([verdict(True), verdict(False, "invalid-input-response")])
    passed = guarded.post(path, key, json={"n": "passed", field: "token-1"})
    refused = guarded.post(path, key, json={"n": "refused", field: "token-2"})
    missing = guarded.post(path, key, json={"n": "missing"})
    server = guarded.post(path, tenant.key, json={"n": "server"})

    assert (passed.status, passed.json(), server.status) == (201, accepted(form_id), 201)
    detail = {
        "field": field,
        "code": "captcha_required",
        "message": "Please show that you are not a robot, then send again.",
    }
    assert [refused.status, missing.status] == [400, 400]
    assert refused.json()["details"] == missing.json()["details"] == [detail]
    asked = [parse_qs(request.body.decode()) for request in receiver.wait_for(2, path=f"/{kind}")]
    assert asked[0] == {"secret": ["the-secret"], "response": ["token-1"], "remoteip": [guarded.address]}
    assert len(asked) == 2, "without a token no request is sent"
    assert [record["data"] for record in records(guarded, tenant, form_id)] == [{"n": "passed"}, {"n": "server"}]


@pytest.mark.parametrize(
    "reply",
    [Reply(500), Reply(body=b"<html>"), Reply(body=b"[]"), verdict(False, "invalid-input-secret"), Reply(delay=4)],
    ids=["500", "no JSON", "a list", "our secret is wrong", "silent"],
)
def test_captcha_service__that_fails__costs_no_submission__but_nobody_is_told(
    guarded: Client, receiver: Receiver, reply: Reply
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=protection("turnstile"))
    receiver.reply = reply

    answer = guarded.post(
        f"/api/submit?formId={form_id}", tenant.publishable, json={"a": "1", "cf-turnstile-response": "t"}
    )

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    [record] = records(guarded, tenant, form_id)
    assert record["spamReasons"] == ["not checked: Cloudflare Turnstile did not answer"]


def test_captcha__half_configured__is_off(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection={"captcha": "turnstile"})

    assert post(api, form_id, {"a": "1"}).status == 303, "without a token nobody who is asked would let it pass"


@pytest.mark.parametrize(("kind", "css_class"), [("turnstile", "cf-turnstile"), ("hcaptcha", "h-captcha")])
def test_hosted_page__loads_the_widget_and_its_policy_admits_it__never_the_secret(
    api: Client, kind: str, css_class: str
) -> None:
    answer = api.get(f"/f/{make_tenant().form(spam_protection=protection(kind))}")

    assert f'class="{css_class}" data-sitekey="site-key"' in answer.text
    assert "the-secret" not in answer.text
    host = {"turnstile": "https://challenges.cloudflare.com", "hcaptcha": "https://hcaptcha.com"}[kind]
    assert f"script-src 'self' {host}" in answer.headers["Content-Security-Policy"]


def test_hosted_page__of_every_other_form__loads_nothing_from_elsewhere(api: Client) -> None:
    answer = api.get(f"/f/{make_tenant().form()}")

    assert "https://" not in answer.text
    assert "https://" not in answer.headers["Content-Security-Policy"]
