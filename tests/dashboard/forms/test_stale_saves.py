"""A form whose settings are open in two tabs: the second save shows what it would overwrite."""

import re

import pytest

from tests.services.client import Answer
from tests.support.browser import Browser, markup_of, place, text_of
from tests.support.tenants import Tenant


@pytest.mark.parametrize("screen", ["settings", "page", "spam", "replies", "notifications"])
def test_settings__saved_in_another_tab_meanwhile__ask_before_they_overwrite(
    owner: Browser, tenant: Tenant, screen: str
) -> None:
    path = place(tenant, f"forms/{tenant.form()}")
    mine = owner.get(f"{path}/{screen}")
    assert owner.send(f"{path}/settings", name="Theirs").status == 302
    typed = {
        "settings": {"name": "Mine"},
        "page": {"description": "Mine"},
        "spam": {"minimum_seconds": "7"},
        "replies": {"subject": "Mine", "text": "Hello"},
        "notifications": {"recipients": "mine@example.com"},
    }[screen]
    refused = owner.send(f"{path}/{screen}", **typed, seen=seen_in(mine))
    assert (refused.status, "saved in another tab or by another user" in text_of(refused)) == (409, True)
    assert next(iter(typed.values())) in refused.text
    mistaken = owner.send(f"{path}/settings", name="", seen=seen_in(mine))
    assert (mistaken.status, seen_in(mistaken)) == (400, seen_in(mine))  # it still has to ask
    assert owner.send(f"{path}/{screen}", **typed, seen=seen_in(refused)).status == 302


def seen_in(page: Answer) -> str:
    """Return the version of the form that a page has shown."""
    return re.search(r'name="seen" value="([^"]+)"', markup_of(page))[1]  # type: ignore[index]  # each has one
