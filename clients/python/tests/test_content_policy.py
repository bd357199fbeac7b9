"""Content-Security-Policy, as browsers read it."""

import pytest

from fieldpost.cli.content_policy import origin_of, refused_by

SCRIPT = ("script-src-elem", "connect-src")


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("", []),
        ("default-src 'self'", ["default-src"]),
        ("default-src *", []),
        ("default-src https:", []),
        ("script-src https://forms.example; connect-src 'self'", ["connect-src"]),
        ("script-src 'none'; connect-src forms.example", ["script-src"]),
        ("script-src *.example; connect-src https://*.example:443", []),
        ("script-src *.forms.example; connect-src *", ["script-src"]),
        ("connect-src http://forms.example; script-src http:", []),
        ("connect-src https://forms.example:8443; script-src *", ["connect-src"]),
        ("connect-src https://forms.example:*/api; SCRIPT-SRC FORMS.example", []),
        ("connect-src wss://forms.example; script-src 'nonce-abc'", ["script-src", "connect-src"]),
        ("script-src-elem 'self'; script-src *; connect-src *", ["script-src-elem"]),
        ("img-src 'self'; form-action 'none'", []),
    ],
)
def test_refused_by__policy__names_its_directives(policy: str, refused: list[str]) -> None:
    assert refused_by([policy], SCRIPT, "https://shop.example/contact", "https://forms.example/forms.js") == refused


def test_refused_by__form_action__does_not_fall_back() -> None:
    shop, forms = "https://forms.example/page", "https://forms.example"
    assert refused_by(["default-src 'none'"], ["form-action"], shop, forms) == []
    assert refused_by(["form-action 'self'", "form-action https://other.example"], ["form-action"], shop, forms) == [
        "form-action"
    ]
    assert refused_by(["form-action 'self'"], ["form-action"], shop, forms) == []


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example:443/x", "https://a.example"),
        ("http://a.example:8080", "http://a.example:8080"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_origin_of__address__is_as_browsers_send_it(url: str, origin: str) -> None:
    assert origin_of(url) == origin
