"""Destinations in the dashboard: set up each kind, preview, test, correct what needs attention, disable and undo."""

import html
import json
import re
from functools import cache
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings

from dashboard.accounts.session_store import SessionStore
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, make_stale, member_of, person_of, place, text_of
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field
from webhooks.kinds.registry import KINDS
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

SECRETS = {
    "slack": {"url": "https://hooks.slack.com/services/T0001/B0001/secretWXYZ"},
    "discord": {"url": "https://discord.com/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaa_secretWXYZ"},
    "teams": {"url": "https://p1.westeurope.logic.azure.com/workflows/a/triggers/b/paths/invoke?sig=secretWXYZ"},
    "telegram": {"token": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAsecretWXYZ", "chatId": "-1001"},
    "ntfy": {"url": "https://ntfy.invalid/topic", "token": "tk_secretWXYZ"},
    "http": {
        "url": "https://crm.invalid/in",
        "method": "PUT",
        "headers": "X-Key: secretWXYZ\r\nX-Team: a:b",
        "template": '{"who": "{{ data.name }}"}',
    },
}
SHEET = "1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefg"
HOSTILE = '<script>alert(1)</script> <!channel> *a* \\ _b_ "c" & {{ data.x }}'


@cache
def google_key() -> str:
    """Return the JSON key of a service account."""
    pem = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return json.dumps(
        {
            "type": "service_account",
            "private_key_id": "0123456789abcdef",
            "private_key": pem,
            "client_email": "robot@project.iam.gserviceaccount.com",
        }
    )


def fetch_preview(browser: Browser, path: str, **values: str) -> Answer:
    """Post a form as htmx does while somebody types."""
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(path).text)
    assert token
    named = {name.rstrip("_").replace("__", "-"): value for name, value in values.items()}
    body = urlencode({**named, "do": "preview", "csrfmiddlewaretoken": token[1]})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
    return browser.api.post(path, data=body, headers={**browser.headers(), **headers})


def as_submitted(preview: str) -> str:
    """Return what a preview shows, without the signs that keep a text from being markup of a chat."""
    return html.unescape(preview).replace("\u2060", "").replace("\uff1c", "<")


def inputs(config: dict[str, str]) -> dict[str, str]:
    return {f"config__{name}": value for name, value in config.items()}


def create(browser: Browser, tenant: Tenant, kind: str, config: dict[str, str], **values: str) -> Answer:
    path = place(tenant, f"destinations/new/{kind}")
    once = re.search(r'name="once" value="([^"]+)"', browser.get(path).text)
    assert once
    given = {"form_": "all", "name": "Team", "do": "save", "once": once[1], **inputs(config), **values}
    return browser.post(path, form=path, **given)


def only_destination(tenant: Tenant) -> ReceiverRow:
    return ReceiverRow.objects.get(organization=tenant.organization)


def page_of(tenant: Tenant) -> str:
    return place(tenant, f"destinations/{only_destination(tenant).public_id}")


@pytest.mark.parametrize("kind", [*SECRETS, "google_sheets"])
def test_destination__of_each_kind__is_set_up_and_its_secrets_are_not_shown_again(
    tenant: Tenant, owner: Browser, kind: str
) -> None:
    sheets = {"credentials": google_key(), "spreadsheetId": f"https://docs.google.com/x/d/{SHEET}/edit", "sheet": "A"}
    config = sheets if kind == "google_sheets" else SECRETS[kind]
    chosen = owner.get(place(tenant, "destinations/new"))
    assert f'/destinations/new/{kind}"' in chosen.text
    asked = text_of(owner.get(place(tenant, f"destinations/new/{kind}")))
    assert all(str(each.label) in asked for each in KINDS[kind].inputs)
    shown = owner.follow(create(owner, tenant, kind, config))
    assert "The destination is created." in text_of(shown)
    made = only_destination(tenant)
    assert (made.kind, made.name, made.form, made.status) == (kind, "Team", None, "active")
    for path in ("", "/edit", "/delete"):
        seen = owner.get(page_of(tenant) + path)
        assert seen.status == 200
        assert "secretWXYZ" not in seen.text
        assert "PRIVATE KEY" not in seen.text
    listed = text_of(owner.get(place(tenant, "destinations")))
    assert f"Team {KINDS[kind].label} All forms Active" in listed


