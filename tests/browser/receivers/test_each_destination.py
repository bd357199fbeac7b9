"""Each kind of destination, set up in a browser by the labels that its screen shows."""

import json
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from playwright.sync_api import Browser, expect

from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import person_of, place
from tests.support.chromium.dashboard_page import at_the_dashboard
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, text_field
from webhooks.kinds.registry import KINDS
from webhooks.models import Receiver

TYPED = {
    "slack": {"url": "https://hooks.slack.com/services/T0001/B0001/secretWXYZ"},
    "discord": {"url": "https://discord.com/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaa_secretWXYZ"},
    "teams": {"url": "https://p1.westeurope.logic.azure.com/workflows/a/triggers/b/paths/invoke?sig=secretWXYZ"},
    "telegram": {"token": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAsecretWXYZ", "chatId": "-1001"},
    "ntfy": {"url": "https://ntfy.invalid/topic", "token": "tk_secretWXYZ"},
    "mattermost": {"url": "https://chat.invalid/hooks/xxxxxxxxxxxxxxxxxxxxsecretWXYZ"},
    "http": {"url": "https://crm.invalid/in", "template": '{"who": "{{ data.name }}"}'},
    "google_sheets": {
        "spreadsheetId": "https://docs.google.com/spreadsheets/d/1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefg/edit",
        "sheet": "A",
    },
}


@cache
def google_key() -> str:
    """Return the JSON key of a service account."""
    pem = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    names = {"type": "service_account", "private_key_id": "0123456789abcdef", "private_key": pem}
    return json.dumps({**names, "client_email": "robot@project.iam.gserviceaccount.com"})


def test_kinds__of_all_destinations__are_tried() -> None:
    assert set(TYPED) == set(KINDS)


@pytest.mark.parametrize("kind", TYPED)
def test_destination__of_each_kind__is_set_up_by_its_labels(
    browser: Browser, service: Application, tenant: Tenant, api: Client, kind: str
) -> None:
    form_id = tenant.form(name="Jobs", fields=[text_field("name")])
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    typed = TYPED[kind] | ({"credentials": google_key()} if kind == "google_sheets" else {})
    with at_the_dashboard(browser, service.base_url, person_of(tenant)) as (page, complaints):
        page.goto(place(tenant, "destinations/new"))
        page.get_by_role("link", name=str(KINDS[kind].label)).click()
        for one in KINDS[kind].inputs:
            if one.name in typed:
                page.get_by_label(str(one.label), exact=True).fill(typed[one.name])
        page.get_by_label("Form", exact=True).select_option("Jobs")
        page.get_by_label("Name", exact=True).fill("Team")
        expect(page.get_by_role("region", name="The message")).to_contain_text("Ada")
        page.get_by_role("button", name="Create destination").click()
        expect(page.get_by_text("The destination is created.")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text("Team")
        assert "secretWXYZ" not in page.content()
        assert complaints == []
    made = Receiver.objects.get(organization=tenant.organization)
    assert (made.kind, made.status) == (kind, "active")
