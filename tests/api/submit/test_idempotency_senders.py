"""Idempotency keys of pages and of secret keys do not meet (docs/contract.md 5.17)."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from submissions.models import IdempotencyKey
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.command_line import output
from tests.support.submitting import stored_data, submit
from tests.support.tenants import Tenant, make_tenant

KEY = "order-4711"
Send = Callable[[Client, Tenant, str, str], Answer]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def by_server(api: Client, tenant: Tenant, form_id: str, text: str) -> Answer:
    return submit(api, tenant.key, form_id, {"a": text}, Idempotency_Key=KEY)


def by_page(api: Client, tenant: Tenant, form_id: str, text: str) -> Answer:
    return submit(api, tenant.publishable, form_id, {"a": text}, Idempotency_Key=KEY)


def by_plain_post(api: Client, _tenant: Tenant, form_id: str, text: str) -> Answer:
    media = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return api.post(f"/f/{form_id}", data=f"a={text}", headers={"Idempotency-Key": KEY} | media)


def outcome(answer: Answer) -> tuple[int, bool]:
    return answer.status, "Idempotent-Replayed" in answer.headers


def keys_of(form_id: str) -> Any:
    return IdempotencyKey.objects.filter(form=decode_id(Prefix.FORM, form_id))


ORDERS = [(by_page, by_server), (by_server, by_page), (by_plain_post, by_server), (by_server, by_plain_post)]


@pytest.mark.parametrize("both", ORDERS)
def test_key__of_a_page_and_of_a_server__is_two(api: Client, tenant: Tenant, both: tuple[Send, Send]) -> None:
    form_id = tenant.form()
    sent = list(zip(both, ("1", "2"), strict=True))
    assert [outcome(send(api, tenant, form_id, text)) for send, text in sent] == [(201, False)] * 2
    assert [outcome(send(api, tenant, form_id, text)) for send, text in sent] == [(201, True)] * 2
    assert [outcome(send(api, tenant, form_id, "3")) for send in both] == [(409, False)] * 2
    assert stored_data(api, tenant, form_id) == [{"a": "1"}, {"a": "2"}]


@pytest.mark.parametrize("send", [by_server, by_page])
def test_key__of_code_that_knew_no_senders__counts_for_both(api: Client, tenant: Tenant, send: Send) -> None:
    form_id = tenant.form()
    by_server(api, tenant, form_id, "1")
    assert keys_of(form_id).update(sender="") == 1
    assert [outcome(send(api, tenant, form_id, text)) for text in ("1", "2")] == [(201, True), (409, False)]
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


def test_key__stored_by_todays_code__is_found_by_that_of_the_last_release(api: Client, tenant: Tenant) -> None:
    """During an upgrade both serve: a retry finds its key by form and text, with either."""
    form_ids = [tenant.form(), tenant.form()]
    for form_id, send in zip(form_ids, (by_server, by_page), strict=True):
        send(api, tenant, form_id, "1")
    assert [keys_of(form_id).get().key for form_id in form_ids] == [KEY] * 2


def test_key__that_the_other_sender_had_before__is_remembered_for_eight_days_too(
    service: Application, api: Client, tenant: Tenant
) -> None:
    form_id = tenant.form()
    by_page(api, tenant, form_id, "1")
    assert keys_of(form_id).update(created_at=now() - dt.timedelta(days=8, hours=1)) == 1
    by_server(api, tenant, form_id, "2")
    output(service, "purge_submissions")
    assert outcome(by_server(api, tenant, form_id, "2")) == (201, True)
    assert stored_data(api, tenant, form_id) == [{"a": "1"}, {"a": "2"}]


def test_key__of_sixteen_requests_of_both_at_the_same_time__stores_one_of_each(api: Client, tenant: Tenant) -> None:
    form_id = tenant.form()
    with ThreadPoolExecutor(20) as threads:
        both = threads.map(lambda n: (by_server, by_page)[n % 2](api, tenant, form_id, str(n % 2)), range(16))
        answers = [outcome(answer) for answer in both]
    assert sorted(answers) == [(201, False)] * 2 + [(201, True)] * 14
    assert sorted(row["a"] for row in stored_data(api, tenant, form_id)) == ["0", "1"]
