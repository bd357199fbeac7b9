"""The overviews of an organization and of a form: figures, charts, first steps, code, and test submissions."""

import datetime as dt
import html
import json
import re
import zoneinfo
from collections.abc import Callable

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.models import Form, Recipient
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, markup_of, member_of, place, text_of
from tests.support.rows import put, put_many, wait_until_dispatched
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import register


def table_of(page: Answer) -> list[tuple[str, str, str]]:
    """Return `(day, received, spam)` of each row of the chart's table, newest first."""
    body = page.text.partition('aria-label="Submissions per day as a table"')[2].partition("</table>")[0]
    rows = [text_of(row).split() for row in body.partition("<tbody>")[2].split("</tr>")[:-1]]
    return [(row[0], row[-2], row[-1]) for row in rows]


def steps_of(page: Answer) -> list[str]:
    """Return the titles of the moments of a timeline."""
    return [html.unescape(title) for title in re.findall(r'<div class="what">\s*<strong>(.*?)</strong>', page.text)]


def test_chart__of_each_range_and_form__has_the_numbers_of_its_days(
    tenant: Tenant, member: Browser, owner: Browser
) -> None:
    form_id, today = tenant.form(name="Orders"), now()
    put_many(tenant, form_id, [{"n": "1"}, {"n": "2"}])
    put(tenant, form_id, {"n": "3"}, today - dt.timedelta(days=3), spam=True)
    put(tenant, form_id, {"n": "4"}, today - dt.timedelta(days=40))
    put(tenant, tenant.default_form_id, {"n": "5"})
    wait_until_dispatched(tenant)
    foreign = make_tenant().form()
    numbers = {0: ("2", "0"), 3: ("1", "1"), 40: ("1", "0")}
    for path, days, of_today in (
        (f"forms/{form_id}?days=7", 7, "2"),
        (f"forms/{form_id}?days=90", 90, "2"),
        (f"forms/{form_id}?days=8", 30, "2"),
        (f"?form={form_id}&days=90", 90, "2"),
        ("", 30, "3"),
        (f"?form={foreign}&days=7", 7, "3"),
    ):
        expected = [
            (f"{(today - dt.timedelta(days=ago)).date()}", *(numbers.get(ago, ("0", "0")) if ago else (of_today, "0")))
            for ago in range(days)
        ]
        assert table_of(member.get(place(tenant, path))) == expected, path
    part = owner.get(place(tenant, f"?form={form_id}&days=7"), HX_Request="true")
    assert table_of(part)[0][1] == "2"
    assert "<h1" not in part.text


def test_chart__for_a_person_far_from_utc__has_their_days(api: Client, tenant: Tenant) -> None:
    person = member_of(tenant.organization, "member")
    person.time_zone = "Pacific/Kiritimati"  # 14 hours ahead
    person.save()
    form_id, zone = tenant.form(), zoneinfo.ZoneInfo("Pacific/Kiritimati")
    midnight = now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    for moment in (midnight, midnight - dt.timedelta(minutes=1), midnight - dt.timedelta(minutes=2)):
        put(tenant, form_id, {"n": "1"}, moment.astimezone(dt.UTC))
    browser = logged_in(api, person)
    page = browser.get(place(tenant, f"forms/{form_id}?days=7"))
    yesterday = midnight.date() - dt.timedelta(days=1)
    assert table_of(page)[:3] == [
        (f"{midnight.date()}", "1", "0"),
        (f"{yesterday}", "2", "0"),
        (f"{yesterday - dt.timedelta(days=1)}", "0", "0"),
    ]
    assert "Days are those of the time zone Pacific/Kiritimati." in text_of(page)


