"""A form's document on screen: downloaded, and a new form from one (docs/dashboard.md)."""

import json
from typing import Any

import pytest

from dashboard.pages.new_forms.json_lines import line_of, lines_of
from forms_app.models import Form
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.hosted_posts import multipart
from tests.support.tenants import Tenant, make_tenant, text_field
from webhooks.models import Delivery

DOCUMENT: dict[str, Any] = {
    "key": "orders",
    "name": "Orders",
    "fields": [text_field("size")],
    "description": "Order <b>here</b>.",
    "spam": {"maxLinks": 3},
}


def forms_of(tenant: Tenant) -> list[str]:
    return list(Form.objects.filter(organization=tenant.organization, is_default=False).values_list("name", flat=True))


def page(tenant: Tenant) -> str:
    return place(tenant, "forms/new/file")


def test_document__downloaded__is_that_of_the_api(api: Client, tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(name="Ärzte", notification_recipients=["new@example.com"])
    document = api.get("/api/forms/by-key/arzte", tenant.key).json()["data"]

    by_owner = logged_in(api, person_of(tenant)).get(place(tenant, f"forms/{form_id}/document"))
    by_member = member.get(place(tenant, f"forms/{form_id}/document"))

    assert by_owner.headers["Content-Disposition"] == 'attachment; filename="arzte.json"'
    assert (by_owner.status, by_owner.json()) == (200, document)
    assert '"name": "Ärzte"' in by_owner.text
    hidden = {name: value for name, value in document.items() if name not in ("recipients", "replyTo")}
    assert by_member.json() == hidden


def test_new_form__from_a_document__is_shown_first_and_then_made(tenant: Tenant, member: Browser) -> None:
    text = json.dumps(DOCUMENT)

    shown = member.send(page(tenant), document=text, do="show")
    assert (shown.status, forms_of(tenant)) == (200, [])
    for part in ("The form that this makes", "Order <b>here</b>.", "spam.maxLinks", "orders", "Create form"):
        assert part in text_of(shown)

    made = member.send(page(tenant), document=text, do="create")
    form = Form.objects.get(organization=tenant.organization, name="Orders")
    assert made.headers["Location"] == place(tenant, f"forms/{form.public_id}")
    assert (form.key, form.status, form.spam_protection) == ("orders", "draft", {"max_links": 3})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name": "Orders",\n"fields": [\n{"label": "Size",\n"type": "Box"}]}', "Line 4: fields.0.type"),
        ('{"name": "Orders",\n"colour": 1}', "Line 2: colour"),
        ('{"name": "Orders",\n"key": "inbox"}', "Line 2: key"),
        ('{"name": "Orders",\n"spam":\n{"captcha": "turnstile", "secret":\n{"hint": "…"}}}', "Line 4: spam.secret"),
        ('{"name": "Orders",\n"recipients": [{"email": "a@b.example"}]}', "Line 2: recipients"),
        ('{"fields": []}', "name"),
        ('{"name": "Orders",}', "line 1, column"),
        ("[]", "must be one JSON object"),
        ("[" * 40 + "]" * 40, "must be one JSON object"),
        (" ", "Choose a file, or paste a document."),
    ],
    ids=range(10),
)
def test_new_form__from_a_wrong_document__says_where_and_makes_nothing(
    text: str, problem: str, tenant: Tenant, member: Browser
) -> None:
    for do in ("show", "create"):
        answer = member.send(page(tenant), document=text, do=do)
        assert (answer.status, problem in text_of(answer)) == (400, True), text_of(answer)
    assert forms_of(tenant) == []


def choose(api: Client, tenant: Tenant, browser: Browser, content: str, do: str) -> Answer:
    """Send a file as the page does; each character of `content` is a byte."""
    token = browser.get(page(tenant)).text.partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
    body, kind = multipart({"csrfmiddlewaretoken": token, "do": do}, {"file": ("orders.json", content)})
    return api.post(page(tenant), data=body.encode("latin-1"), headers=browser.headers() | kind)


def test_new_form__from_a_chosen_file__is_shown_and_made(api: Client, tenant: Tenant, member: Browser) -> None:
    text = json.dumps({**DOCUMENT, "name": "Ärzte"}, ensure_ascii=False)
    content = text.encode("utf-8-sig").decode("latin-1")

    shown = choose(api, tenant, member, content, "show")
    assert (shown.status, "Ärzte" in text_of(shown), forms_of(tenant)) == (200, True, [])

    made = choose(api, tenant, member, content, "create")
    assert (made.status, forms_of(tenant)) == (302, ["Ärzte"])


@pytest.mark.parametrize(
    ("content", "status", "problem"),
    [
        ('{"name": "\xff"}', 400, "The file is not UTF-8 text."),
        ('{"name": "Orders"}' + " " * 262_144, 400, "A document has at most 256 KiB."),
        ('{"name": "Orders"}' + " " * 10_000_000, 413, "at most 256 KiB"),
        ("", 400, "Choose a file, or paste a document."),
    ],
    ids=["not UTF-8", "over 256 KiB", "10 MB", "empty"],
)
def test_new_form__from_an_unfit_file__is_refused(
    content: str, status: int, problem: str, api: Client, tenant: Tenant, member: Browser
) -> None:
    for do in ("show", "create"):
        answer = choose(api, tenant, member, content, do)
        assert (answer.status, problem in text_of(answer)) == (status, True), text_of(answer)[:2_000]
    assert forms_of(tenant) == []


def test_recipients__in_the_document_of_an_admin__are_asked(api: Client, tenant: Tenant) -> None:
    stranger = f"new-{tenant.owner.pk}@example.com"
    text = json.dumps({**DOCUMENT, "recipients": [{"email": stranger}]})
    stale = logged_in(api, member_of(tenant.organization, "admin"), seconds_ago=3_600)

    assert stale.send(page(tenant), document=text, do="show").status == 200
    question = stale.send(page(tenant), document=text, do="create")
    assert (question.status, forms_of(tenant)) == (302, [])

    fresh = logged_in(api, member_of(tenant.organization, "admin"))
    assert fresh.send(page(tenant), document=text, do="create").status == 302
    assert Form.objects.get(organization=tenant.organization, name="Orders").notification_recipients == [stranger]
    assert Delivery.objects.filter(organization=tenant.organization, event="recipient.asked").count() == 1


def test_document__of_another_organization__is_not_found(api: Client, tenant: Tenant) -> None:
    other = make_tenant()

    answer = logged_in(api, person_of(other)).get(place(other, f"forms/{tenant.form()}/document"))

    assert answer.status == 404


def test_lines__of_values__are_found_by_their_paths() -> None:
    text = '{"a":\n{"b": [1,\n{"c": "x\\n\\"y"},\n []]},\n"d\\u00e9": null}'
    lines = lines_of(text)
    assert {name: lines[name] for name in ("a", "a.b", "a.b.0", "a.b.1.c", "a.b.2", "dé")} == {
        "a": 2,
        "a.b": 2,
        "a.b.0": 2,
        "a.b.1.c": 3,
        "a.b.2": 4,
        "dé": 5,
    }
    assert (line_of(lines, "a.b.1.name"), line_of(lines, "other"), line_of(lines, "")) == (3, None, None)
