"""Screens and API set the same: every input of a form's screens is a member of its document, saved like by PATCH."""

import html
import re
from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from dashboard.html_forms.row_form import RowForm
from forms_app.document.bodies import FormChanges
from forms_app.document.fields import FieldDefinitionSerializer
from forms_app.models import Form
from keys.models import AuditEvent
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, person_of, place
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field

# The inputs of the screens, by page, and the members that they set.
INPUTS: dict[str, dict[str, str]] = {
    "settings": {
        "name": "name",
        "key": "key",
        "address": "address",
        "allowed_origins": "allowedOrigins",
        "success_message": "successMessage",
        "redirect_url": "redirectUrl",
        "retention_days": "retentionDays",
    },
    "page": {
        "description": "description",
        "button_label": "buttonLabel",
        "return_url": "returnUrl",
        "language": "language",
        "accent": "accent",
        "hides_service": "poweredBy",
    },
    "spam": {
        "minimum_seconds": "spam.minSeconds",
        "max_links": "spam.maxLinks",
        "blocked_words": "spam.blockedWords",
        "proof_of_work": "spam.proofOfWork",
        "captcha": "spam.captcha",
        "captcha_site_key": "spam.siteKey",
        "captcha_secret": "spam.secret",
    },
    "replies": {
        "sender_name": "senderName",
        "confirmation": "confirmation",
        "enabled": "reply.enabled",
        "subject": "reply.subject",
        "text": "reply.text",
    },
    "notifications": {"recipients": "recipients", "reply_to": "replyTo"},
}
# The inputs of a row of the builder, and the members of a field.
ROW = {
    **{name: name for name in ("label", "type", "name", "required", "options", "placeholder", "help", "accept")},
    "other_types": "accept",
    "max_files": "maxFiles",
    "max_size": "maxBytes",
}
# Inputs that set no member: which version a page has seen, what a button does, whom to send a test, and a picture.
NO_VALUES = {"csrfmiddlewaretoken", "seen", "do", "recipient", "logo"}
BOXES = ("proof_of_work", "confirmation", "enabled", "hides_service")
MEMBERS = FormChanges().fields


def members_below(name: str) -> set[str]:
    below = getattr(MEMBERS[name], "fields", None)
    return {f"{name}.{member}" for member in below} if below else {name}


def inputs_of(page: str) -> set[str]:
    """Return the names of the inputs of a page's own part, without those of the frame."""
    main = page.partition("<main")[2].partition("</main>")[0]
    return {html.unescape(name) for name in re.findall(r'<(?:input|select|textarea)[^>]*? name="([^"]*)"', main)}


def pages_of(owner: Browser, tenant: Tenant, form_id: str) -> dict[str, str]:
    """Return the pages that the tabs of a form lead to, by the last part of their addresses."""
    start = place(tenant, f"forms/{form_id}")
    tabs = owner.get(start).text.partition('<ul class="tabs">')[2].partition("</ul>")[0]
    found = re.findall(rf'href="{re.escape(start)}/([^"]+)"', tabs)
    return {name: owner.get(f"{start}/{name}").text for name in found}


def test_screens__every_input__has_a_member(tenant: Tenant, owner: Browser) -> None:
    form_id = tenant.form(fields=[text_field("one", required=False)], notification_recipients=[tenant.owner.email])

    pages = pages_of(owner, tenant, form_id)

    assert pages.keys() == INPUTS.keys() | {"build"}
    for name, inputs in INPUTS.items():
        assert inputs_of(pages[name]) - NO_VALUES == inputs.keys(), name
    members = {member for inputs in INPUTS.values() for member in inputs.values()}
    assert members <= {member for name in list(MEMBERS) for member in members_below(name)}


def test_builder__every_input_of_a_row__has_a_member() -> None:
    assert RowForm.base_fields.keys() == ROW.keys()
    assert set(ROW.values()) == set(FieldDefinitionSerializer().fields)


