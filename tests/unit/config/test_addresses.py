"""Groups of addresses by their names (`config.pages.addresses`), and where cookies are read."""

import pytest
from django.test import Client

from config.pages.addresses import ON_BOTH_HOSTS, ON_THE_PAGES_HOST, OPEN_TO_SCRIPTS, PLAIN_POSTS, READ_BY_SCRIPTS
from config.urls import api, urlpatterns
from forms_app.script.urls import urlpatterns as scripts
from submissions.hosted.moved_urls import urlpatterns as moved
from submissions.hosted.urls import urlpatterns as hosted
from submissions.receiving.api import urlpatterns as submit


def test_plain_posts__are_named_so() -> None:
    assert all(str(one.name).startswith(PLAIN_POSTS) for one in [*hosted, *moved] if one.name != "root")


def test_names_of_groups__are_those_of_addresses() -> None:
    named = {getattr(one, "name", None) for one in [*urlpatterns, *api, *scripts, *hosted, *submit]}
    assert named >= OPEN_TO_SCRIPTS | READ_BY_SCRIPTS | ON_BOTH_HOSTS | ON_THE_PAGES_HOST


@pytest.mark.parametrize("path", ["/", "/api/docs", "/docs", "/f/challenge", "/forms.js", "/healthz", "/nothing/here"])
def test_cookies__outside_of_pages_for_people__are_neither_read_nor_set(path: str) -> None:
    """A malformed one would be replaced."""
    answer = Client().get(path, headers={"cookie": "fieldpost_session=abc; fieldpost_csrf=a; messages=x"})
    assert not answer.cookies
    assert "Cookie" not in answer.headers.get("Vary", "")
