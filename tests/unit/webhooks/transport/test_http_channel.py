"""The HTTP channel and real receivers: what a message looks like, and what every kind of answer counts as."""

import socket
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tests.unit.webhooks.transport.raw_receiver import (
    BODY,
    HEADERS,
    OPEN,
    Names,
    Receivers,
    failed_with,
    lasted,
    status,
)
from webhooks.transport import http
from webhooks.transport.http import parse_retry_after, post
from webhooks.transport.outcome import Outcome

pytestmark = pytest.mark.usefixtures("only_loopback")


def test_post__plain_receiver__gets_the_exact_message_and_succeeds(receivers: Receivers, names: Names) -> None:
    receiver = receivers()
    names["hooks.example"] = [[OPEN]]
    outcome = post(receiver.url("hooks.example", path="/hook?a=%20ä"), BODY, HEADERS)
    assert outcome == Outcome(True, 200, outcome.duration_ms, "", "ok")
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert body == BODY
    assert head.startswith(b"POST /hook?a=%20%C3%A4 HTTP/1.1\r\n")
    lines = head.decode().split("\r\n")
    assert f"Host: hooks.example:{receiver.port}" in lines
    assert {"webhook-id: msg_1", "Connection: close", "Content-Type: application/json"} <= set(lines)


def test_post__twice__each_attempt_has_its_own_connection_and_leaves_nothing_behind(receivers: Receivers) -> None:
    receiver = receivers()
    assert post(receiver.url(), BODY, HEADERS).succeeded
    assert post(receiver.url(), BODY, HEADERS).succeeded
    assert receiver.connections == 2
    timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers)


@pytest.mark.parametrize("line", ["200 OK", "201 Created", "202 Accepted", "204 No Content", "299 Odd"])
def test_post__2xx__succeeds(receivers: Receivers, line: str) -> None:
    assert post(receivers(status(line)).url(), BODY, HEADERS).succeeded


@pytest.mark.parametrize("line", ["400 Bad", "404 Not Found", "429 Slow", "500 Oops", "503 Later", "600 Odd"])
def test_post__status_that_is_no_success__http_error(receivers: Receivers, line: str) -> None:
    outcome = post(receivers(status(line, body=b"why")).url(), BODY, HEADERS)
    assert (failed_with(outcome), outcome.status, outcome.response_excerpt) == ("http_error", int(line[:3]), "why")
    assert not outcome.gone


def test_post__410__gone(receivers: Receivers) -> None:
    outcome = post(receivers(status("410 Gone")).url(), BODY, HEADERS)
    assert (failed_with(outcome), outcome.gone) == ("http_error", True)


def test_post__retry_after__is_in_the_outcome_of_a_failure_only(receivers: Receivers) -> None:
    header = "Retry-After: 120"
    assert post(receivers(status("503 Later", header)).url(), BODY, HEADERS).retry_after_seconds == 120.0
    assert post(receivers(status("302 Found", header)).url(), BODY, HEADERS).retry_after_seconds == 120.0
    assert post(receivers(status("200 OK", header)).url(), BODY, HEADERS).retry_after_seconds is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 30 ", 30.0),
        ("86401", 86_400.0),
        ("9" * 5_000, 86_400.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 2015 07:28:00", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 60.0),
        ("Wednesday, 21-Oct-15 07:28:00 GMT", 60.0),
        ("Mon, 19 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 86_400.0),
        ("", None),
        (None, None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999999 07:28:00 GMT", None),
    ],
)
def test_parse_retry_after__both_forms__seconds_within_a_day(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, datetime(2015, 10, 21, 7, 27, tzinfo=UTC)) == seconds


@given(value=st.text() | st.from_regex(r"\w{3}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ ([A-Z]{3}|[+-]\d+)"))
def test_parse_retry_after__any_text__within_a_day_or_none(value: str) -> None:
    seconds = parse_retry_after(value, datetime.now(UTC))
    assert seconds is None or 0.0 <= seconds <= 86_400.0


def test_post__binary_answer__excerpt_is_text_without_nul(receivers: Receivers) -> None:
    outcome = post(receivers(status("500 Oops", body=b"a\x00b\xff\xfe\xc3\xa4")).url(), BODY, HEADERS)
    assert outcome.response_excerpt == "ab\ufffd\ufffdä"


def test_post__chunked_answer__excerpt_is_its_content(receivers: Receivers) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert post(receivers(answer).url(), BODY, HEADERS).response_excerpt == "abcde"


def test_post__answer_breaks_off_after_the_status__the_status_decides(receivers: Receivers) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
    outcome = post(receivers(answer).url(), BODY, HEADERS)
    assert (outcome.succeeded, outcome.response_excerpt) == (True, "only this")


@pytest.mark.parametrize("answer", [b"HELLO\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200])
def test_post__answer_that_is_not_http__invalid_response(receivers: Receivers, answer: Any) -> None:
    assert failed_with(post(receivers(answer).url(), BODY, HEADERS)) == "invalid_response"


def test_post__connection_closed_without_an_answer__connection_failed(receivers: Receivers) -> None:
    assert failed_with(post(receivers(b"").url(), BODY, HEADERS)) == "connection_failed"


def test_post__nobody_listens__connection_refused(receivers: Receivers) -> None:
    receiver = receivers()
    receiver.listener.shutdown(socket.SHUT_RDWR)
    receiver.listener.close()
    assert failed_with(post(receiver.url(), BODY, HEADERS)) == "connection_refused"


def test_post__first_address_is_dead__the_next_one_is_tried(
    receivers: Receivers, names: Names, settings: Settings
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    names["hooks.example"] = [["127.0.0.77", OPEN]]
    assert post(receivers().url("hooks.example"), BODY, HEADERS).succeeded


@pytest.mark.usefixtures("names")
def test_post__name_without_address__dns_failure() -> None:
    assert failed_with(post("http://nowhere.example/", BODY, HEADERS)) == "dns_failure"


@pytest.mark.usefixtures("silent_name_server")
def test_post__silent_name_server__dns_failure_within_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "DNS_SECONDS", 0.2)
    outcome = post("http://slow.example/", BODY, HEADERS)
    assert failed_with(outcome) == "dns_failure"
    assert lasted(outcome, 0.2)


@given(url=st.text() | st.builds("https://{}".format, st.text(max_size=40)), body=st.binary(max_size=40))
def test_post__any_url_at_all__an_outcome_and_never_an_error(url: str, body: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [])
        assert failed_with(post(url, body, HEADERS)) in {"url_refused", "dns_failure"}


def test_post__fault_of_ours__internal_error_and_a_log_line(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["not a network"]
    assert failed_with(post(f"http://{OPEN}/", BODY, HEADERS)) == "internal_error"
    assert "unexpected error" in caplog.text


def test_post__fault_of_ours_after_the_deadline__internal_error_and_a_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(http, "_send", lambda *_: 1 / 0)
    assert failed_with(post(f"http://{OPEN}/", BODY, HEADERS)) == "internal_error"
    assert "unexpected error" in caplog.text
