"""Submissions in the dashboard: list, filters, bulk actions, one of them, exports with their count and progress."""

import csv
import datetime as dt
import io
import json
import re
import secrets

import pytest

from config.base.ids import Prefix, encode_id, first_id_of
from config.base.times import now
from keys.models import AuditEvent
from submissions.models import Submission
from tests.load.slow_peers import slow_peers, status_of
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, markup_of, member_of, person_of, place, text_of
from tests.support.deliveries import make_delivery
from tests.support.rows import fill, put, put_many
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def shown(answer: Answer) -> list[str]:
    """Return the ids of the rows on a page."""
    return re.findall(r'name="id" value="(sub_\w+)"', markup_of(answer))


def test_list__columns__are_the_form_s_then_those_of_the_rows(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(fields=[text_field("email", label="Your email")])
    put(tenant, form_id, {"email": "ada@example.com", HOSTILE: HOSTILE})
    page = browser.get(place(tenant, f"submissions?form={form_id}"))
    assert "Your email" in page.text
    assert "<img" not in markup_of(page).replace('<img src="/static/', "")
    assert HOSTILE[:20] in text_of(page)


def test_list__of_several_forms__names_that_of_each_row(tenant: Tenant, browser: Browser) -> None:
    for name in ("Orders", "Jobs"):
        put(tenant, tenant.form(name=name), {"a": "1"})
    page = browser.get(place(tenant, "submissions")).text
    assert re.findall(r'class="clip"><span class="line">([^<]*)<', page) == ["Jobs", "Orders"]


def test_list__pages__are_newest_first_and_lead_to_the_oldest(tenant: Tenant, browser: Browser) -> None:
    form_id, start = tenant.form(), now() - dt.timedelta(hours=2)
    ids = [put(tenant, form_id, {"n": str(n)}, start + dt.timedelta(seconds=n)) for n in range(60)][::-1]
    path = place(tenant, f"submissions?form={form_id}")
    pages = [browser.get(f"{path}&page={number}") for number in (1, 2, 3)]
    assert [one for page in pages for one in shown(page)] == ids
    assert "60 · page 1 of 3" in text_of(pages[0])
    assert "page=3" in pages[0].text
    assert "This page does not exist" in text_of(browser.get(f"{path}&page=4"))
    assert [shown(browser.get(f"{path}&page={odd}")) for odd in ("x", "-1", "٣", "1e9")] == [ids[:25]] * 4


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"plain", "percent"}),
        ("spam=true", {"robot"}),
        ("spam=all", {"plain", "percent", "robot"}),
        ("q=100%25_SURE", {"percent"}),
        ("q=zz", {"plain", "percent"}),
        ("from=2020-01-01&to=2020-01-02", set()),
        ("from=2030-01-01&to=2020-01-01", {"plain", "percent"}),
        ("form=frm_nonsense", {"plain", "percent"}),
        ("undelivered=on", set()),
    ],
)
def test_list__filters__narrow_it_and_mistakes_are_left_out(
    tenant: Tenant, browser: Browser, query: str, expected: set[str]
) -> None:
    form_id = tenant.form()
    ids = {
        "plain": put(tenant, form_id, {"note": "nothing special"}),
        "percent": put(tenant, form_id, {"note": "100%_sure"}),
        "robot": put(tenant, form_id, {"note": "cheap"}, spam=True),
    }
    answer = browser.get(place(tenant, f"submissions?{query}"))
    assert answer.status == 200
    assert {name for name, pk in ids.items() if pk in shown(answer)} == expected


