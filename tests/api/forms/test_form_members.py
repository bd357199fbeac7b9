"""Everything that a form is, in its record and by PATCH: members, recipients, secrets (docs/contract.md 4)."""

from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.document.bodies import FormChanges
from forms_app.document.records import NOT_IN_DOCUMENT, FormRecord
from forms_app.models import Form, Recipient, RecipientQuestion
from forms_app.spam_protection import SpamProtection
from keys.models import AuditEvent
from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.browser import person_of
from tests.support.replies import UNAUTHORIZED, failure
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery

SECRET = "0x4AAA-the-secret-of-ada"
CAPTCHA = {"captcha": "turnstile", "siteKey": "site", "secret": SECRET}
VALUES: dict[str, Any] = {
    "key": "orders",
    "name": "Orders",
    "address": None,
    "fields": [{"name": "size", "label": "Size", "type": "Text", "required": False}],
    "allowedOrigins": ["https://shop.example.com"],
    "redirectUrl": "https://shop.example.com/thanks",
    "successMessage": "Thank you!",
    "description": "What do you need?\nWe answer soon.",
    "buttonLabel": "Order now",
    "returnUrl": "https://shop.example.com/",
    "language": "de",
    "retentionDays": 90,
    "spam": {
        "minSeconds": 5,
        "maxLinks": 0,
        "blockedWords": ["casino", "cheap pills"],
        "proofOfWork": True,
        "captcha": None,
        "siteKey": "",
        "secret": None,
    },
    "reply": {"enabled": False, "subject": "Thanks", "text": "We answer soon."},
    "confirmation": False,
    "recipients": [],
    "senderName": "Orders of Ada",
    "replyTo": None,
    "accent": "#2563eb",
    "poweredBy": False,
}


def change(api: Client, tenant: Tenant, form_id: str, *, by: str = "", **values: Any) -> Answer:
    return api.patch(f"/api/forms/{form_id}", by or tenant.key, json=values)


def read(api: Client, tenant: Tenant, form_id: str, *, by: str = "") -> dict[str, Any]:
    record: dict[str, Any] = api.get(f"/api/forms/{form_id}", by or tenant.key).json()["data"]
    return record


def refusal(answer: Answer) -> tuple[int, list[tuple[str, str]]]:
    return answer.status, [(detail["field"], detail["code"]) for detail in answer.json().get("details", [])]


def stored(form_id: str) -> Form:
    return Form.objects.get(pk=decode_id(Prefix.FORM, form_id))


def events(tenant: Tenant) -> list[tuple[str, Any]]:
    found = AuditEvent.objects.filter(organization_ref=tenant.organization.pk).order_by("pk")
    return list(found.values_list("action", "changes"))


def test_members__of_bodies_and_record__are_the_same() -> None:
    """All that can be set is read back; all that is read can be set, or is decided by the service."""
    assert FormRecord().fields.keys() - NOT_IN_DOCUMENT == FormChanges().fields.keys() | {"status"}
    assert VALUES.keys() == FormChanges().fields.keys()


