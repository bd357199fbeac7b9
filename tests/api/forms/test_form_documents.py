"""`/api/forms/by-key/{key}`: a form as a document, read, tried and put (docs/contract.md 4.15 to 4.17)."""

from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form, RecipientQuestion
from keys.models import RememberedAnswer
from keys.plans import Plan
from tests.api.forms.documents import DEFAULTS, SECRET, get, path, put, state_of, try_out
from tests.services.client import Answer, Client
from tests.support.answers.sending import FIELDS, REPLY
from tests.support.browser import person_of
from tests.support.replies import NOT_FOUND, UNAUTHORIZED, an_id, failure, success
from tests.support.tenants import make_tenant, text_field
from webhooks.models import Delivery

JSON = {"Content-Type": "application/json"}


def refusal(answer: Answer) -> tuple[int, list[tuple[str, str]]]:
    return answer.status, [(detail["field"], detail["code"]) for detail in answer.json().get("details", [])]


def test_put__new_key__creates_a_form_with_the_defaults(api: Client) -> None:
    tenant = make_tenant()

    answer = put(api, tenant, {"name": "Orders"})
    read = get(api, tenant)

    assert answer.status == 201
    record = answer.json()["data"]
    assert (record["id"], answer.headers["Location"]) == (an_id("frm"), f"/api/forms/{record['id']}")
    assert api.get(answer.headers["Location"], tenant.key).json()["data"] == record
    assert (read.status, read.json()) == (200, success(DEFAULTS, "Found."))
    assert {name: record[name] for name in DEFAULTS} == DEFAULTS
    assert answer.headers["ETag"] == read.headers["ETag"]


def test_put__what_was_read__changes_nothing(api: Client) -> None:
    tenant = make_tenant()
    owner = person_of(tenant).email
    spam = {"captcha": "turnstile", "siteKey": "site", "secret": SECRET}
    whole = {"name": "Orders", "fields": FIELDS, "spam": spam, "reply": REPLY, "recipients": [{"email": owner}]}
    made = put(api, tenant, {**whole, "replyTo": owner, "status": "published"})
    assert made.status == 201, made.text
    read, before = get(api, tenant), state_of(tenant)

    tried = try_out(api, tenant, read.json()["data"])
    again = put(api, tenant, read.json()["data"], If_Match=read.headers["ETag"])

    assert tried.json()["data"] == {"changes": [], "document": read.json()["data"]}
    assert (again.status, again.json()["data"]) == (200, made.json()["data"])
    assert (again.headers["ETag"], state_of(tenant)) == (read.headers["ETag"], before)


def test_put__members_left_out__get_their_defaults_but_some_stay(api: Client) -> None:
    tenant = make_tenant()
    owner, address = person_of(tenant).email, f"orders-{make_tenant().organization.pk.hex[:12]}"
    spam = {"captcha": "turnstile", "siteKey": "site", "secret": SECRET, "maxLinks": 3}
    full = {
        "name": "Orders",
        "status": "published",
        "fields": [text_field("size")],
        "description": "Order here.",
        "language": "de",
        "spam": spam,
        "recipients": [{"email": owner}],
        "replyTo": owner,
        "accent": "#2563eb",
    }
    put(api, tenant, {**full, "address": address})

    kept = put(api, tenant, {"name": "Other", "spam": {"captcha": "turnstile", "siteKey": "site"}}).json()["data"]
    bare = put(api, tenant, {"name": "Other"})

    stays = {"status": "published", "address": address, "recipients": kept["recipients"], "replyTo": owner}
    assert kept["recipients"] == [{"email": owner, "status": "active"}]
    with_secret = {**DEFAULTS["spam"], "captcha": "turnstile", "siteKey": "site", "secret": {"hint": "…-ada"}}
    assert {name: kept[name] for name in DEFAULTS} == {**DEFAULTS, "name": "Other", **stays, "spam": with_secret}
    assert {name: bare.json()["data"][name] for name in DEFAULTS} == {**DEFAULTS, "name": "Other", **stays}