SHOP = "https://shop.example.com"
GUEST = "guest@example.com"
REPLY = {"enabled": False, "subject": "Thanks", "text": "We answer soon."}
# For each member: its value in the API, the page that sets it, and what is typed there.
SAVES: dict[str, tuple[Any, str, dict[str, str]]] = {
    "name": ("Orders", "settings", {"name": "Orders"}),
    "key": ("orders", "settings", {"key": "orders"}),
    "allowedOrigins": ([SHOP], "settings", {"allowed_origins": f"{SHOP}\n"}),
    "successMessage": ("Thank you!", "settings", {"success_message": " Thank you! "}),
    "redirectUrl": (f"{SHOP}/thanks", "settings", {"redirect_url": f"{SHOP}/thanks"}),
    "retentionDays": (90, "settings", {"retention_days": "90"}),
    "description": ("One\nTwo", "page", {"description": "One\r\nTwo"}),
    "buttonLabel": ("Order now", "page", {"button_label": "Order now"}),
    "returnUrl": (SHOP, "page", {"return_url": SHOP}),
    "language": ("ar", "page", {"language": "ar"}),
    "accent": ("#2563eb", "page", {"accent": "#2563eb"}),
    "poweredBy": (False, "page", {"hides_service": "on"}),
    "spam": (
        {"minSeconds": None, "maxLinks": 0, "blockedWords": ["casino"], "proofOfWork": True},
        "spam",
        {"minimum_seconds": "0", "max_links": "0", "blocked_words": "casino\r\ncasino", "proof_of_work": "on"},
    ),
    "reply": (REPLY, "replies", {"subject": "Thanks", "text": "We answer soon."}),
    "confirmation": (True, "replies", {"confirmation": "on"}),
    "senderName": ("Nora", "replies", {"sender_name": "Nora"}),
    "replyTo": (GUEST, "notifications", {"recipients": GUEST, "reply_to": GUEST}),
    "recipients": ([{"email": "Guest@example.com"}], "notifications", {"recipients": "Guest@EXAMPLE.com"}),
    "fields": (
        [{"name": "size", "label": "Size", "type": "Text", "required": True}],
        "build",
        {"row": "k1", "label-k1": "Size", "type-k1": "Text", "name-k1": "size", "required-k1": "on", "do": "save"},
    ),
}
BY_ITSELF = {"address"}  # no two forms have the same; test_face_screens.py saves one
EMAIL = {"name": "email", "label": "Email", "type": "Email", "required": False}
OTHER_COLUMNS = ("id", "organization_id", "created_at", "updated_at", "published_at", "key", "spam_protection")


def form_with(tenant: Tenant, member: str) -> Form:
    """Return a form in which the member can be set: a confirmation needs a human check, an answer a recipient."""
    needs: dict[str, dict[str, Any]] = {
        "confirmation": {"fields": [EMAIL], "spam_protection": {"proof_of_work": True}},
        "replyTo": {"notification_recipients": [GUEST]},
    }
    return Form.objects.get(pk=decode_id(Prefix.FORM, tenant.form(**needs.get(member, {}))))


def row_and_trail(form: Form) -> tuple[Any, Any]:
    (row,) = Form.objects.filter(pk=form.pk).values()
    events = AuditEvent.objects.filter(organization_ref=form.organization_id, action__startswith="form.").order_by("pk")
    kept = {name: value for name, value in row.items() if name not in OTHER_COLUMNS}
    return (kept, row["spam_protection"]), list(events.values_list("action", "subject", "changes"))


def typed_values(browser: Browser, path: str, page: str) -> dict[str, str]:
    """Return the values that a page of a new form has already, which a browser sends with the others."""
    shown = browser.get(path).text
    known = {name: "" for name in INPUTS.get(page, {}) if name not in BOXES}
    known["seen"] = ""
    for name in known:
        found = re.search(rf'<input[^>]*name="{name}"[^>]*value="([^"]*)"', shown)
        found = found or re.search(rf'<select[^>]*name="{name}".*?<option value="([^"]*)"\s+selected', shown, re.DOTALL)
        known[name] = html.unescape(found[1]) if found else ""
    return known


@pytest.mark.parametrize("member", first_on_both(list(SAVES)))
def test_member__saved_on_its_screen__leaves_the_row_and_the_trail_of_a_patch(member: str, api: Client) -> None:
    value, page, typed = SAVES[member]
    one, two = make_tenant(), make_tenant()
    by_api, on_screen = form_with(one, member), form_with(two, member)
    path = place(two, f"forms/{on_screen.public_id}/{page}")
    browser = logged_in(api, person_of(two))

    patched = api.patch(f"/api/forms/{by_api.public_id}", one.key, json={member: value})
    saved = browser.post(path, form=path, **{**typed_values(browser, path, page), **typed})

    assert (patched.status, saved.status) == (200, 302), patched.text + saved.text[:0]
    assert row_and_trail(on_screen) == row_and_trail(by_api)
    assert len(row_and_trail(by_api)[1]) > 1  # the form was created, and then changed


def test_table__of_saves__has_every_member_that_a_screen_sets() -> None:
    assert SAVES.keys() == MEMBERS.keys() - BY_ITSELF