def test_list__undelivered__shows_what_somebody_should_have_heard_of(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    ids = {status: put(tenant, form_id, {"s": status}) for status in ("failed", "delivered", "held", "pending")}
    for status, pk in ids.items():
        submission = next(
            one for one in Submission.objects.filter(form__organization=tenant.organization) if one.public_id == pk
        )
        later = now() + dt.timedelta(hours=1) if status == "pending" else None
        make_delivery("ada@example.com", submission=submission, status=status, next_attempt_at=later, attempt_count=1)
    page = browser.get(place(tenant, "submissions?undelivered=on"))
    assert set(shown(page)) == {ids["failed"], ids["held"], ids["pending"]}


def act(browser: Browser, tenant: Tenant, do: str, *ids: str, **more: str) -> Answer:
    return browser.post(
        place(tenant, "submissions/act"), form=place(tenant, "submissions"), do=do, id=list(ids), **more
    )


def test_bulk__spam_and_back__moves_counts_and_keeps_the_filters(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    one, two, three = (put(tenant, form_id, {"n": str(n)}) for n in range(3))
    answer = act(browser, tenant, "spam", one, two, form_=form_id)
    assert answer.headers["Location"] == place(tenant, f"submissions?form={form_id}")
    page = browser.follow(answer)
    assert "2 submissions are marked as spam" in text_of(page)
    assert shown(page) == [three]
    act(browser, tenant, "not-spam", one)
    assert set(shown(browser.get(place(tenant, f"submissions?form={form_id}")))) == {one, three}
    assert shown(browser.get(place(tenant, f"submissions?form={form_id}&spam=true"))) == [two]


def test_bulk__delete__asks_once_more(tenant: Tenant, browser: Browser) -> None:
    one, two = (put(tenant, tenant.form(), {"n": str(n)}) for n in range(2))
    asked = act(browser, tenant, "delete", one)
    assert "Delete 1 submission permanently?" in text_of(asked)
    assert Submission.objects.filter(organization=tenant.organization).count() == 2
    assert act(browser, tenant, "delete-now", one).status == 302
    assert shown(browser.get(place(tenant, "submissions"))) == [two]


def test_bulk__delete__shows_by_their_values_what_would_be_deleted(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    ids = [put(tenant, form_id, {"name": "Ada", "note": HOSTILE, "a": "1", "b": "2"}), put(tenant, form_id, {})]
    asked = act(browser, tenant, "delete", *ids)
    assert f"name Ada note {HOSTILE} a 1 1 more" in text_of(asked)
    assert "no values" in text_of(asked)
    assert "<img src=x" not in asked.text


@pytest.mark.parametrize("do", ["spam", "not-spam", "delete", "delete-now", "export"])
def test_bulk__rows_of_another_organization__are_not_touched(tenant: Tenant, browser: Browser, do: str) -> None:
    other = make_tenant()
    foreign = put(other, other.form(), {"secret": "of others"}, spam=do == "not-spam")
    answer = act(browser, tenant, do, foreign, format="csv")
    assert "of others" not in answer.text
    row = Submission.objects.get(organization=other.organization)
    assert row.spam == (do == "not-spam")


@pytest.mark.on_sqlite
@pytest.mark.parametrize("data", [{"do": "spam"}, {"do": "nonsense", "id": "x"}, {"do": "spam", "id": "nonsense"}])
def test_bulk__nothing_ticked_or_nonsense__says_what_to_do(
    tenant: Tenant, browser: Browser, data: dict[str, str]
) -> None:
    answer = browser.post(place(tenant, "submissions/act"), form=place(tenant, "submissions"), **data)
    assert "Select submissions first" in text_of(browser.follow(answer))


def test_bulk__export__holds_what_was_ticked(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    one, _, three = (put(tenant, form_id, {"n": str(n)}) for n in range(3))
    answer = act(browser, tenant, "export", one, three, format="ndjson")
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == [one, three]


@pytest.mark.on_sqlite
def test_detail__hostile_values__are_shown_as_they_are_and_links_are_safe(tenant: Tenant, browser: Browser) -> None:
    values = {"note": HOSTILE, "site": "https://example.com/?a=1&b=2", "bad": "javascript:alert(1)", HOSTILE: "x"}
    pk = put(tenant, tenant.form(), values)
    page = browser.get(place(tenant, f"submissions/{pk}"))
    assert "<img src=x" not in page.text
    assert 'href="javascript' not in page.text
    link = re.search(r'<a class="value" href="https://example.com/\?a=1&amp;b=2"([^>]*)>', markup_of(page))
    assert link
    assert "noopener noreferrer nofollow" in link[1]


def test_detail__neighbours__lead_to_newer_and_older_of_the_same_form(tenant: Tenant, browser: Browser) -> None:
    form_id, start = tenant.form(), now() - dt.timedelta(hours=1)
    ids = [put(tenant, form_id, {"n": str(n)}, start + dt.timedelta(seconds=n)) for n in range(3)]
    page = markup_of(browser.get(place(tenant, f"submissions/{ids[1]}")))
    assert re.search(rf'rel="prev" href="[^"]+{ids[2]}"', page)
    assert re.search(rf'rel="next" href="[^"]+{ids[0]}"', page)


def test_export__page__counts_what_the_filters_leave(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    put_many(tenant, form_id, [{"n": str(n)} for n in range(30)])
    put(tenant, form_id, {"n": "spam"}, spam=True)
    counts = {
        query: text_of(browser.get(place(tenant, f"submissions/export?{query}")))
        for query in ("", "spam=all", "q=none")
    }
    assert "30 submissions" in counts[""]
    assert "31 submissions" in counts["spam=all"]
    assert "0 submissions" in counts["q=none"]


@pytest.mark.parametrize("chosen", first_on_both(["csv", "json", "ndjson"]))
def test_export__run__streams_it_and_tells_how_far_it_is(tenant: Tenant, browser: Browser, chosen: str) -> None:
    form_id, run = tenant.form(), secrets.token_urlsafe(8)
    put_many(tenant, form_id, [{"n": "x" * 500} for _ in range(1_000)])
    path = place(tenant, "submissions/export")
    answer = browser.post(f"{path}/run", form=path, format=chosen, run=run)
    rows = {
        "csv": lambda text: len(list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))),
        "json": lambda text: len(json.loads(text)),
        "ndjson": lambda text: len(text.splitlines()),
    }[chosen](answer.text)
    assert rows == 1_000
    assert "attachment" in answer.headers["Content-Disposition"]
    progress = eventually(
        lambda: "Done." in (told := browser.get(f"{path}/progress/{run}?total=1000").text) and told, 5
    )
    assert "1,000 rows in the file" in text_of(progress)


def test_export__filter_that_postgresql_cannot_store__is_recorded_without_it(tenant: Tenant, browser: Browser) -> None:
    put(tenant, tenant.form(), {"n": "1"})
    path = place(tenant, "submissions/export")
    assert browser.post(f"{path}/run", form=path, format="csv", unread="on\0").status == 200
    event = AuditEvent.objects.get(organization=tenant.organization, action="submissions.exported")
    assert event.changes == {"unread": [None, "on"]}


def test_export__while_two_of_the_organization_run__is_a_page_that_says_so(
    service: Application, tenant: Tenant, browser: Browser
) -> None:
    fill(tenant, megabytes=8)
    path = place(tenant, "submissions/export")
    with slow_peers(service.port) as peers:
        assert {status_of(connection) for connection in peers.exports(2, tenant.key)} == {200}
        answer = browser.post(f"{path}/run", form=path, format="csv", run="run")
    assert (answer.status, "runs 2 exports already" in text_of(answer)) == (429, True)
    assert int(answer.headers["Retry-After"]) > 0


def test_export__progress_of_somebody_else__is_not_told(api: Client, tenant: Tenant, browser: Browser) -> None:
    run, path = secrets.token_urlsafe(8), place(tenant, "submissions/export")
    put(tenant, tenant.form(), {"n": "1"})
    browser.post(f"{path}/run", form=path, format="csv", run=run)
    other = logged_in(api, person_of(tenant))
    assert "Done." not in other.get(f"{path}/progress/{run}").text


def test_live__address__holds_a_token_for_members_alone(
    api: Client, service: Application, tenant: Tenant, browser: Browser
) -> None:
    answer = browser.get(place(tenant, "submissions/live"))
    url = answer.json()["url"]
    assert url.startswith(f"http://127.0.0.1:{service.events_port}/events?token=")
    assert answer.headers["Cache-Control"] == "no-store"
    assert logged_in(api, person_of(make_tenant())).get(place(tenant, "submissions/live")).status == 404


def test_live__page__continues_from_what_it_shows(tenant: Tenant, browser: Browser) -> None:
    put(tenant, tenant.form(), {"n": "old"}, now() - dt.timedelta(days=1))
    seen = re.search(r'data-after="(sub_\w+)"', browser.get(place(tenant, "submissions")).text)
    assert seen
    assert seen[1] > encode_id(Prefix.SUBMISSION, first_id_of(now() - dt.timedelta(minutes=1)))
    for narrowed in ("q=abc", "spam=true", "from=2026-01-01", "page=2", "undelivered=on"):
        assert "data-after" not in browser.get(place(tenant, f"submissions?{narrowed}")).text
