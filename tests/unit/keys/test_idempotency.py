"""Transactions of requests with an `Idempotency-Key`, seen from inside (docs/contract.md 1.30, docs/adr/0059)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory
from django.urls import resolve

from config.base.times import now
from forms_app.models import Form
from keys import idempotency
from keys.models import RememberedAnswer
from tests.support.tables.callers import furnish
from tests.support.tenants import Tenant, make_tenant
from webhooks.receivers import actions

pytestmark = pytest.mark.django_db(transaction=True)


def post(tenant: Tenant, path: str, body: dict[str, Any]) -> Any:
    headers = {"x-access-key": tenant.key, "Idempotency-Key": "once"}
    view, arguments, options = resolve(path)
    request = RequestFactory().post(path, body, content_type="application/json", headers=headers)
    return view(request, *arguments, **options)


def recording(monkeypatch: pytest.MonkeyPatch, name: str) -> list[bool]:
    """Return a list to which each call of a function of these actions adds whether it was in a transaction."""
    seen: list[bool] = []
    real: Callable[..., object] = getattr(actions, name)

    def watched(*args: Any) -> object:
        seen.append(connection.in_atomic_block)
        return real(*args)

    monkeypatch.setattr(actions, name, watched)
    return seen


def test_change__its_answer_cannot_be_remembered__is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()

    def fail(*_: object) -> None:
        raise RuntimeError("the process died here")

    with monkeypatch.context() as broken:
        broken.setattr(idempotency, "_remember", fail)
        assert post(tenant, "/api/forms", {"name": "Contact"}).status_code == 500

    assert not Form.objects.filter(name="Contact").exists()
    assert not RememberedAnswer.objects.exists()
    assert post(tenant, "/api/forms", {"name": "Contact"}).status_code == 201


def test_test_event__hint_to_the_deliverer__is_sent_after_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    house = furnish(make_tenant())
    seen = recording(monkeypatch, "nudge")

    assert post(house.tenant, f"/api/webhooks/{house.ids['webhooks']}/test", {}).status_code == 200
    assert seen == [False]


def test_purge_answers__older_than_a_day__are_deleted() -> None:
    tenant = make_tenant()
    ages = {"old": dt.timedelta(hours=24), "young": dt.timedelta(hours=23, minutes=59)}
    for name, age in ages.items():
        RememberedAnswer.objects.create(
            organization=tenant.organization, request_sha256=name, body_sha256="", created_at=now() - age
        )

    assert idempotency.purge_answers() == 1
    assert RememberedAnswer.objects.get().request_sha256 == "young"