def test_form__with_submissions__shows_figures_and_the_last_one(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(notification_recipients=["a@example.com", "b@example.com", "c@example.com"])
    Recipient.objects.filter(form=decode_id(Prefix.FORM, form_id), email="b@example.com").update(confirmed_at=None)
    put_many(tenant, form_id, [{"n": "1"}, {"n": "2"}])
    for ago, spam in ((3, True), (10, False), (40, False)):
        put(tenant, form_id, {"n": "x"}, now() - dt.timedelta(days=ago), spam=spam)
    page = text_of(member.get(place(tenant, f"forms/{form_id}")))
    assert "Today 2 last one now" in page
    assert "7 days 3 1 in the 7 days before 30 days 4 1 in the 30 days before Spam, 30 days 25 % 1 caught" in page
    assert "Stored 4 submissions" in page
    assert "Notifies 2 mail addresses (1 more not confirmed or stopped) · 0 active destinations" in page
    assert "They are delivered to 2 mail addresses and 0 destinations." in page
    listed = text_of(member.get(place(tenant, "forms")))
    assert re.search(r"Published any 4 4 \S", listed), "stored, and received in 30 days"


def test_test_submission__of_a_member__takes_the_way_of_a_visitors_and_can_be_deleted(
    api: Client, tenant: Tenant, member: Browser, receiver: Receiver
) -> None:
    receiver.reply = Reply(204)
    form_id = tenant.form(
        fields=[text_field("name", required=True), text_field("email", type="Email", required=True)],
        allowed_origins=["https://shop.example"],
        spam_protection={"proof_of_work": True},
    )
    register(api, tenant, receiver.url("/hook"), form_id)
    path = place(tenant, f"forms/{form_id}")
    used = api.get("/api/me", tenant.key).json()["data"]["hour"]["used"]

    sent = member.post(f"{path}/tests", form=path, mode="live")

    pk = re.fullmatch(rf"{path}\?test=(sub_\w+)#test", sent.headers["Location"])
    assert pk
    (message,) = receiver.wait_for(1)
    shown = eventually(lambda: "Delivered" in (seen := member.get(f"{path}?test={pk[1]}")).text and seen)
    assert steps_of(shown) == ["Sent as a test", "Accepted and stored", "Dispatched", "Attempt succeeded", "Delivered"]
    assert "204," in text_of(shown)
    assert "hx-trigger" not in shown.text.partition('id="timeline"')[2].partition("</ol>")[0], "it is settled"
    record = api.get(f"/api/submissions/{pk[1]}", tenant.key).json()["data"]
    assert json.loads(message.body)["data"] == {**record, "formName": "Contact"}
    assert record["data"] == {"name": "Test", "email": "ada@example.com"}
    members = {"id", "formId", "data", "files", "spam", "spamReasons", "held", "test", "meta", "imported", "createdAt"}
    assert set(record) == members
    assert set(record["meta"]) == {"ip", "userAgent", "origin", "referer"}
    assert api.get("/api/me", tenant.key).json()["data"]["hour"]["used"] == used + 2  # these two reads

    gone = member.follow(member.post(f"{path}/tests/{pk[1]}/delete", form=f"{path}?test={pk[1]}"))
    assert "The test submission is deleted." in text_of(gone)
    assert not Submission.objects.filter(organization=tenant.organization).exists()


def test_code__of_a_form__has_the_live_key_or_the_test_key(tenant: Tenant, member: Browser) -> None:
    path = place(tenant, f"forms/{tenant.form()}")
    keys = {"": tenant.publishable, "&key=test": tenant.test_publishable, "&key=other": tenant.publishable}
    for way in ("script", "fetch", "curl"):
        for query, key in keys.items():
            page = member.get(f"{path}?snippet={way}{query}")
            assert {one for one in keys.values() if one in page.text} == {key}
            assert ("It is a test key" in text_of(page)) is (key == tenant.test_publishable)
    for way in ("html", "react"):  # pages that post by themselves: they need a key only for test data
        live, test = (member.get(f"{path}?snippet={way}{query}") for query in ("", "&key=test"))
        assert tenant.publishable not in live.text
        assert tenant.test_publishable not in live.text
        assert f"?test={tenant.test_publishable}" in test.text
        assert "It is a test key" in text_of(test)


@pytest.mark.parametrize("chosen", [{}, {"mode": "test"}, {"mode": "other"}])
def test_test_submission__unless_it_is_to_be_real__is_test_data(
    api: Client, tenant: Tenant, member: Browser, chosen: dict[str, str]
) -> None:
    form_id = tenant.form(fields=[text_field("name", required=True)], notification_recipients=[tenant.owner.email])
    path = place(tenant, f"forms/{form_id}")
    page = markup_of(member.get(path))
    assert re.search(r'name="mode" value="test"[^>]* checked', page)
    assert re.search(r'name="mode" value="live"[^>]* checked', page) is None
    sent = member.post(f"{path}/tests", form=path, **chosen)
    wait_until_dispatched(tenant)
    shown = member.follow(sent)
    assert steps_of(shown)[:3] == ["Sent as a test", "Accepted and stored", "Recorded"]
    assert "Recorded" in text_of(shown)
    pk = sent.headers["Location"].partition("test=")[2].partition("#")[0]
    assert api.get(f"/api/submissions/{pk}", tenant.key).json()["data"]["test"] is True
    assert api.get("/api/submissions", tenant.key).json()["data"] == []
    member.post(f"{path}/tests/{pk}/delete", form=f"{path}?test={pk}")
    assert not Submission.objects.filter(organization=tenant.organization).exists()


def test_test_submission__to_a_form_with_files__has_the_name_of_an_example(
    api: Client, tenant: Tenant, member: Browser
) -> None:
    form_id = tenant.form(fields=[text_field("cv", type="File", required=True, accept=[".docx"])])
    path = place(tenant, f"forms/{form_id}")
    assert "Accepted and stored" in member.follow(member.post(f"{path}/tests", form=path, mode="live")).text
    (record,) = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"]
    assert record["data"] == {"cv": "example.docx"}


def test_test_submission__of_a_visitor_or_another_form__is_neither_shown_nor_deleted(
    api: Client, tenant: Tenant, member: Browser
) -> None:
    form_id, other = tenant.form(), tenant.form()
    answer = api.post(f"/api/submit?formId={form_id}", tenant.key, json={"test": "dashboard", "_test": "dashboard"})
    visitors = answer.json()["data"]["id"]
    path = place(tenant, f"forms/{other}")
    own = (
        member.post(f"{path}/tests", form=path, mode="live").headers["Location"].partition("test=")[2].partition("#")[0]
    )
    for form, pk in ((form_id, visitors), (form_id, own), (other, "sub_nonsense")):
        assert steps_of(member.get(place(tenant, f"forms/{form}?test={pk}"))) == []
        assert member.post(place(tenant, f"forms/{form}/tests/{pk}/delete"), form=path).status == 404
    assert Submission.objects.filter(organization=tenant.organization).count() == 2


def test_test_submission__that_a_spam_rule_catches__says_so(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field("name", required=False)], spam_protection={"blocked_words": ["test"]})
    path = place(tenant, f"forms/{form_id}")
    shown = member.follow(member.post(f"{path}/tests", form=path, mode="live"))
    assert steps_of(shown)[:3] == ["Sent as a test", "Accepted and stored", "Marked as spam"]
    assert 'word: "test" in name' in text_of(shown)