def test_put__fields_changed__dry_run_says_so_and_changes_nothing(api: Client) -> None:
    tenant = make_tenant()
    fields = [text_field("phone"), text_field("city"), text_field("note")]
    spam = {"captcha": "turnstile", "siteKey": "site", "secret": SECRET}
    put(api, tenant, {"name": "Orders", "fields": fields, "spam": spam})
    before, etag = state_of(tenant), get(api, tenant).headers["ETag"]
    changed = [text_field("note"), {**text_field("phone"), "label": "Tel", "placeholder": "+44"}, text_field("zip")]
    reply = {"enabled": False, "subject": "Hi", "text": "Soon."}
    other = {"captcha": "turnstile", "siteKey": "site", "secret": "another-secret"}
    document = {
        "name": "Order",
        "fields": changed,
        "spam": other,
        "allowedOrigins": ["https://a.example"],
        "reply": reply,
    }

    answer = try_out(api, tenant, document, If_Match=etag)

    assert answer.status == 200, answer.text
    city, zip_code = ({**text_field(name), "required": False} for name in ("city", "zip"))
    assert answer.json()["data"]["changes"] == [
        {"path": "name", "from": "Orders", "to": "Order"},
        {"path": "fields.phone.label", "from": "Phone", "to": "Tel"},
        {"path": "fields.phone.placeholder", "from": None, "to": "+44"},
        {"path": "fields.city", "from": city, "to": None},
        {"path": "fields.zip", "from": None, "to": zip_code},
        {"path": "fields", "from": ["phone", "city", "note"], "to": ["note", "phone", "zip"]},
        {"path": "allowedOrigins", "from": [], "to": ["https://a.example"]},
        {"path": "spam.secret", "from": {"hint": "…-ada"}, "to": {"hint": "…cret"}},
        {"path": "reply", "from": None, "to": reply},
    ]
    assert (state_of(tenant), get(api, tenant).headers["ETag"]) == (before, etag)
    done = put(api, tenant, document)
    assert done.status == 200
    assert get(api, tenant).json()["data"] == answer.json()["data"]["document"]


def test_dry_run__of_a_new_form__is_one_change_and_makes_none(api: Client) -> None:
    tenant = make_tenant()
    before = state_of(tenant)

    answer = try_out(api, tenant, {"name": "Orders"}, by=tenant.issue("forms:read"))

    document = {name: value for name, value in DEFAULTS.items() if name not in ("recipients", "replyTo")}
    assert (answer.status, answer.json()["data"]) == (
        200,
        {"changes": [{"path": "", "from": None, "to": document}], "document": document},
    )
    assert "Location" not in answer.headers
    assert state_of(tenant)[0] == before[0]


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(
    ("headers", "exists", "status"),
    [
        ({"If-Match": "*"}, True, 200),
        ({"If-Match": "*"}, False, 412),
        ({"If-Match": "{etag}"}, True, 200),
        ({"If-Match": "W/{etag}"}, True, 200),
        ({"If-Match": '"other", {etag}'}, True, 200),
        ({"If-Match": '"other"'}, True, 412),
        ({"If-Match": "other"}, True, 412),
        ({"If-Match": ""}, True, 412),
        ({"If-Match": '"other"'}, False, 412),
        ({"If-None-Match": "*"}, True, 412),
        ({"If-None-Match": "*"}, False, 201),
        ({"If-None-Match": "{etag}"}, True, 412),
        ({"If-None-Match": '"other"'}, True, 200),
        ({"If-Match": "{etag}", "If-None-Match": "*"}, True, 412),
        ({"If-Match": "*", "If-None-Match": "*"}, False, 412),
    ],
    ids=repr,
)
def test_preconditions__of_a_put__are_checked(
    headers: dict[str, str], exists: bool, status: int, dry: bool, api: Client
) -> None:
    tenant, etag = make_tenant(), ""
    if exists:
        etag = put(api, tenant, {"name": "Orders"}).headers["ETag"]
    sent = {name: value.replace("{etag}", etag) for name, value in headers.items()}
    before = state_of(tenant)

    answer = api.request("PUT", path("orders", dry=dry), tenant.key, json={"name": "Other"}, headers=sent)

    assert answer.status == (200 if dry and status == 201 else status), answer.text
    if status == 412:
        assert answer.json() == failure("precondition_failed")
    if dry or status == 412:
        assert state_of(tenant) == before