def test_http__entered_lines__become_headers_and_the_sheet_its_id(tenant: Tenant, owner: Browser) -> None:
    create(owner, tenant, "http", SECRETS["http"])
    edit = owner.get(f"{page_of(tenant)}/edit").text
    assert "X-Key: \nX-Team: " in html.unescape(edit)
    assert "X-Key: …WXYZ X-Team: …" in text_of(owner.get(page_of(tenant)))
    refused = owner.send(f"{page_of(tenant)}/edit", do="save", **inputs({**SECRETS["http"], "headers": "X-Key:\nx: 1"}))
    assert refused.status == 400
    assert "The value of “X-Key” must be 1 to 2,048 printable ASCII characters." in text_of(refused)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("kind", "config", "words"),
    [
        ("slack", {}, "This field is required."),
        ("slack", {"url": "https://example.com/"}, "Paste one such as https://hooks.slack.com/services/T…/B…/…."),
        ("telegram", {"token": "1", "chatId": "x"}, "Write the number of the chat, or @name of a public channel."),
        ("ntfy", {"url": "http://10.0.0.1/topic"}, "private or special address"),
        ("http", {"url": "https://a.invalid/", "template": '{"a": {{ x }}}'}, "Put placeholders inside strings."),
        (
            "google_sheets",
            {"credentials": "{}", "spreadsheetId": SHEET, "sheet": "A"},
            "This is not the key of a service",
        ),
    ],
)
def test_destination__wrong_value__is_refused_at_its_input_and_kept(
    tenant: Tenant, owner: Browser, kind: str, config: dict[str, str], words: str
) -> None:
    answer = create(owner, tenant, kind, config, name="Kept name")
    assert answer.status == 400
    assert words in text_of(answer)
    assert 'aria-invalid="true"' in answer.text
    assert 'value="Kept name"' in answer.text
    assert all(html.escape(value) in answer.text for value in config.values())
    assert not ReceiverRow.objects.filter(organization=tenant.organization).exists()


def test_destination__form_sent_twice__makes_one(tenant: Tenant, owner: Browser) -> None:
    path = place(tenant, "destinations/new/slack")
    once = re.search(r'name="once" value="([^"]+)"', owner.get(path).text)
    assert once
    values = {"form_": "all", "name": "Team", "once": once[1], **inputs(SECRETS["slack"])}
    assert "created." in text_of(owner.follow(owner.post(path, form=path, **values)))
    assert "created already" in text_of(owner.follow(owner.post(path, form=path, **values)))
    assert only_destination(tenant)


@pytest.mark.parametrize("kind", first_on_both([*KINDS]))
def test_preview__last_submission__is_shown_as_text_and_nothing_is_sent(
    api: Client, tenant: Tenant, owner: Browser, kind: str
) -> None:
    form_id = tenant.form(name="Jobs", fields=[text_field("name")])
    path = place(tenant, f"destinations/new/{kind}")
    example = text_of(owner.get(f"{path}?form={form_id}"))
    assert "An example for Jobs, which has no submission yet." in example
    submit_and_get_id(api, tenant, form_id, {"name": HOSTILE})
    template = inputs({"template": '{"who": "{{ data.name }}"}'}) if kind == "http" else {}
    typed = inputs({"url": "https://example.invalid/topic-secretWXYZ"}) if kind in ("ntfy", "http") else {}
    answer = owner.post(path, form=path, form_=form_id, name="Kept name", do="preview", **typed, **template)
    assert answer.status == 200
    preview = answer.text.partition('id="preview"')[2].partition("<details")[0]
    shown = json.dumps(HOSTILE) if kind == "http" else HOSTILE
    assert shown in as_submitted(preview)
    assert "<script>alert" not in answer.text
    assert "aria-invalid" not in answer.text
    assert 'value="Kept name"' in answer.text
    assert all(value in answer.text for value in typed.values())
    assert "Nothing is sent by this preview." in text_of(preview)
    assert not Delivery.objects.filter(organization=tenant.organization).exists()
    piece = fetch_preview(owner, path, form_=form_id, **typed, **template)
    assert piece.text.lstrip().startswith("<section")
    assert shown in as_submitted(piece.text)


@pytest.mark.on_sqlite
def test_preview__of_a_sheet__says_with_whom_to_share_it(tenant: Tenant, owner: Browser) -> None:
    path = place(tenant, "destinations/new/google_sheets")
    answer = owner.post(path, form=path, do="preview", **inputs({"credentials": google_key()}))
    assert "Share the spreadsheet with robot@project.iam.gserviceaccount.com, as an editor." in text_of(answer)
    assert "PRIVATE KEY" in answer.text  # typed values are kept in the answer to this POST
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.search(r'scope="row"[^>]*>Submission ID</th>', answer.text)