@pytest.mark.on_sqlite
def test_test_submission__to_a_draft_or_over_the_limit__is_refused_and_says_why(
    shared_service: Callable[..., Application], tenant: Tenant
) -> None:
    draft, form_id = tenant.form(published=False), tenant.form()
    with Client(shared_service(TEST_SUBMISSIONS="2/h").port) as api:
        member = logged_in(api, member_of(tenant.organization, "member"))
        pages = []
        for each in (draft, form_id, form_id):
            path = place(tenant, f"forms/{each}")
            pages.append(text_of(member.follow(member.post(f"{path}/tests", form=path, mode="live"))))
        assert "Publish the form, then try it here." in pages[0]
        assert "This form does not take submissions now. Publish it first." in pages[0]
        assert "Sent as a test" in pages[1]
        assert "The limit of 2 requests is used up." in pages[2]
    assert Submission.objects.filter(organization=tenant.organization).count() == 1


@pytest.mark.on_sqlite
def test_code__without_a_proof_that_the_form_asks_for__says_so(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(spam_protection={"proof_of_work": True})
    words = "This form asks visitors for a proof that this code does not send."
    said = {
        way: words in text_of(member.get(place(tenant, f"forms/{form_id}?snippet={way}")))
        for way in ("", "html", "react", "fetch", "curl", "nonsense")
    }
    assert said == {"": False, "html": False, "react": True, "fetch": True, "curl": True, "nonsense": False}


def test_first_steps__go_on_with_the_form__and_stay_hidden_in_one_organization(tenant: Tenant, owner: Browser) -> None:
    home = place(tenant)
    first = text_of(owner.get(home))
    assert "First steps 0 of 4 done" in first
    assert Form.objects.get(organization=tenant.organization, is_default=True).public_id not in owner.get(home).text
    form_id = tenant.form(name="Orders")
    assert re.search(rf'href="{home}forms/{form_id}#connect"\s*>Get the code', owner.get(home).text)

    hidden = owner.post(f"{home}first-steps", form=home, do="hide")
    assert f"Path={home}" in hidden.headers["Set-Cookie"]
    page = text_of(owner.follow(hidden))
    assert "Create a form" not in page
    assert "Show first steps, 2 of 4 done" in page
    assert "Create a form" in text_of(owner.follow(owner.post(f"{home}first-steps", form=home, do="show")))

    put(tenant, form_id, {"n": "1"})
    Form.objects.filter(pk=decode_id(Prefix.FORM, form_id)).update(notification_recipients=["a@example.com"])
    assert "irst steps" not in text_of(owner.get(home)).replace("Show first steps", "")


@pytest.mark.on_sqlite
def test_overview__figures_come_before_what_needs_attention(tenant: Tenant, owner: Browser) -> None:
    tenant.organization.stored_bytes = tenant.organization.storage_allowance
    tenant.organization.save()
    page = text_of(owner.get(place(tenant)))
    order = ["Submissions today", "Submissions per day", "Needs attention", "storage used", "Latest submissions"]
    assert [page.index(words) for words in order] == sorted(page.index(words) for words in order)