def test_etag__of_the_document__is_the_same_for_every_key_and_304(api: Client) -> None:
    tenant = make_tenant()
    owner = person_of(tenant).email
    put(api, tenant, {"name": "Orders"})
    reader = tenant.issue("forms:read")
    first = get(api, tenant)

    put(api, tenant, {"name": "Orders", "recipients": [{"email": owner}]})
    whole, part = get(api, tenant), get(api, tenant, by=reader)

    assert {"recipients", "replyTo"} <= whole.json()["data"].keys()
    assert whole.json()["data"].keys() - part.json()["data"].keys() == {"recipients", "replyTo"}
    assert whole.headers["ETag"] == part.headers["ETag"] != first.headers["ETag"]
    for known in (whole.headers["ETag"], f"W/{whole.headers['ETag']}"):
        answer = get(api, tenant, by=reader, If_None_Match=known)
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", whole.headers["ETag"])


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("document", "details"),
    [
        ({}, [("name", "required")]),
        ({"name": 5}, [("name", "invalid")]),
        ({"name": "Orders", "colour": "red"}, [("colour", "unknown_field")]),
        ({"name": "Orders", "id": "frm_01ja0000000000000000000000"}, [("id", "unknown_field")]),
        ({"name": "Orders", "logo": None}, [("logo", "unknown_field")]),
        ({"name": "Orders", "url": "https://a.example"}, [("url", "unknown_field")]),
        ({"name": "Orders", "key": "other"}, [("key", "invalid")]),
        ({"name": "Orders", "status": "archived"}, [("status", "invalid_choice")]),
        ({"name": "Orders", "spam": {"secret": "s" * 10_000}}, [("spam.secret", "max_length")]),
        ({"name": "Orders", "spam": {"secret": {"hint": "…-ada"}}}, [("spam.secret", "required")]),
        ({"name": "Orders", "spam": {"captcha": "turnstile", "siteKey": "x"}}, [("spam.secret", "required")]),
        ({"name": "Orders", "confirmation": True}, [("confirmation", "email_field_required")]),
        ({"name": "Orders", "replyTo": "a@b.example"}, [("replyTo", "invalid_choice")]),
        ({"name": "Orders", "address": "report"}, [("address", "reserved")]),
    ],
    ids=repr,
)
def test_put__wrong_document__is_refused_and_makes_nothing(
    document: Any, details: list[tuple[str, str]], api: Client
) -> None:
    tenant = make_tenant()
    before = state_of(tenant)

    for answer in (put(api, tenant, document), try_out(api, tenant, document)):
        assert refusal(answer) == (400, details), answer.text
    assert state_of(tenant) == before


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"[]", 400, "invalid_json"),
        (b'{"name": ' + b"[" * 40 + b"]" * 40 + b"}", 400, "invalid_json"),
        (b'{"name": "' + b"n" * 262_144 + b'"}', 413, "payload_too_large"),
        (b'{"name": "' + b"n" * 10_485_760 + b'"}', 413, "payload_too_large"),
    ],
    ids=["a list", "40 levels", "over 256 KiB", "10 MB"],
)
def test_put__body_out_of_bounds__is_refused(body: bytes, status: int, error: str, api: Client) -> None:
    answer = api.request("PUT", path("orders"), make_tenant().key, data=body, headers=JSON)

    assert (answer.status, answer.json()["error"]) == (status, error)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("key", ["Orders", "frm_01ja0000000000000000000000", "k" * 65, "a%20b", "%C3%A9"])
def test_key__of_another_alphabet__is_invalid(key: str, api: Client) -> None:
    tenant = make_tenant()

    for answer in (get(api, tenant, key), put(api, tenant, {"name": "Orders"}, key=key)):
        assert refusal(answer) == (400, [("key", "invalid")])


@pytest.mark.on_sqlite
@pytest.mark.parametrize("key", ["publish", "logo", "by-key", "-", "0"])
def test_key__that_is_a_word_of_our_paths__is_a_key(key: str, api: Client) -> None:
    tenant = make_tenant()

    made = put(api, tenant, {"name": "Orders"}, key=key)

    assert (made.status, get(api, tenant, key).json()["data"]["key"]) == (201, key)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("query", ["?dryRun=1", "?dryRun=", "?dry=true"])
def test_query__that_is_misspelt__changes_nothing(query: str, api: Client) -> None:
    tenant = make_tenant()
    before = state_of(tenant)

    tried = api.request("PUT", path("orders") + query, tenant.key, json={"name": "Orders"})
    for answer in (tried, api.get(path("orders") + query, tenant.key)):
        assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert state_of(tenant) == before


