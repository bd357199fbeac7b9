"""A page that is sent twice at the same moment makes one key, webhook or destination."""

import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from keys.models import AccessKey
from tests.services.client import Client
from tests.support.browser import TOKEN, Browser, place
from tests.support.tenants import Tenant
from webhooks.models import Receiver

ADDRESS = "http://127.0.0.1:9/hook"
PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "key": ("keys/new", {"name": "Twice", "kind": "publishable"}),
    "webhook": ("destinations/new/webhook", {"config-url": ADDRESS, "do": "save"}),
    "destination": (
        "destinations/new/ntfy",
        {"name": "Team", "config-url": "https://ntfy.example/topic", "do": "save"},
    ),
}


def made(tenant: Tenant, kind: str) -> int:
    if kind == "key":
        return AccessKey.objects.filter(organization=tenant.organization, name="Twice").count()
    return Receiver.objects.filter(organization=tenant.organization).count()


@pytest.mark.parametrize("kind", PAGES)
def test_page__sent_many_times_at_the_same_moment__makes_one(
    api: Client, tenant: Tenant, owner: Browser, kind: str
) -> None:
    path, values = PAGES[kind]
    shown = owner.get(place(tenant, path))
    once, token = re.search(r'name="once" value="([^"]+)"', shown.text), TOKEN.search(shown.body)
    assert once
    assert token
    body = urlencode(
        {**values, "form": tenant.default_form_id, "once": once[1], "csrfmiddlewaretoken": token[1].decode()}
    )
    headers = owner.headers() | {"Content-Type": "application/x-www-form-urlencoded"}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: api.post(place(tenant, path), data=body, headers=headers), range(6)))
    assert [answer.status for answer in answers].count(302) >= 5
    assert made(tenant, kind) == 1