def test_patch__every_member__is_in_the_record_and_read_back(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = change(api, tenant, form_id, **VALUES)

    assert answer.status == 200, answer.text
    record = answer.json()["data"]
    assert {name: record[name] for name in VALUES} == VALUES
    assert read(api, tenant, form_id) == record


@pytest.mark.parametrize("name", first_on_both(list(VALUES)))
def test_patch__one_member__changes_it_alone_and_again_nothing(name: str, api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    before = read(api, tenant, form_id)
    recorded = len(events(tenant))

    once = change(api, tenant, form_id, **{name: VALUES[name]}).json()["data"]
    after = len(events(tenant))
    again = change(api, tenant, form_id, **{name: VALUES[name]}).json()["data"]

    is_change = before[name] != VALUES[name]
    assert once == {**before, name: VALUES[name], "updatedAt": once["updatedAt"]}
    assert (once["updatedAt"] != before["updatedAt"]) is is_change
    assert after - recorded == is_change
    assert (again, len(events(tenant))) == (once, after)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("values", "details"),
    [
        ({"key": "Contact us"}, [("key", "invalid")]),
        ({"key": ""}, [("key", "blank")]),
        ({"key": "k" * 65}, [("key", "max_length")]),
        ({"key": None}, [("key", "null")]),
        ({"key": "frm_01ja0000000000000000000000"}, [("key", "invalid")]),
        ({"address": "ab"}, [("address", "invalid")]),
        ({"address": "brand"}, [("address", "reserved")]),
        ({"description": "d" * 1001}, [("description", "max_length")]),
        ({"buttonLabel": "b" * 61}, [("buttonLabel", "max_length")]),
        ({"returnUrl": "javascript:alert(1)"}, [("returnUrl", "invalid_url")]),
        ({"language": "fr"}, [("language", "invalid_choice")]),
        ({"spam": None}, [("spam", "null")]),
        ({"spam": {"minSeconds": "2"}}, [("spam.minSeconds", "invalid")]),
        ({"spam": {"minSeconds": 61}}, [("spam.minSeconds", "max_value")]),
        ({"spam": {"maxLinks": -1}}, [("spam.maxLinks", "min_value")]),
        ({"spam": {"blockedWords": ["w" * 101]}}, [("spam.blockedWords.0", "max_length")]),
        ({"spam": {"blockedWords": ["w"] * 201}}, [("spam.blockedWords", "max_length")]),
        ({"spam": {"captcha": "recaptcha"}}, [("spam.captcha", "invalid_choice")]),
        ({"spam": {"captcha": "turnstile"}}, [("spam.secret", "required")]),
        ({"spam": {"captcha": "turnstile", "secret": SECRET}}, [("spam.secret", "required")]),
        ({"spam": {"secret": "s" * 10_000}}, [("spam.secret", "max_length")]),
        ({"spam": {"secret": 5}}, [("spam.secret", "invalid")]),
        ({"spam": {"secret": {"hint": "…-ada", "secret": "x"}}}, [("spam.secret", "invalid")]),
        ({"spam": {"secret": {"hint": "…-ada"}}}, [("spam.secret", "required")]),
        ({"spam": {"words": []}}, [("spam.words", "unknown_field")]),
        ({"recipients": ["ada@example.com"]}, [("recipients.0", "invalid")]),
        ({"recipients": [{"email": "ada"}]}, [("recipients.0.email", "invalid_email")]),
        ({"recipients": [{"email": f"a{n}@example.com"} for n in range(21)]}, [("recipients", "max_length")]),
        ({"recipients": [{"status": "active"}]}, [("recipients.0.email", "required")]),
        ({"replyTo": "nobody@example.com"}, [("replyTo", "invalid_choice")]),
        ({"senderName": "s" * 61}, [("senderName", "max_length")]),
        ({"senderName": "Ada\nBcc: x"}, [("senderName", "invalid")]),
        ({"senderName": "Ada <a@b>"}, [("senderName", "invalid")]),
        ({"senderName": "shop.example.com"}, [("senderName", "link_not_allowed")]),
        ({"accent": "green"}, [("accent", "invalid")]),
        ({"accent": "#fff"}, [("accent", "invalid")]),
        ({"accent": "#ffffff"}, [("accent", "invalid")]),
        ({"poweredBy": "no"}, [("poweredBy", "invalid")]),
        ({"logo": None}, [("logo", "unknown_field")]),
        ({"status": "published"}, [("status", "unknown_field")]),
        ({"id": "frm_01ja0000000000000000000000"}, [("id", "unknown_field")]),
    ],
    ids=repr,
)
def test_patch__wrong_value__is_refused_at_its_member(
    values: dict[str, Any], details: list[tuple[str, str]], api: Client
) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    before = read(api, tenant, form_id)

    answer = change(api, tenant, form_id, **values)

    assert refusal(answer) == (400, details), answer.text
    assert read(api, tenant, form_id) == before


def test_patch__unset_texts_by_null__are_empty(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    names = ("redirectUrl", "successMessage", "description", "buttonLabel", "returnUrl", "senderName")
    change(api, tenant, form_id, **{name: VALUES[name] for name in (*names, "accent")})

    unset: dict[str, Any] = dict.fromkeys((*names, "accent", "address", "replyTo"))
    record = change(api, tenant, form_id, **unset).json()["data"]

    assert {record[name] for name in names} == {""}
    assert (record["accent"], record["address"], record["replyTo"]) == (None, None, None)


def test_key__of_another_form__is_a_conflict_until_that_is_archived(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    first, second = tenant.form(name="Contact"), tenant.form(name="Contact")
    other.form(name="Orders")
    assert [read(api, tenant, one)["key"] for one in (first, second)] == ["contact", "contact-2"]

    refused = api.patch(f"/api/forms/{second}", tenant.key, json={"key": "contact"})
    api.delete(f"/api/forms/{first}", tenant.key)
    taken = api.patch(f"/api/forms/{second}", tenant.key, json={"key": "contact"})

    assert (refused.status, refused.json()["error"]) == (409, "conflict")
    assert (taken.status, taken.json()["data"]["key"]) == (200, "contact")


def test_spam__members_that_are_left_out__stay(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    change(api, tenant, form_id, spam={"maxLinks": 3, **CAPTCHA})

    record = change(api, tenant, form_id, spam={"minSeconds": 0}).json()["data"]

    assert record["spam"] == {
        "minSeconds": None,
        "maxLinks": 3,
        "blockedWords": [],
        "proofOfWork": False,
        "captcha": "turnstile",
        "siteKey": "site",
        "secret": {"hint": "…-ada"},
    }
    assert SpamProtection.of(stored(form_id).spam_protection).captcha_secret == SECRET


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        ({}, SECRET),
        ({"secret": {"hint": "…-ada"}}, SECRET),
        ({"secret": "another-secret-ada"}, "another-secret-ada"),
        ({"captcha": None}, ""),
        ({"captcha": None, "secret": {"hint": "…-ada"}}, ""),
        ({"captcha": None, "secret": None}, ""),
        ({"captcha": "hcaptcha", "secret": "another-secret"}, "another-secret"),
    ],
    ids=repr,
)
def test_secret__sent_again__is_kept_replaced_or_removed(sent: dict[str, Any], left: str, api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    change(api, tenant, form_id, spam=CAPTCHA)

    answer = change(api, tenant, form_id, spam=sent)

    assert answer.status == 200, answer.text
    assert SpamProtection.of(stored(form_id).spam_protection).captcha_secret == left
    assert SECRET not in answer.text
    assert left not in str(events(tenant)) or not left


@pytest.mark.parametrize(
    "sent",
    [
        {"secret": {"hint": "…-bob"}},
        {"secret": {"hint": "…"}},
        {"secret": None},
        {"captcha": "hcaptcha"},
        {"captcha": "hcaptcha", "secret": {"hint": "…-ada"}},
        {"siteKey": ""},
    ],
    ids=repr,
)
@pytest.mark.on_sqlite
def test_secret__missing_or_with_the_hint_of_another__is_required(sent: dict[str, Any], api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    change(api, tenant, form_id, spam=CAPTCHA)

    assert refusal(change(api, tenant, form_id, spam=sent)) == (400, [("spam.secret", "required")])
    assert SpamProtection.of(stored(form_id).spam_protection).captcha_secret == SECRET


def test_secret__another_with_the_same_end__is_a_change(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    first = change(api, tenant, form_id, spam=CAPTCHA).json()["data"]

    second = change(api, tenant, form_id, spam={"secret": "an-other-secret-of-ada"}).json()["data"]

    assert (first["spam"], second["updatedAt"] > first["updatedAt"]) == (second["spam"], True)
    assert events(tenant)[-1] == (
        "form.spam_protection_changed",
        {"spam.secret": ["(secret)", "(another secret)"]},
    )


def test_recipients__members_and_strangers__are_active_and_asked(api: Client) -> None:
    tenant = make_tenant()
    form_id, stranger = tenant.form(), f"{tenant.owner.pk}-x@example.com"
    owner = person_of(tenant).email

    record = change(api, tenant, form_id, recipients=[{"email": owner}, {"email": stranger, "status": "active"}])

    assert record.status == 200, record.text
    statuses = {one["email"]: one["status"] for one in record.json()["data"]["recipients"]}
    assert statuses == {owner: "active", stranger: "pending"}
    assert Delivery.objects.filter(organization=tenant.organization, event="recipient.asked").count() == 1
    Recipient.objects.filter(email=stranger).update(stopped_at=now())
    for listed in ([stranger], [], [stranger]):  # also when it was removed in between
        again = change(api, tenant, form_id, recipients=[{"email": one} for one in listed]).json()["data"]
        assert again["recipients"] == [{"email": one, "status": "stopped"} for one in listed]
    assert Delivery.objects.filter(organization=tenant.organization, event="recipient.asked").count() == 1


def test_recipients__the_same_in_another_order_or_twice__are_no_change(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    listed = [{"email": f"{name}-{tenant.owner.pk}@example.com"} for name in ("ada", "bob")]
    first = change(api, tenant, form_id, recipients=listed).json()["data"]

    upper = [{"email": f"Ada-{tenant.owner.pk}@EXAMPLE.com"}]
    second = change(api, tenant, form_id, recipients=[*reversed(listed), *upper]).json()["data"]

    assert second == first


def test_recipients__over_the_cap_of_questions__are_429_and_nothing_changes(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    RecipientQuestion.objects.bulk_create(
        [RecipientQuestion(organization_ref=tenant.organization.pk, mailbox=f"m{n}") for n in range(50)]
    )
    before, recorded = read(api, tenant, form_id), len(events(tenant))

    answer = change(api, tenant, form_id, name="Other", recipients=[{"email": "new@example.com"}])

    assert (answer.status, answer.json()["error"]) == (429, "rate_limited")
    assert 86_000 < int(answer.headers["Retry-After"]) <= 86_400
    assert (read(api, tenant, form_id), len(events(tenant))) == (before, recorded)
    assert change(api, tenant, form_id, recipients=[{"email": person_of(tenant).email}]).status == 200


def test_reply_to__of_a_recipient_that_is_removed__becomes_null(api: Client) -> None:
    tenant = make_tenant()
    form_id, owner = tenant.form(), person_of(tenant).email

    chosen = change(api, tenant, form_id, recipients=[{"email": owner}], replyTo=owner.upper()).json()["data"]
    removed = change(api, tenant, form_id, recipients=[]).json()["data"]

    assert (chosen["replyTo"], removed["replyTo"]) == (owner, None)
    assert [action for action, _ in events(tenant)][-2:] == ["form.recipients_changed"] * 2


def test_recipients__for_a_key_without_webhooks_write__are_hidden_and_cannot_be_changed(api: Client) -> None:
    tenant = make_tenant()
    form_id, key = tenant.form(), tenant.issue("forms:read", "forms:write")
    owner = person_of(tenant).email
    change(api, tenant, form_id, recipients=[{"email": owner}], replyTo=owner)

    shown = [
        read(api, tenant, form_id, by=key),
        change(api, tenant, form_id, by=key, name="Other").json()["data"],
        *api.get("/api/forms", key).json()["data"],
        api.post(f"/api/forms/{form_id}/publish", key).json()["data"],
        api.post("/api/forms", key, json={"name": "New", "recipients": []}).json()["data"],
    ]

    assert [one for one in shown if {"recipients", "replyTo"} & one.keys()] == []
    assert [one["email"] for one in read(api, tenant, form_id)["recipients"]] == [owner]
    unchanged = change(api, tenant, form_id, by=key, recipients=[{"email": owner}], replyTo=owner)
    assert unchanged.status == 200
    changes: list[dict[str, Any]] = [{"recipients": []}, {"replyTo": None}, {"recipients": [{"email": "a@b.example"}]}]
    for values in changes:
        refused = change(api, tenant, form_id, by=key, **values)
        assert (refused.status, refused.json()) == (403, UNAUTHORIZED)
        assert refused.headers["X-Required-Permission"] == "webhooks:write"
    made = api.post("/api/forms", key, json={"name": "New", "recipients": [{"email": owner}]})
    assert (made.status, made.headers["X-Required-Permission"]) == (403, "webhooks:write")


def test_recipients__in_an_answer_that_is_repeated__are_hidden_too(api: Client) -> None:
    tenant = make_tenant()
    key, headers = tenant.issue("forms:write"), {"Idempotency-Key": "once"}
    form_id = tenant.form(published=False, notification_recipients=[tenant.owner.email])

    first = api.post(f"/api/forms/{form_id}/publish", tenant.key, headers=headers).json()["data"]
    again = api.post(f"/api/forms/{form_id}/publish", key, headers=headers)

    assert (again.headers["Idempotent-Replayed"], first["recipients"] != []) == ("true", True)
    assert again.json()["data"] == {name: first[name] for name in first if name not in ("recipients", "replyTo")}


def test_powered_by__off_on_free__needs_another_plan_and_stays_where_it_was(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id, kept = tenant.form(), tenant.form(powered_by=False)

    refused = change(api, tenant, form_id, poweredBy=False)
    stays = change(api, tenant, kept, poweredBy=False, name="Kept")

    assert (refused.status, refused.json()) == (403, failure("plan_required"))
    assert (stays.status, stays.json()["data"]["poweredBy"]) == (200, False)


def test_list__of_forms_with_recipients__shows_them(api: Client) -> None:
    tenant = make_tenant()
    for number in range(3):
        tenant.form(notification_recipients=[f"r{number}-{tenant.owner.pk}@example.com"])

    listed = api.get("/api/forms", tenant.key).json()["data"]

    assert [[one["status"] for one in form["recipients"]] for form in listed] == [["active"]] * 3 + [[]]
