"""Starting a form in the dashboard: from a starter, as a copy, and from the HTML of a page."""

import html
import re

import pytest

from dashboard.pages.new_forms.starter_forms import STARTER_FORMS
from forms_app.models import Form, Recipient
from forms_app.spam_protection import SpamProtection
from keys.models import AuditEvent
from tests.services.client import Answer
from tests.support.browser import Browser, member_of, person_of, place, text_of
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, text_field
from webhooks.models import Delivery, Receiver

pytestmark = pytest.mark.quick

PAGE = """<h1>Write to us</h1><form>
<label for="n">Your name *</label><input id="n" name="your_name" required placeholder="Jane">
<input type="email" name="email" aria-label="Email">
<label>CV <input type="file" name="cv" accept=".PDF, .svg" multiple></label>
<input type="password" name="pin"><button>Send</button></form>"""
FOUND = [
    {"name": "your_name", "label": "Your name", "type": "Text", "required": True, "placeholder": "Jane"},
    {"name": "email", "label": "Email", "type": "Email", "required": False},
    {
        "name": "cv",
        "label": "CV",
        "type": "File",
        "required": False,
        "accept": [".pdf"],
        "maxFiles": 10,
        "maxBytes": 10_485_760,
    },
]


def newest(tenant: Tenant) -> Form:
    return Form.objects.filter(organization=tenant.organization).latest("id")


def hidden(page: Answer) -> dict[str, str]:
    """Return what the page sends back with the button that adds."""
    return {name: re.findall(rf'name="{name}" value="([^"]*)"', page.text)[0] for name in ("shown", "seen")}


@pytest.mark.parametrize("start", first_on_both(STARTER_FORMS))
def test_new_form__from_each_start__is_a_draft_with_its_fields(tenant: Tenant, member: Browser, start: str) -> None:
    starter = STARTER_FORMS[start]
    answer = member.send(place(tenant, "forms/new"), name="", start=start)
    form = newest(tenant)
    assert answer.headers["Location"] == place(tenant, f"forms/{form.public_id}/build")
    assert (form.name, form.status, form.fields) == (starter.name, "draft", [dict(field) for field in starter.fields])
    assert "Review its fields" in text_of(member.follow(answer))


def test_new_form__with_a_name__has_it_and_an_unknown_start_makes_none(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, "forms/new")
    refused = member.send(path, name="Kept", start="nonsense")
    assert (refused.status, 'value="Kept"' in refused.text, newest(tenant).name) == (400, True, "Inbox")
    member.send(path, name="Fresh <b>", start="rsvp")
    assert newest(tenant).name == "Fresh <b>"


