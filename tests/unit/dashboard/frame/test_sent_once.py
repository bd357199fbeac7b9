"""Pages that make one object each (`dashboard.frame.changes.sent_once`)."""

from typing import Any

import pytest
from django.test import RequestFactory

from dashboard.frame.changes.sent_once import OPEN_PAGES, open_page, sent_once

NAME = "pages"


def request_of(session: dict[str, Any], token: str = "") -> Any:
    request: Any = RequestFactory().post("/", {"once": token})
    request.session = session
    return request


def is_first(session: dict[str, Any], token: str) -> bool:
    with sent_once(request_of(session, token), NAME) as first:
        return first


def test_page__sent_again__is_not_the_first_and_others_still_are() -> None:
    session: dict[str, Any] = {}
    tokens = [open_page(request_of(session), NAME) for _ in range(OPEN_PAGES)]
    assert [is_first(session, token) for token in (*tokens, *tokens, "", "guessed")] == [True] * 5 + [False] * 7


def test_page__that_two_requests_send_with_the_same_session__is_the_first_once() -> None:
    session: dict[str, Any] = {}
    token = open_page(request_of(session), NAME)
    assert [is_first(dict(session), token) for _ in range(3)] == [True, False, False]


def test_page__after_a_failure__can_be_sent_again() -> None:
    session: dict[str, Any] = {}
    token = open_page(request_of(session), NAME)
    with pytest.raises(OSError, match="disk"), sent_once(request_of(session, token), NAME):
        raise OSError("disk")
    assert is_first(session, token)


def test_page__of_a_session_of_the_last_release__is_opened_again() -> None:
    session: dict[str, Any] = {NAME: "one token"}
    assert not is_first(session, "one token")
    assert is_first(session, open_page(request_of(session), NAME))
