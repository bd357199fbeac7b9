"""Requests at the same time: four expensive ones of an organization; two while somebody types, and one that waits."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dashboard.frame.limits import places
from dashboard.frame.limits.costs import always, expensive, while_typing
from dashboard.frame.limits.places import AtOnce, Replaced, place_for
from tests.services.waiting import eventually
from tests.support.tenants import make_tenant


@expensive()
def costly(_request: Any) -> HttpResponse:
    return HttpResponse()


@while_typing("preview", always)
def preview(_request: Any) -> HttpResponse:
    return HttpResponse()


def by(account: str) -> Any:
    request: Any = RequestFactory().get("/dashboard/o/test/forms")
    request.user = SimpleNamespace(pk=account)
    return request


def test_expensive__a_fifth_of_an_organization__is_refused_until_one_has_ended() -> None:
    with ExitStack() as first, ExitStack() as others:
        first.enter_context(place_for(by("a"), costly, "one"))
        for number in range(3):  # of several accounts
            others.enter_context(place_for(by(f"a{number}"), costly, "one"))
        with pytest.raises(AtOnce) as refused, place_for(by("b"), costly, "one"):
            pytest.fail("it ran")
        assert refused.value.headers["Retry-After"]
        with place_for(by("a"), costly, "two"):
            first.close()
        with place_for(by("b"), costly, "one"):
            pass


def test_expensive__that_fails__leaves_its_place() -> None:
    for _ in range(9):
        with pytest.raises(ZeroDivisionError), place_for(by("a"), costly, "failing"):
            raise ZeroDivisionError


class Typing:
    """Requests of one account, each in a thread until `end` is set."""

    def __init__(self, pool: ThreadPoolExecutor, account: str) -> None:
        self._pool, self._account = pool, account
        self.end = threading.Event()
        self.running: list[int] = []

    def send(self, number: int) -> "Future[str]":
        return self._pool.submit(self._run, number)

    def _run(self, number: int) -> str:
        try:
            with place_for(by(self._account), preview, "org"):
                self.running.append(number)
                self.end.wait(60)
                return "ran"
        except Replaced:
            return "replaced"


@contextmanager
def typing_of(account: str) -> Iterator[Typing]:
    with ThreadPoolExecutor(10) as pool:
        made = Typing(pool, account)
        try:
            yield made
        finally:
            made.end.set()


def waits(account: str) -> Callable[[], bool]:
    return lambda: (account, "preview") in places.waiting


def test_typing__a_newer_request__replaces_the_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 60)
    with typing_of("ada") as typing:
        sent = [typing.send(1), typing.send(2)]
        eventually(lambda: len(typing.running) == 2, because="two run")
        sent.append(typing.send(3))
        eventually(waits("ada"), because="the third waits")
        sent.append(typing.send(4))
        assert sent[2].result(60) == "replaced"
        with place_for(by("bob"), preview, "org"):  # of another account
            assert sorted(typing.running) == [1, 2]
        typing.end.set()
        assert [sent[number].result(60) for number in (0, 1, 3)] == ["ran"] * 3
    assert not places.waiting
    assert not places.running


def test_typing__that_waits_too_long__gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 0)
    with typing_of("eve") as typing:
        sent = [typing.send(1), typing.send(2)]
        eventually(lambda: len(typing.running) == 2, because="two run")
        assert typing.send(3).result(60) == "replaced"
        typing.end.set()
        assert [one.result(60) for one in sent] == ["ran"] * 2
    assert not places.running


@pytest.mark.django_db
def test_page__without_a_place__is_refused_or_replaced_and_others_are_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = make_tenant()
    client.force_login(tenant.owner)
    pages = f"/dashboard/o/{tenant.organization.slug}/find"
    monkeypatch.setattr(places, "EXPENSIVE_AT_ONCE", 0)
    monkeypatch.setattr(places, "TYPED_AT_ONCE", 0)
    monkeypatch.setattr(places, "PATIENCE_SECONDS", 0)
    refused = client.get(pages, {"q": "hello"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "2")
    assert "Your organization runs 0 expensive requests already." in refused.content.decode()
    replaced = client.get(pages, {"q": "hello"}, headers={"HX-Request": "true"})
    assert (replaced.status_code, replaced.content) == (204, b"")
    assert client.get(pages).status_code == 200
