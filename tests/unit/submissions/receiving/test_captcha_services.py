"""Captcha services that do not answer hold no more than their places, and a retry of a failed insert passes."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from submissions.models import Submission
from submissions.receiving import captchas, gates
from submissions.receiving.captchas import ALONE_SECONDS, AT_ONCE, Service
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant

PROTECTION = {"captcha": "turnstile", "captcha_site_key": "s", "captcha_secret": "x"}


class Network:
    """Plays `_http`: requests wait until they are answered, or fail."""

    def __init__(self) -> None:
        self.asking = 0  # requests so far
        self._open: list[Future[bytes]] = []

    def request(self, *_: Any, **__: Any) -> Any:
        self.asking += 1
        answer: Future[bytes] = Future()
        self._open.append(answer)
        return SimpleNamespace(data=answer.result(timeout=60))

    def end(self, answer: bytes | None = None) -> None:
        """Answer the oldest open request; without an answer it times out."""
        oldest = self._open.pop(0)
        if answer is None:
            oldest.set_exception(urllib3.exceptions.TimeoutError())
        else:
            oldest.set_result(answer)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    played = Network()
    monkeypatch.setattr(captchas, "_http", played)
    monkeypatch.setattr(captchas, "_places", threading.BoundedSemaphore(AT_ONCE))
    monkeypatch.setattr(captchas, "PATIENCE_FOR_A_PLACE", 0.01)
    return played


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The module's clock: `clock.at` is the time in seconds."""
    made = SimpleNamespace(at=0.0)
    made.monotonic = lambda: made.at
    monkeypatch.setattr(captchas, "time", made)
    return made


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as pool:
        yield pool


def unanswered(service: Service, network: Network, threads: ThreadPoolExecutor, times: int) -> None:
    """Let checks go unanswered, one after the other."""
    for _ in range(times):
        before = network.asking
        check = threads.submit(service.ask, {})
        eventually(lambda: network.asking > before)  # noqa: B023 - it is called in this round
        network.end()
        assert check.result() is None


def test_service__is_silent__holds_four_checks_and_no_other(network: Network, threads: ThreadPoolExecutor) -> None:
    service, other = Service("http://a.example/"), Service("http://b.example/")
    held = [threads.submit(service.ask, {}) for _ in range(AT_ONCE)]
    eventually(lambda: network.asking == AT_ONCE)

    assert [service.ask({}), other.ask({})] == [None, None], "they waited for their place"
    assert network.asking == AT_ONCE == 4
    for _ in held:
        network.end(b"yes")
    assert [check.result() for check in held] == [b"yes"] * AT_ONCE


@pytest.mark.usefixtures("clock")
def test_service__two_checks_unanswered__one_at_a_time_asks(network: Network, threads: ThreadPoolExecutor) -> None:
    service, other = Service("http://a.example/"), Service("http://b.example/")
    unanswered(service, network, threads, 2)
    alone = threads.submit(service.ask, {})
    eventually(lambda: network.asking == 3)

    assert [service.ask({}) for _ in range(10)] == [None] * 10
    assert network.asking == 3
    elsewhere = threads.submit(other.ask, {})  # another service is asked as before
    eventually(lambda: network.asking == 4)
    network.end(b"yes")
    network.end(b"too")
    assert (alone.result(), elsewhere.result()) == (b"yes", b"too")

    together = [threads.submit(service.ask, {}) for _ in range(AT_ONCE)]  # it answers again
    eventually(lambda: network.asking == 4 + AT_ONCE)
    for _ in together:
        network.end(b"yes")


def test_service__unanswered_a_while_ago__is_asked_by_several_again(
    network: Network, threads: ThreadPoolExecutor, clock: SimpleNamespace
) -> None:
    service = Service("http://a.example/")
    unanswered(service, network, threads, 2)
    clock.at += ALONE_SECONDS
    together = [threads.submit(service.ask, {}) for _ in range(2)]
    eventually(lambda: network.asking == 4)
    for _ in together:
        network.end()
    assert [check.result() for check in together] == [None, None]


@pytest.mark.usefixtures("clock")
def test_service__one_check_unanswered_between_answers__several_ask(
    network: Network, threads: ThreadPoolExecutor
) -> None:
    service = Service("http://a.example/")
    for _ in range(3):
        unanswered(service, network, threads, 1)
        before = network.asking
        check = threads.submit(service.ask, {})
        eventually(lambda: network.asking > before)  # noqa: B023 - it is called in this round
        network.end(b"yes")
        assert check.result() == b"yes"
    together = [threads.submit(service.ask, {}) for _ in range(AT_ONCE)]
    eventually(lambda: network.asking == 6 + AT_ONCE)
    for _ in together:
        network.end(b"yes")


class Once:
    """A service that takes each token once."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def ask(self, fields: dict[str, str]) -> bytes:
        token, is_new = fields["response"], fields["response"] not in self.used
        self.used.add(token)
        return json.dumps({"success": is_new, "error-codes": [] if is_new else ["timeout-or-duplicate"]}).encode()


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> Once:
    service = Once()
    monkeypatch.setattr(captchas, "_service_at", lambda _url: service)
    return service


def submit(form_id: str, publishable: str, key: str, **values: str) -> int:
    body = {"n": "1", "cf-turnstile-response": "token", **values}
    headers = {
        "x-access-key": publishable,
        "origin": "https://example.com",
        **({"idempotency-key": key} if key else {}),
    }
    answer = Client(raise_request_exception=False).post(
        f"/api/submit?formId={form_id}", json.dumps(body), content_type="application/json", headers=headers
    )
    return answer.status_code


@pytest.mark.usefixtures("once")
@pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])
def test_captcha__retry_after_an_insert_that_failed__passes_with_its_key_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = make_tenant()
    form_id, other = tenant.form(spam_protection=PROTECTION), tenant.form(spam_protection=PROTECTION)
    with monkeypatch.context() as broken:
        broken.setattr(gates, "store", lambda *_, **__: (_ for _ in ()).throw(OperationalError("database is locked")))
        assert submit(form_id, tenant.publishable, "abc") == 503

    assert submit(form_id, tenant.publishable, "") == 400
    assert submit(form_id, tenant.publishable, "abd") == 400
    assert submit(other, tenant.publishable, "abc") == 400
    assert [submit(form_id, tenant.publishable, "abc") for _ in range(2)] == [201, 201]
    assert submit(form_id, tenant.publishable, "abc", n="2") == 409
    assert Submission.objects.count() == 1
