"""`POST /f/{formId}`: plain HTML forms, without a key (docs/contract.md 6.9)."""

import itertools
import re
from typing import Any

import pytest

from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.support.hosted_posts import BOUNDARY, FIELDS, GOOD, SHOP, URLENCODED, multipart, post
from tests.support.rate_windows import CHEAP, counted_tenant
from tests.support.replies import SECONDS, unknown_id
from tests.support.submitting import records, stored_data
from tests.support.tables.databases import first_on_both
from tests.support.tenants import UNHURRIED, make_tenant

# Headers, codes, ids and limits: nothing that a visitor could act on (docs/contract.md 6.9).
DEVELOPERS_WORDS = re.compile(r"Content-Type|x-access-key|Idempotency|formId|_altcha|256 KiB|65,536|200 fields|_error")
STAMPED = re.compile(r'action="(\?stamp=[^"]+)"')


def action_of(answer: Answer) -> str:
    """Return the query that our page posts to."""
    found = STAMPED.search(answer.text)
    assert found
    return found[1]


def test_urlencoded_post__is_stored_and_thanked_for(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)

    answer = post(api, form_id, {**GOOD, "topic": ["a", "b"]}, query="?utm_source=x", **SHOP)

    assert (answer.status, answer.headers["Location"]) == (303, f"http://127.0.0.1:{api.port}/f/{form_id}/thanks")
    [record] = records(api, tenant, form_id)
    assert (record["data"], record["spam"]) == ({**GOOD, "topic": "a, b"}, False)
    assert (record["meta"]["origin"], record["meta"]["referer"]) == (SHOP["Origin"], SHOP["Referer"])


def test_multipart_post__with_an_empty_file_input__is_stored(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)
    body, headers = multipart(GOOD | {"text": "Grüße\r\n🎉"}, {"cv": ("", "")})

    assert api.post(f"/f/{form_id}", data=body, headers=headers).status == 303
    assert stored_data(api, tenant, form_id) == [{**GOOD, "text": "Grüße\r\n🎉"}]


