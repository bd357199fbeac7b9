"""Following the list with a cursor: nothing missed, nothing repeated (docs/contract.md 5.36 to 5.39)."""

import datetime as dt
from typing import Any
from urllib.parse import urlencode

import pytest

from submissions.reading.cursor import encode_cursor
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.rows import put, wait_until_dispatched
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


class Reader:
    """Follows an organization's list; remembers its cursor and what it read."""

    def __init__(self, api: Client, tenant: Tenant, **query: str) -> None:
        self.api, self.tenant, self.query, self.cursor = api, tenant, query, ""
        self.read: list[str] = []

    def ask(self) -> dict[str, Any]:
        answer = self.api.get(f"/api/submissions?{urlencode({**self.query, 'cursor': self.cursor})}", self.tenant.key)
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert list(found) == ["data", "pagination"]
        assert list(found["pagination"]) == ["limit", "next", "hasMore"]
        self.cursor = found["pagination"]["next"]
        self.read += [row["data"]["n"] for row in found["data"]]
        return found

    def to_the_end(self) -> list[str]:
        """Read until nothing is left and return what was new."""
        before = len(self.read)
        while self.ask()["pagination"]["hasMore"]:
            pass
        return self.read[before:]

    def until(self, *expected: str) -> None:
        """Read on until exactly this is new."""
        before = len(self.read)

        def has_come() -> bool:
            self.to_the_end()
            return len(self.read) >= before + len(expected)

        eventually(has_come)
        assert self.read[before:] == [*expected]


def submit(api: Client, tenant: Tenant, n: str, form: str | None = None) -> str:
    return submit_and_get_id(api, tenant, form or tenant.default_form_id, {"n": n})


def mark(api: Client, tenant: Tenant, submission: str, *, spam: bool) -> None:
    assert api.patch(f"/api/submissions/{submission}", tenant.key, json={"spam": spam}).status == 200


def test_cursor__followed_to_the_end_and_later_on__reads_each_submission_once_oldest_first(
    api: Client, tenant: Tenant
) -> None:
    reader = Reader(api, tenant, limit="2")
    assert reader.ask()["data"] == []
    for n in "12345":
        submit(api, tenant, n)
        wait_until_dispatched(tenant)  # two workers at the same time may take the last one first
    reader.until(*"12345")
    assert reader.ask() == {"data": [], "pagination": {"limit": 2, "next": reader.cursor, "hasMore": False}}
    submit(api, tenant, "6")
    reader.until("6")

    again = Reader(api, tenant)

    assert again.to_the_end() == [*"123456"]
    listed = api.get("/api/submissions", tenant.key).json()["data"]
    again.cursor = ""
    assert again.ask()["data"] == listed[::-1]


def test_cursor__rows_deleted_meanwhile__skips_no_other(api: Client, tenant: Tenant) -> None:
    ids = []
    for n in "123456":
        ids.append(submit(api, tenant, n))
        wait_until_dispatched(tenant)  # two workers at the same time may take the last one first
    reader = Reader(api, tenant, limit="2")
    reader.ask()
    for place in (0, 1, 2, 5):  # read ones, the next one, the last one
        assert api.delete(f"/api/submissions/{ids[place]}", tenant.key).status == 200

    assert reader.to_the_end() == ["4", "5"]


def test_cursor__older_id_that_is_stored_later__comes_after_what_was_read(api: Client, tenant: Tenant) -> None:
    submit(api, tenant, "new")
    reader = Reader(api, tenant)
    reader.until("new")

    put(tenant, tenant.default_form_id, {"n": "drawn before, committed after"}, dt.datetime(2026, 3, 1, tzinfo=dt.UTC))

    reader.until("drawn before, committed after")


def test_cursor__spam__comes_when_it_is_marked_as_not_spam_and_only_once(api: Client, tenant: Tenant) -> None:
    caught = put(tenant, tenant.default_form_id, {"n": "caught"}, spam=True)
    submit(api, tenant, "1")
    reader = Reader(api, tenant)
    reader.until("1")
    mark(api, tenant, caught, spam=False)
    reader.until("caught")
    mark(api, tenant, caught, spam=True)
    mark(api, tenant, caught, spam=False)
    submit(api, tenant, "2")

    reader.until("2")


def test_cursor__marked_as_spam_before_anybody_read_it__comes_when_it_is_not(api: Client, tenant: Tenant) -> None:
    reader = Reader(api, tenant)
    mistaken = submit(api, tenant, "mistaken")
    wait_until_dispatched(tenant)
    mark(api, tenant, mistaken, spam=True)
    submit(api, tenant, "after")
    reader.until("after")

    mark(api, tenant, mistaken, spam=False)

    reader.until("mistaken")


def test_cursor__filters__hold_and_may_change(api: Client, tenant: Tenant) -> None:
    form, other = tenant.form(), tenant.form()
    for n, target in (("1", form), ("2", other), ("3", form), ("match 4", other)):
        submit(api, tenant, n, target)
        wait_until_dispatched(tenant)

    assert Reader(api, tenant, formId=form).to_the_end() == ["1", "3"]
    assert Reader(api, tenant, formId=other, limit="1").to_the_end() == ["2", "match 4"]
    assert Reader(api, tenant, q="match").to_the_end() == ["match 4"]
    assert Reader(api, tenant, spam="false", held="false", **{"from": "2026-01-01"}).to_the_end()[0] == "1"
    assert Reader(api, tenant, to="2026-01-01").to_the_end() == []
    changing = Reader(api, tenant, formId=form, limit="1")
    changing.ask()
    changing.query = {}
    assert changing.to_the_end() == ["2", "3", "match 4"]


MALFORMED = "cursor: must be the `next` of an earlier page, or empty to begin."


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("cursor=&page=1", "page", "page: Must not come with `cursor`. Leave one out."),
        ("cursor=&spam=true", "spam", "spam: must not be `true` with `cursor`."),
        ("cursor=&spam=all", "spam", "spam: must not be `all` with `cursor`."),
        ("cursor=&held=all", "held", "held: must not be `all` with `cursor`."),
        ("cursor=&limit=101", "limit", "limit: Ensure this value is less than or equal to 100."),
        *((f"cursor={text}", "cursor", MALFORMED) for text in ("1", "AAAA", "%20", "é", "x" * 8_000)),
    ],
)
@pytest.mark.on_sqlite
def test_cursor__with_what_has_no_place_in_the_order__is_refused(
    api: Client, tenant: Tenant, query: str, field: str, message: str
) -> None:
    answer = api.get(f"/api/submissions?{query}", tenant.key)

    details = [{"field": field, "code": answer.json()["details"][0]["code"], "message": message}]
    expected = {"success": False, "error": "validation_error", "message": message, "details": details}
    assert (answer.status, answer.json()) == (400, expected)


def test_cursor__of_another_organization__is_malformed(api: Client, tenant: Tenant) -> None:
    stranger = make_tenant()
    theirs = Reader(api, stranger)
    theirs.ask()
    for cursor in (theirs.cursor, encode_cursor(stranger.organization.pk, 7)):
        answer = api.get(f"/api/submissions?cursor={cursor}", tenant.key)
        assert (answer.status, answer.json()["message"]) == (400, MALFORMED)


def test_cursor__of_another_form__refused_as_in_lists(api: Client, tenant: Tenant) -> None:
    answer = api.get(f"/api/submissions?cursor=&formId={make_tenant().form()}", tenant.key)

    assert (answer.status, answer.json()["error"]) == (403, "unauthorized")