@pytest.mark.on_sqlite
def test_preview__template_with_an_unknown_name__says_which_and_offers_those_of_the_form(
    tenant: Tenant, owner: Browser
) -> None:
    form_id = tenant.form(fields=[text_field("email")])
    path = place(tenant, "destinations/new/http")
    typed = inputs({"url": "https://a.invalid/", "template": '["{{ data.nmae }}"]'})
    answer = text_of(owner.post(path, form=path, form_=form_id, do="preview", **typed))
    assert "No preview yet. Correct this first: Template: The form has no field “nmae”." in answer
    assert "{{ data.email }}" in answer


def test_needs_attention__is_shown_everywhere_and_a_saved_config_releases(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    create(owner, tenant, "ntfy", {"url": receiver.url("/topic"), "token": "tk_old"}, form_=form_id)
    page = page_of(tenant)
    receiver.reply = Reply(403)
    pk = submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    reason = "The ntfy server refused the topic or the token. Check both."
    eventually(lambda: reason in text_of(owner.get(page)), because="it needs attention")
    seen = text_of(owner.get(page))
    assert "1 delivery is held and is sent when this is corrected." in seen
    assert f"Team ntfy Contact Needs attention {reason} 1 delivery is held" in text_of(
        owner.get(place(tenant, "destinations"))
    )
    overview = owner.get(place(tenant))
    assert f"The destination “Team” refuses us. {reason} 1 delivery is held. Correct it" in text_of(overview)
    assert f'href="{page}"' in overview.text
    assert "Destinations 1 1 needs attention" in text_of(overview)
    story = text_of(owner.get(place(tenant, f"submissions/{pk}")))
    assert f"ntfy: Team {reason} The delivery is sent when that is corrected." in story
    member = logged_in(api, member_of(tenant.organization, "member"))
    assert "refuses us" not in text_of(member.get(place(tenant)))
    assert "needs attention" not in text_of(member.get(place(tenant, "forms")))
    assert "Saving sends 1 held delivery." in text_of(owner.get(f"{page}/edit"))
    receiver.reply = Reply()
    saved = owner.send(f"{page}/edit", do="save", **inputs({"url": receiver.url("/topic"), "token": "tk_new"}))
    assert "The destination is active. 1 held delivery is being sent." in text_of(owner.follow(saved))
    sent = receiver.wait_for(2)
    assert [one.headers["authorization"] for one in sent] == ["Bearer tk_old", "Bearer tk_new"]
    eventually(lambda: "Delivered" in text_of(owner.get(page)), because="it is delivered")
    assert "needs attention" not in text_of(owner.get(place(tenant)))


def test_test__result__comes_into_the_log_with_the_new_status(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    create(owner, tenant, "ntfy", {"url": receiver.url("/topic")})
    page = page_of(tenant)
    receiver.replies.append(Reply(401))
    waiting = owner.follow(owner.post(f"{page}/test", form=page))
    assert "shows the result of the test." in text_of(waiting)
    assert f'hx-get="{page}"' in waiting.text

    def piece(word: str) -> str:
        seen = owner.get(page, HX_Request="true").text
        assert word in text_of(seen)
        return seen

    refused = eventually(lambda: piece("Failed"), because="the test failed")
    assert "<h1" not in refused
    assert 'id="destination-status" hx-swap-oob="true"' in refused
    assert "The ntfy server refused the topic or the token." in text_of(refused)
    owner.post(f"{page}/test", form=page)
    released = eventually(lambda: piece("Delivered"), because="the second test succeeds")
    assert "refused the topic" not in text_of(released)
    assert re.search(r'id="results"[^>]*hx-swap-oob="true"', released)
    assert "50 % Of the last 2 deliveries" in text_of(released)
    assert only_destination(tenant).status == "active"


def test_disable__says_what_stops_and_undo_restores_deliveries(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    create(owner, tenant, "ntfy", {"url": receiver.url("/topic")}, form_=form_id)
    page = page_of(tenant)
    receiver.reply = Reply(403)
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    eventually(lambda: "1 delivery is held" in text_of(owner.get(page)), because="it is held")
    off = owner.follow(owner.post(f"{page}/disable", form=page))
    said = "The destination is disabled. New submissions are not sent to it. 1 waiting delivery is canceled. Undo"
    assert said in text_of(off)
    token = re.search(r'name="undo" value="([^"]+)"', off.text)
    assert token
    back = owner.follow(owner.post(f"{page}/activate", form=page, undo=html.unescape(token[1])))
    assert "Undone. The destination and its deliveries are as before." in text_of(back)
    assert only_destination(tenant).status == "needs_attention"
    own = Delivery.objects.filter(receiver=only_destination(tenant))
    assert list(own.values_list("status", flat=True)) == ["held"]
    owner.post(f"{page}/disable", form=page)
    receiver.reply = Reply()
    active = owner.follow(owner.post(f"{page}/activate", form=page))
    assert "The destination is active. New submissions are sent to it." in text_of(active)
    delivery = own.get()
    assert delivery.status == "canceled"
    again = owner.post(place(tenant, f"deliveries/{delivery.public_id}/retry"), form=page, receiver="1")
    assert again.headers["Location"] == page
    receiver.wait_for(2)


def test_edit__name__is_changed_without_the_secrets(tenant: Tenant, owner: Browser) -> None:
    create(owner, tenant, "slack", SECRETS["slack"])
    before = only_destination(tenant).config
    answer = owner.send(f"{page_of(tenant)}/edit", do="name", name="Sales")
    assert "The name is saved." in text_of(owner.follow(answer))
    assert (only_destination(tenant).name, only_destination(tenant).config) == ("Sales", before)
    assert owner.send(f"{page_of(tenant)}/edit", do="name", name=" ").status == 400


def test_edit__mode__is_changed_without_the_secrets(tenant: Tenant, owner: Browser) -> None:
    create(owner, tenant, "ntfy", {"url": "https://ntfy.sh/team"}, mode="both")
    assert only_destination(tenant).mode == "both"
    edit = f"{page_of(tenant)}/edit"
    owner.post(edit, form=edit, do="mode", mode="test")
    assert only_destination(tenant).mode == "test"
    assert "Test submissions" in text_of(owner.get(page_of(tenant)))


def test_delete__asks_with_its_losses_and_deletes_the_log(tenant: Tenant, owner: Browser) -> None:
    create(owner, tenant, "slack", SECRETS["slack"])
    page = page_of(tenant)
    assert "Nothing was sent to it yet." in text_of(owner.get(f"{page}/delete"))
    assert owner.send(f"{page}/delete").headers["Location"] == place(tenant, "destinations")
    assert owner.get(page).status == 404


@pytest.mark.on_sqlite
def test_destination__hostile_name__is_shown_as_text_everywhere(tenant: Tenant, owner: Browser) -> None:
    name = '"><img src=x onerror=alert(1)>'
    create(owner, tenant, "slack", SECRETS["slack"], name=name)
    page = page_of(tenant)
    for path in (page, f"{page}/edit", f"{page}/delete", place(tenant, "destinations"), place(tenant, "find?q=img")):
        answer = owner.get(path)
        assert "<img src=x" not in answer.text
        assert name in html.unescape(answer.text)


def test_form__sent_with_an_old_login__keeps_no_secret_in_the_session(tenant: Tenant, owner: Browser) -> None:
    path = place(tenant, "destinations/new/slack")
    owner.get(path)
    make_stale(owner.cookies[settings.SESSION_COOKIE_NAME])
    answer = owner.post(path, form=path, form_="all", name="Team", **inputs(SECRETS["slack"]))
    assert answer.headers["Location"].startswith("/account/reauthenticate/")
    kept = str(dict(SessionStore(owner.cookies[settings.SESSION_COOKIE_NAME]).items()))
    assert "name=Team" in kept
    assert "secretWXYZ" not in kept


def test_destination__of_another_organization__is_not_found(api: Client, tenant: Tenant, owner: Browser) -> None:
    create(owner, tenant, "slack", SECRETS["slack"])
    other = make_tenant()
    stranger = logged_in(api, person_of(other))
    own = only_destination(tenant).public_id
    for path in ("", "/edit", "/delete"):
        assert stranger.get(place(other, f"destinations/{own}{path}")).status == 404
    for path in ("/edit", "/delete", "/test", "/disable", "/activate"):
        answer = stranger.post(place(other, f"destinations/{own}{path}"), form=place(other), do="name", name="Mine")
        assert answer.status == 404
    assert (only_destination(tenant).name, only_destination(tenant).status) == ("Team", "active")