def test_key__of_another_organization_or_an_archived_form__is_of_no_form_here(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    theirs = put(api, other, {"name": "Theirs"}).json()["data"]
    assert (get(api, tenant).status, get(api, tenant).json()) == (404, NOT_FOUND)

    own = put(api, tenant, {"name": "Ours"}).json()["data"]
    api.delete(f"/api/forms/{own['id']}", tenant.key)
    assert (get(api, tenant).status, get(api, tenant).json()) == (404, NOT_FOUND)
    next_one = put(api, tenant, {"name": "Next"})

    assert (next_one.status, next_one.json()["data"]["id"] != own["id"]) == (201, True)
    assert get(api, other).json()["data"]["name"] == "Theirs"
    assert theirs["id"] not in (own["id"], next_one.json()["data"]["id"])


def test_put__with_a_stranger__asks_once_and_is_429_over_the_cap(api: Client) -> None:
    tenant = make_tenant()
    strangers = [{"email": f"{name}-{tenant.owner.pk}@example.com"} for name in ("ada", "bob")]
    put(api, tenant, {"name": "Orders"})
    asked = Delivery.objects.filter(organization=tenant.organization, event="recipient.asked")

    tried = try_out(api, tenant, {"name": "Orders", "recipients": strangers[:1]})
    assert (tried.status, asked.count()) == (200, 0)
    for _ in range(2):
        record = put(api, tenant, {"name": "Orders", "recipients": strangers[:1]}).json()["data"]
        assert record["recipients"] == [{**strangers[0], "status": "pending"}]
    assert asked.count() == 1

    RecipientQuestion.objects.bulk_create(
        [RecipientQuestion(organization_ref=tenant.organization.pk, mailbox=f"m{n}") for n in range(49)]
    )
    before = state_of(tenant)
    for answer in (
        put(api, tenant, {"name": "Other", "recipients": strangers}),
        try_out(api, tenant, {"name": "Other", "recipients": strangers}),
    ):
        assert (answer.status, answer.json()["error"]) == (429, "rate_limited")
        assert 86_000 < int(answer.headers["Retry-After"]) <= 86_400
    assert (state_of(tenant), asked.count()) == (before, 1)


def test_put__by_a_key_without_webhooks_write__may_not_touch_recipients(api: Client) -> None:
    tenant = make_tenant()
    owner, writer = person_of(tenant).email, tenant.issue("forms:read", "forms:write")
    mails = {"recipients": [{"email": owner}], "replyTo": owner}
    put(api, tenant, {"name": "Orders", **mails})

    left_out = put(api, tenant, {"name": "Other"}, by=writer)
    unchanged = put(api, tenant, {"name": "Other", **mails}, by=writer)
    refused = [
        put(api, tenant, {"name": "Other", "recipients": []}, by=writer, If_Match='"old"'),
        try_out(api, tenant, {"name": "Other", "replyTo": None}, by=writer),
        put(api, tenant, {"name": "New", **mails}, key="new", by=writer),
    ]

    assert (left_out.status, unchanged.status) == (200, 200)
    assert "recipients" not in left_out.json()["data"]
    for answer in refused:  # before the precondition
        assert (answer.status, answer.json()) == (403, UNAUTHORIZED)
        assert answer.headers["X-Required-Permission"] == "webhooks:write"
    assert get(api, tenant).json()["data"]["replyTo"] == owner


def test_put__with_a_reading_key__can_only_be_tried(api: Client) -> None:
    tenant = make_tenant()
    reader = tenant.issue("forms:read")

    refused = put(api, tenant, {"name": "Orders"}, by=reader)

    assert (refused.status, refused.headers["X-Required-Permission"]) == (403, "forms:write")
    assert try_out(api, tenant, {"name": "Orders"}, by=reader).status == 200


def test_put__on_free__may_not_leave_out_the_service(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)

    refused = put(api, tenant, {"name": "Orders", "poweredBy": False}, If_Match='"old"')

    assert (refused.status, refused.json()) == (403, failure("plan_required"))


def test_put__of_the_default_form__keeps_its_rules(api: Client) -> None:
    tenant = make_tenant()

    required = put(api, tenant, {"name": "Inbox", "fields": [text_field("a", required=True)]}, key="inbox")
    draft = put(api, tenant, {"name": "Inbox", "status": "draft"}, key="inbox")
    stale = put(api, tenant, {"name": "Inbox", "status": "draft"}, key="inbox", If_Match='"old"')

    assert refusal(required) == (400, [("fields", "required_on_default_form")])
    assert (draft.status, draft.json()["error"]) == (409, "conflict")
    assert stale.status == 412  # before the state


def test_put__more_forms_than_the_plan_has__is_a_conflict_in_a_dry_run_too(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    most = tenant.organization.terms.forms
    inbox = Form.objects.get(pk=decode_id(Prefix.FORM, tenant.default_form_id))
    others = Form.objects.filter(organization=tenant.organization).count()
    Form.objects.bulk_create(
        Form(organization=inbox.organization, name="F", key=f"f-{number}") for number in range(most - others)
    )

    answers = [put(api, tenant, {"name": "Orders"}), try_out(api, tenant, {"name": "Orders"})]

    assert [(answer.status, answer.json()["error"]) for answer in answers] == [(409, "conflict")] * 2


def test_idempotency_key__of_a_put__is_ignored(api: Client) -> None:
    tenant = make_tenant()

    answers = [put(api, tenant, {"name": name}, Idempotency_Key="once") for name in ("Ada", "Bob")]

    assert [answer.status for answer in answers] == [201, 200]
    assert get(api, tenant).json()["data"]["name"] == "Bob"
    assert not RememberedAnswer.objects.filter(organization=tenant.organization).exists()
