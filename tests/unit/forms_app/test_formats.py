"""Emails and URLs as browsers take them, tried with the published vectors of others."""

import re

import pytest

from forms_app.formats import is_email, is_url
from tests.corpora import corpus

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Browsers take dots anywhere before the `@`, as carriers in Japan gave out; they take hosts without a dot, we do not.
DOTS = {".test@iana.org", "test.@iana.org", "test..iana.org"}
HOST_ONLY = {"test@io"}


def test_emails_of_isemail__are_taken_or_refused_as_it_says_but_for_dots() -> None:
    wrong = {
        address
        for address, category, _ in corpus("isemail")
        if (category == "ISEMAIL_ERR" and is_email(address))
        or (category in ("ISEMAIL_VALID_CATEGORY", "ISEMAIL_DNSWARN") and not is_email(address))
    }

    assert wrong <= DOTS | HOST_ONLY
    assert not any(is_email(address) for address, category, _ in corpus("isemail") if category == "ISEMAIL_RFC5322")


@pytest.mark.parametrize(
    ("email", "is_one"),
    [
        ("first..last@docomo.ne.jp", True),
        ("last.@docomo.ne.jp", True),
        ("+@b.c", True),
        ("test@iana.a", True),
        ("test@123.123.123.x123", True),
        (f"{'a' * 64}@{'b' * 60}.{'c' * 60}.{'d' * 59}.example", True),
        ("ada@größe.example", True),
        ("ada@例え.テスト", True),
        (f"{'a' * 65}@example.com", False),
        (f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 63}", False),
        (f"ada@{'ö' * 60}.example", False),
        ("ada@example", False),
        ('"\x07"@example.com', False),
        ('"ada"@example.com', False),
        ("test@[::12.34.56.78]", False),
        ("test@[127.0.0.1]", False),
        ("ö@example.com", False),
        ("ada@-a.example", False),
        ("ada@a-.example", False),
        ("ada@example.com.", False),
        ("ada@exa mple.com", False),
        ("ada@example.com\n", False),
        ("ada@\u2603\ud800.example", False),
        ("@", False),
    ],
)
def test_email__is_taken_as_browsers_do(email: str, is_one: bool) -> None:
    assert is_email(email) is is_one


def test_urls_of_the_standards_tests__are_taken_or_refused_as_they_say() -> None:
    """Two rules differ: no control characters; and the parser refuses `xn--` where nothing readable follows."""
    wrong = [
        url
        for url, is_valid in corpus("url_test_data").items()
        if is_url(url) != (is_valid and not CONTROL.search(url)) and "xn--" not in url.lower()
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        *(
            (f"https://{host}/", True)
            for host in ("exa_mple.com", "a-.example.com", "例え.テスト", "☃.example", "1.2.3.4")
        ),
        *((url, True) for url in ("http://intranet/", "http://intranet:8080/x", "https://example.com/my file.pdf")),
        *((url, True) for url in ("HTTPS://EXAMPLE.COM", "http://[::1]:8/?a#b", "https://ada:secret@example.com/")),
        *((url, False) for url in ("https://example.com:99999/", "http://256.256.256.256/", "http://[::1")),
        *((url, False) for url in ("http:example.com", "https:/example.com", "//example.com", "ftp://example.com")),
        *((url, False) for url in ("javascript://example.com", "https://", "https://exa mple.com", "example.com")),
        *((url, False) for url in ("https://example.com\n", "https://exa\tmple.com/", "https://example.com/\0")),
    ],
)
def test_url__is_taken_as_browsers_do_if_it_begins_with_http(url: str, is_one: bool) -> None:
    assert is_url(url) is is_one
