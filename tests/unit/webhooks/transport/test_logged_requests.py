"""The request of an attempt for the log, against what http.client sends, and without secrets."""

import json

import pytest
from pytest_django import Settings

from tests.unit.webhooks.transport.raw_receiver import BODY, HEADERS, OPEN, Names, Receivers
from webhooks.signing import SIGNATURE
from webhooks.transport import smtp
from webhooks.transport.http import logged_request, post
from webhooks.transport.smtp import Mail, logged_mail

MAIL = Mail(
    "ana@example.com",
    "Two\nlines",
    "Text\nhttps://f.example/stop/1\n",
    "",
    "<1@f>",
    "no address",
    "https://f.example/stop/1",
)


@pytest.mark.usefixtures("only_loopback")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "receiver.example", "Receiver.Example", "receiver.example.", "bücher.example"]
)
def test_logged_request__host__is_the_one_that_is_sent(host: str, receivers: Receivers, names: Names) -> None:
    receiver = receivers()
    for name in ("receiver.example", "receiver.example.", "xn--bcher-kva.example"):
        names[name] = [[OPEN]] * 2
    url = receiver.url(host)

    assert post(url, BODY, HEADERS).succeeded
    sent = receiver.requests[0].split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]

    shown = json.loads(logged_request(url, BODY, HEADERS, left_out=SIGNATURE))["headers"]
    assert sorted(f"{name}: {value}" for name, value in shown.items()) == sorted(
        line for line in sent if line != "Connection: close"
    )


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com:443/a", "example.com"),
        ("https://example.com:8443/a?b=c", "example.com:8443"),
        ("https://[2001:DB8::1]/", "[2001:db8::1]"),
    ],
)
def test_logged_request__port_and_literal__are_written_as_http_client_does(url: str, host: str) -> None:
    assert json.loads(logged_request(url, BODY, HEADERS, left_out=SIGNATURE))["headers"]["Host"] == host


@pytest.mark.parametrize("url", ["https://user:password@example.com/", "ftp://example.com/", "https://", "nonsense"])
def test_logged_request__url_that_is_refused__is_left_out(url: str) -> None:
    assert logged_request(url, BODY, HEADERS, left_out=SIGNATURE) == ""


def test_logged_mail__hostile_values__are_those_that_are_sent(settings: Settings) -> None:
    settings.DEFAULT_FROM_EMAIL = "fieldpost@fieldpost.example"

    shown = json.loads(logged_mail(MAIL))

    assert shown == {
        "method": "MAIL",
        "url": "mailto:ana@example.com",
        "headers": {
            "From": "fieldpost@fieldpost.example",
            "To": "ana@example.com",
            "Subject": "Two lines",
            "Message-ID": "<1@f>",
            "Auto-Submitted": "auto-generated",
        },
        "body": "Text\n…\n",
    }
    sent = smtp._message(MAIL)
    assert {name: sent.message()[name] for name in shown["headers"]} == shown["headers"]
