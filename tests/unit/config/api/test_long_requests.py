"""The places of requests that take long."""

import threading

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from config.api import long_requests
from config.api.errors import ServiceUnavailable
from config.api.long_requests import give_back_place, hold_place
from config.api.middleware import FieldpostMiddleware
from tests.services.waiting import eventually

WAITERS = 2


@pytest.fixture(autouse=True)
def one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_requests, "PLACES", threading.Semaphore(1))
    monkeypatch.setattr(long_requests, "WAITING", threading.Semaphore(WAITERS))


@pytest.mark.parametrize("fails", [False, True])
def test_place__is_held_until_the_request_is_answered(rf: RequestFactory, *, fails: bool) -> None:
    free_meanwhile = []

    def view(request: HttpRequest) -> HttpResponse:
        hold_place(request)
        free_meanwhile.append(is_free())
        if fails:
            raise ServiceUnavailable
        return HttpResponse()

    FieldpostMiddleware(view)(rf.post("/"))

    assert (free_meanwhile, is_free()) == ([False], True)


def test_request_without_a_place__gives_none_back(rf: RequestFactory) -> None:
    FieldpostMiddleware(lambda _request: HttpResponse())(rf.post("/"))

    assert is_free()
    hold_place(rf.post("/"))
    assert not is_free(), "there is still one place"


def test_requests__more_than_may_wait__are_refused_at_once(rf: RequestFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_requests, "PATIENCE_SECONDS", 3600)
    first = rf.post("/")
    hold_place(first)
    answered = threading.Semaphore(0)

    def wait_and_answer() -> None:
        request = rf.post("/")
        hold_place(request)
        give_back_place(request)
        answered.release()

    waiters = [threading.Thread(target=wait_and_answer, daemon=True) for _ in range(WAITERS)]
    for waiter in waiters:
        waiter.start()
    eventually(nobody_else_may_wait, because="all wait")

    with pytest.raises(ServiceUnavailable):
        hold_place(rf.post("/"))

    give_back_place(first)
    for waiter in waiters:
        assert answered.acquire(timeout=30)
        waiter.join()
    assert is_free()


def test_request__that_waits_for_too_long__is_refused_and_another_one_may_wait(
    rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_requests, "PATIENCE_SECONDS", 0.01)
    hold_place(rf.post("/"))

    for _ in range(WAITERS + 1):
        with pytest.raises(ServiceUnavailable):
            hold_place(rf.post("/"))
        assert not nobody_else_may_wait()


def is_free() -> bool:
    """Return whether a place is free."""
    return could_take(long_requests.PLACES)


def nobody_else_may_wait() -> bool:
    return not could_take(long_requests.WAITING)


def could_take(places: threading.Semaphore) -> bool:
    taken = places.acquire(blocking=False)
    if taken:
        places.release()
    return taken