def test_duplicate__form_with_everything__is_a_draft_with_its_settings(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(
        name="Shop",
        fields=[text_field("size", type="Select", options=["S"], required=True)],
        allowed_origins=["https://shop.example"],
        redirect_url="https://shop.example/thanks",
        success_message="Thanks",
        retention_days=30,
        description="Write to us",
        button_label="Send it",
        return_url="https://shop.example/",
        spam_protection=SpamProtection(captcha="hcaptcha", captcha_site_key="k", captcha_secret="s").stored(),
    )
    form = newest(tenant)
    owner, stopped = person_of(tenant), member_of(tenant.organization, "member").email
    form.notification_recipients = [owner.email, stopped, "guest@example.com"]
    form.save()
    Recipient.objects.create(form=form, email="guest@example.com", confirmed_at=form.created_at)
    Recipient.objects.create(form=form, email=stopped, stopped_at=form.created_at)
    Receiver.objects.create(
        organization=form.organization, form=form, url="https://shop.example/hook", events=["submission.created"]
    )
    page = member.follow(member.post(place(tenant, f"forms/{form_id}/duplicate"), form=place(tenant, "forms")))
    copy = newest(tenant)
    same = (
        "fields",
        "allowed_origins",
        "redirect_url",
        "success_message",
        "retention_days",
        "spam_protection",
        "description",
        "button_label",
        "return_url",
    )
    assert {name: getattr(copy, name) for name in same} == {name: getattr(form, name) for name in same}
    assert (copy.name, copy.status, copy.is_default, copy.published_at) == ("Shop copy", "draft", False, None)
    assert copy.notification_recipients == [owner.email], "nobody else has agreed to the mails of this form"
    assert not Receiver.objects.filter(form=copy).exists()
    assert not Delivery.objects.filter(organization=tenant.organization).exists(), "no mail is sent"
    assert all(said in text_of(page) for said in ("Its destinations are not copied", "Only recipients who are members"))
    event = AuditEvent.objects.get(organization=tenant.organization, action="form.copied")
    assert (event.subject, (event.changes or {})["copy_of"]) == ("Shop copy", [None, "Shop"])


def test_duplicate__again_and_of_a_copy_and_of_the_default_form__has_names_of_its_own(
    tenant: Tenant, member: Browser
) -> None:
    ids = [tenant.form(name="Contact"), tenant.form(name="x" * 200), tenant.default_form_id]
    names = []
    for form_id in (ids[0], ids[0], ids[1], ids[1], ids[2]):
        member.post(place(tenant, f"forms/{form_id}/duplicate"), form=place(tenant, "forms"))
        names.append(newest(tenant).name)
    copy = Form.objects.get(organization=tenant.organization, name="Contact copy 2")
    member.post(place(tenant, f"forms/{copy.public_id}/duplicate"), form=place(tenant, "forms"))
    long = "x" * 190
    assert [*names, newest(tenant).name] == [
        *("Contact copy", "Contact copy 2", f"{long} copy", f"{long} copy 2", "Inbox copy", "Contact copy 3")
    ]


@pytest.mark.on_sqlite
def test_html__pasted_for_a_new_form__is_shown_first_and_added_when_asked(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, "forms/new/html")
    page = member.send(path, name="", html=PAGE, do="read")
    said = text_of(page)
    assert "3 fields found" in said
    assert "pin A form must not ask for passwords." in said
    assert "CV Without the type .svg, which no form accepts." in said
    assert newest(tenant).name == "Inbox", "nothing is made yet"
    other = member.send(path, name="", html=PAGE + "<p>", do="add", **hidden(page))
    assert "The HTML has changed." in text_of(other)
    assert newest(tenant).name == "Inbox"
    done = member.send(path, name="", html=PAGE, do="add", **hidden(page))
    form = newest(tenant)
    assert done.headers["Location"] == place(tenant, f"forms/{form.public_id}/build")
    assert (form.name, form.status, form.fields) == ("Write to us", "draft", FOUND)


def test_html__pasted_for_a_form__adds_other_names_after_its_own(tenant: Tenant, member: Browser) -> None:
    own = text_field("email", required=True)
    form_id = tenant.form(name="Mine", fields=[own])
    path = place(tenant, f"forms/{form_id}/html")
    page = member.send(path, html=PAGE, do="read")
    assert "email The form has a field with this name." in text_of(page)
    assert member.send(path, html=PAGE, do="add", **hidden(page)).status == 302
    assert newest(tenant).fields == [own, FOUND[0], FOUND[2]]
    again = member.send(path, html=PAGE, do="add", **hidden(page))
    assert "No fields found." in text_of(again)


@pytest.mark.on_sqlite
def test_html__pasted_for_the_default_form__requires_nothing(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, f"forms/{tenant.default_form_id}/html")
    page = member.send(path, html=PAGE, do="read")
    assert "Optional, because the default form cannot require a field." in text_of(page)
    member.send(path, html=PAGE, do="add", **hidden(page))
    assert newest(tenant).fields == [{**FOUND[0], "required": False}, *FOUND[1:]]


@pytest.mark.on_sqlite
def test_html__hostile__is_shown_as_text_and_kept(tenant: Tenant, member: Browser) -> None:
    hostile = '</textarea><script>alert(1)</script><input name="a<b>" aria-label="<img src=x onerror=alert(1)>">'
    page = member.send(place(tenant, "forms/new/html"), name="", html=hostile, do="read")
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert hostile in html.unescape(page.text)


@pytest.mark.on_sqlite
def test_html__too_much__is_refused_with_advice(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, "forms/new/html")
    for text, said in (("", "This field is required"), ("<input name=a>" + "x" * 200_000, "At most 200 kB.")):
        answer = member.send(path, name="", html=text, do="read")
        assert (answer.status, said in answer.text) == (400, True)
    answer = member.send(path, name="", html="x" * 1_000_000, do="read")
    assert (answer.status, "at most 256 KiB. Nothing was changed" in text_of(answer)) == (413, True)