def test_chosen_file__is_refused_by_name__and_the_text_is_kept(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    body, headers = multipart({"note": "keep me"}, {"cv": ("cv.pdf", "%PDF")})

    answer = api.post(f"/f/{form_id}", data=body, headers=headers)

    assert (answer.status, "Remove the file from “cv”" in answer.text) == (400, True)
    assert "keep me" in answer.text
    assert records(api, tenant, form_id) == []


def test_values_in_error__the_page_again__with_everything_that_was_typed(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)

    answer = post(api, form_id, {"name": "Ada", "email": "wrong", "story": "a <long> one", "_subject": "Hi"})

    assert (answer.status, records(api, tenant, form_id)) == (400, [])
    for part in (
        'value="Ada"',
        'value="wrong"',
        "a &lt;long&gt; one",
        '<input type="hidden" name="_subject" value="Hi">',
    ):
        assert part in answer.text
    assert "Email must be an email address." in answer.text


def test_error_page__sent_again__goes_where_the_first_page_said(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)
    first = post(api, form_id, {"name": "Ada", "email": "wrong", "_next": "thanks.html"}, **SHOP)

    again = post(api, form_id, GOOD, query=action_of(first))

    assert (again.status, again.headers["Location"]) == (303, "https://shop.example/contact/thanks.html")
    assert [record["spam"] for record in records(api, tenant, form_id)] == [False], "correcting a typo is quick"


def test_same_page_sent_twice__is_one_submission__and_changed_it_is_two(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, **UNHURRIED)
    query = action_of(api.get(f"/f/{form_id}"))

    assert [post(api, form_id, GOOD, query=query).status for _ in range(3)] == [303] * 3
    assert len(records(api, tenant, form_id)) == 1
    assert post(api, form_id, GOOD | {"name": "Eve"}, query=query).status == 303
    assert len(records(api, tenant, form_id)) == 2


def test_same_page_sent_twice__with_a_file_input__is_one_submission_though_the_boundary_differs(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, **UNHURRIED)
    query = action_of(api.get(f"/f/{form_id}"))
    body, headers = multipart(GOOD, {"cv": ("", "")})

    assert api.post(f"/f/{form_id}{query}", data=body, headers=headers).status == 303
    headers = {"Content-Type": "multipart/form-data; boundary=other"}
    assert api.post(f"/f/{form_id}{query}", data=body.replace(BOUNDARY, "other"), headers=headers).status == 303
    assert len(records(api, tenant, form_id)) == 1


def test_idempotency_key__is_honoured(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answers = [post(api, form_id, {"a": "1"}, Idempotency_Key="k", Accept="application/json") for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers] == [None, "true"]
    assert len(records(api, tenant, form_id)) == 1


def test_captcha_tokens_and_control_fields__are_not_stored(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    tokens = dict.fromkeys(["g-recaptcha-response", "h-captcha-response", "cf-turnstile-response", "altcha"], "t")

    assert post(api, form_id, {"a": "1", **tokens, "_subject": "s", "_formId": "x", "_gotcha": ""}).status == 303
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


@pytest.mark.parametrize(("subject", "reply_to"), [("_subject", "_replyto"), ("subject", "replyto")])
def test_subject_and_reply_address__steer_the_mail(
    api: Client, smtp: MailReceiver, subject: str, reply_to: str
) -> None:
    tenant = make_tenant()
    recipient = f"editor@{tenant.organization.slug}.example"
    form_id = tenant.form(notification_recipients=[recipient])

    post(api, form_id, {"a": "1", subject: "About cakes", reply_to: "ada@example.com"})

    mail = smtp.wait_for(recipient)[0].message
    assert (mail["Subject"], mail["Reply-To"]) == ("About cakes", "ada@example.com")


REFUSALS: list[tuple[dict[str, Any], int, str]] = [
    ({"data": "a=1", "headers": {"Content-Type": "text/plain"}}, 415, "not set up correctly"),
    ({"data": "a=" + "x" * 300_000, "headers": URLENCODED}, 413, "too much to send"),
    ({"data": "x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "could not be read"),
    ({"data": "&".join(f"f{n}=1" for n in range(1200)), "headers": URLENCODED}, 400, "too many fields"),
    ({"data": "a=" + "x" * 70_000, "headers": URLENCODED}, 400, "“a” is too long."),
    ({"data": "_subject=only", "headers": URLENCODED}, 400, "arrived empty"),
]


@pytest.mark.parametrize(("options", "status", "words"), first_on_both(REFUSALS), ids=[case[2] for case in REFUSALS])
def test_body_that_is_no_good__is_refused_in_words(
    api: Client, options: dict[str, Any], status: int, words: str
) -> None:
    answer = api.post(f"/f/{make_tenant().form()}", **options)

    assert (answer.status, words in answer.text) == (status, True)
    assert not DEVELOPERS_WORDS.search(answer.text)


def test_draft_and_unknown_forms__are_refused__with_what_was_typed(api: Client) -> None:
    draft = post(api, make_tenant().form(published=False), {"note": "keep me"})
    unknown = post(api, unknown_id("frm"), {"note": "keep me"})

    assert (draft.status, unknown.status) == (403, 404)
    assert "keep me" in draft.text
    assert "keep me" in unknown.text


def test_eleventh_post_in_a_minute__is_refused__keeps_the_text__and_costs_the_owner_nothing(api: Client) -> None:
    tenant = counted_tenant(api, Plan.FREE)  # counts one
    form_id = tenant.form()

    # Ten, or up to twenty when the minute ends in between.
    posts = (post(api, form_id, {"n": f"number {n}"}) for n in range(21))
    taken = len(list(itertools.takewhile(lambda answer: answer.status == 303, posts)))
    refused = post(api, form_id, {"n": "keep me"})

    assert 10 <= taken <= 20
    assert (refused.status, "keep me" in refused.text) == (429, True)
    assert refused.headers["Retry-After"] == SECONDS
    assert api.get("/api/forms", tenant.key).headers["X-RateLimit-Remaining"] == str(98 - taken)


def test_post__when_the_hour_is_used_up__is_answered_like_success_and_held(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id = tenant.form()
    for _ in range(90):
        api.get(CHEAP, tenant.key)

    answer = post(api, form_id, {"a": "keep me"})

    assert answer.status == 303
    assert [(one["data"], one["held"]) for one in records(api, tenant, form_id)] == [({"a": "keep me"}, "quota")]


def test_key_of_another_organization__changes_nothing(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id = tenant.form()

    assert api.post(f"/f/{form_id}", other.key, data="a=1", headers=URLENCODED).status == 303
    assert stored_data(api, tenant, form_id) == [{"a": "1"}]


ORIGINS: list[tuple[dict[str, str], int]] = [
    ({"Origin": "https://shop.example"}, 303),
    ({"Origin": "https://evil.example"}, 403),
    ({"Referer": "https://shop.example/x"}, 303),
    ({"Origin": "null"}, 403),
    ({"Origin": "null", "Referer": "https://shop.example/x"}, 403),
    ({}, 403),
]


@pytest.mark.parametrize(("headers", "status"), first_on_both(ORIGINS, 2), ids=str)
def test_form_with_a_list_of_origins__takes_posts_from_these_alone(
    api: Client, headers: dict[str, str], status: int
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=["https://shop.example"])

    answer = post(api, form_id, {"a": "keep me"}, **headers)

    assert (answer.status, len(records(api, tenant, form_id))) == (status, int(status == 303))
    assert ("keep me" in answer.text) == (status == 403)
    assert "<form" not in answer.text, "sent from our page it would pass"
    own = {"Origin": f"http://127.0.0.1:{api.port}"}
    assert post(api, form_id, {"a": "1"}, **own).status == 303, "our own hosted page always may"
