"""Origins are parsed strictly and compared exactly (`forms_app.origins`)."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forms_app.origins import InvalidOrigin, is_allowed, origin_of, parse_origin_pattern

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
ORIGINS = st.tuples(st.sampled_from(["http", "https"]), HOSTS, st.none() | st.integers(1024, 65_535)).map(
    lambda parts: f"{parts[0]}://{parts[1]}" + (f":{parts[2]}" if parts[2] else "")
)
# Text that looks like an address reaches further than random text.
ADDRESSES = st.lists(
    st.sampled_from(
        ["http", "https", "://", "*.", "example.com", ":", "443", "/", "@", "[", "]", "::1", "null", "\n", "\uff0e"]
    )
).map("".join)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://example.com", "https://example.com"),
        ("HTTPS://EXAMPLE.com", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("http://example.com:80", "http://example.com"),
        ("http://example.com:443", "http://example.com:443"),
        ("https://example.com:08443", "https://example.com:8443"),
        ("https://*.example.com:8443", "https://*.example.com:8443"),
        ("http://127.0.0.1:5500", "http://127.0.0.1:5500"),
        ("http://[::1]", "http://[::1]"),
        ("https://my_site.example", "https://my_site.example"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("\thttps://example.com\n", "https://example.com"),
    ],
)
def test_parse__of_an_origin__is_what_browsers_send(text: str, origin: str) -> None:
    assert parse_origin_pattern(text) == origin


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "*", "example.com", "https://", "https:///", "https://example.com/", "https://example.com/path"),
        *("https://example.com?q", "https://example.com#f", "ftp://example.com", "https://user@example.com"),
        *("https://*", "https://*.", "https://*example.com", "https://a.*.com", "https://a..b", "https://.a"),
        *("https://example.com:", "https://example.com:65536", "https://example.com:-1", "https://example.com:\uff14"),
        *(
            "https://exa mple.com",
            "https://example.com\0",
            "https://example.com\nhttps://evil.example",
            "//example.com",
        ),
    ],
)
def test_parse__of_anything_else__says_what_an_origin_looks_like(text: str) -> None:
    with pytest.raises(InvalidOrigin, match=r"is not an origin\. Write it like https://example\.com"):
        parse_origin_pattern(text)


@settings(deadline=None)
@given(st.text() | ADDRESSES)
@example("https://[")
@example("https://[::1")
@example("http://\u2100.example")
@example("https://example.com:99999999999999999999")
def test_any_text__is_an_origin_or_not__without_another_error(text: str) -> None:
    try:
        parsed = parse_origin_pattern(text)
    except InvalidOrigin:
        assert not is_allowed(text, ["https://example.com", "https://*.example.com"])
    else:
        assert parse_origin_pattern(parsed) == parsed
    found = origin_of(text)
    assert found == "" or parse_origin_pattern(found) == found


@settings(deadline=None)
@given(ORIGINS, st.sampled_from(["", "/", "/contact?next=https://evil.example#x", "?q", "#f"]))
def test_origin_of__any_page__is_its_origin(origin: str, rest: str) -> None:
    assert origin_of(origin + rest) == origin
    assert origin_of(origin.replace("://", "://user:password@") + rest) == origin


@settings(deadline=None)
@given(ORIGINS, ORIGINS)
def test_is_allowed__exact_pattern__admits_that_origin_alone(origin: str, other: str) -> None:
    assert is_allowed(origin, [origin])
    assert is_allowed(origin.upper(), ["https://none.invalid", origin])
    assert is_allowed(other, [origin]) == (other == origin)
    assert not is_allowed(origin, [])


@settings(deadline=None)
@given(HOSTS, HOSTS, st.sampled_from(["", ":8443"]))
def test_is_allowed__wildcard__admits_subdomains_at_any_depth_alone(host: str, below: str, port: str) -> None:
    pattern = [f"https://*.{host}{port}"]

    assert is_allowed(f"https://{below}.{host}{port}", pattern)
    assert not is_allowed(f"https://{host}{port}", pattern)
    assert not is_allowed(f"http://{below}.{host}{port}", pattern)
    assert not is_allowed(f"https://{below}.{host}{port or ':'}1", pattern)
    assert not is_allowed(f"https://{below}.{host}.evil{port}", pattern)
    assert not is_allowed(f"https://{below}x{host}{port}", pattern) or f"{below}x{host}".endswith(f".{host}")


@pytest.mark.parametrize("origin", ["", "null", "file://", "chrome-extension://abc", "https://example.com/", "*"])
def test_is_allowed__no_web_origin__is_never_admitted(origin: str) -> None:
    assert not is_allowed(origin, ["https://example.com", "https://*.com", "http://*.example"])
