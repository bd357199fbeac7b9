"""Caching of pages: by the browser, and by proxies (docs/contract.md 1.32)."""

import re
from collections.abc import Iterable, Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.services.client import Client
from tests.support.browser import Browser


def addresses(patterns: Iterable[URLPattern | URLResolver], lead: str) -> Iterator[str]:
    """Yield the addresses without arguments below `lead`."""
    for one in patterns:
        path = lead + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from addresses(one.url_patterns, path)
        elif path.startswith(("/account/", "/dashboard/")) and not re.search(r"[<(^]", path):
            yield path


PAGES = sorted(set(addresses(get_resolver().url_patterns, "/")))


def test_addresses__are_those_of_people() -> None:
    assert {"/account/login/", "/account/2fa/", "/dashboard/account", "/dashboard/organizations/new"} <= set(PAGES)
    assert len(PAGES) > 20


@pytest.mark.parametrize("path", PAGES)
def test_page__of_a_session__is_kept_by_no_cache(owner: Browser, path: str) -> None:
    answer = owner.get(path)
    assert answer.status < 500
    assert "no-store" in answer.headers["Cache-Control"], (answer.status, path)


def test_page__of_nobody__with_a_form__is_kept_by_no_cache(api: Client) -> None:
    for path in ("/account/login/", "/account/signup/", "/account/password/reset/", "/dashboard/"):
        assert "no-store" in api.get(path).headers["Cache-Control"], path


def test_file__that_proxies_keep__is_no_part_of_a_session(owner: Browser) -> None:
    for path in ("/forms.js", "/static/brand/tokens.css"):
        answer = owner.get(path, X_Request__Id="of-a-stranger")
        assert (answer.status, "X-Request-Id" in answer.headers) == (200, False)
        assert "public" in answer.headers["Cache-Control"]
