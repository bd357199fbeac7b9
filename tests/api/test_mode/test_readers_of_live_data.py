"""Fifty test submissions change nothing for a reader of live ones: a row for each reader (docs/contract.md 12.3)."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from submissions.counts.stored_bytes import recount
from submissions.models import ReadingPosition, Submission, Tally, UsageDay
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.replies import ALL_SIX
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tables.callers import session_cookie
from tests.support.tenants import Tenant, make_tenant

MARK = "zebra-of-a-test"
TESTS = 50
Read = Callable[[Client, Tenant], object]
# Parts that differ between two requests for a page: tokens, times as people read them, the hour, the live list's start.
_CHANGING = re.compile(
    r'[0-9,]+ of 100,000|csrfmiddlewaretoken" value="[^"]*"|data-token="[^"]*"|nonce="[^"]*"|<time[^>]*>[^<]*</time>'
    r'|token=[^"&]*|hx-headers=\'[^\']*\'|data-live[a-z-]*="[^"]*"|sub_[0-9a-z]{10}0{9}[0-9a-z]*'
    r'|data-after="[^"]*"|progress/[^"?]*|name="run" value="[^"]*"'
)


def get(path: str) -> Read:
    return lambda api, tenant: api.get(path.replace("{form}", tenant.default_form_id), tenant.key).body


def me(api: Client, tenant: Tenant) -> object:
    found = json.loads(api.get("/api/me", tenant.key).body)["data"]
    found["hour"].pop("used")
    found["key"].pop("lastUsedAt")
    return found


def page(path: str) -> Read:
    def read(api: Client, tenant: Tenant) -> str:
        cookie = {"Cookie": session_cookie(tenant), "Accept": "text/html"}
        answer = api.get(f"/dashboard/o/{tenant.organization.slug}{path}", headers=cookie)
        return f"{answer.status} {_CHANGING.sub('', answer.text)}"

    return read


def stored(api: Client, tenant: Tenant) -> object:  # noqa: ARG001 - a row of the table
    tenant.organization.refresh_from_db()
    return tenant.organization.stored_bytes


def recounted(api: Client, tenant: Tenant) -> object:  # noqa: ARG001 - a row of the table
    return recount(tenant.organization)


def tallies(api: Client, tenant: Tenant) -> object:  # noqa: ARG001 - a row of the table
    return list(Tally.objects.filter(form__organization=tenant.organization).order_by("hour").values())


def usage(api: Client, tenant: Tenant) -> object:  # noqa: ARG001 - a row of the table
    return list(UsageDay.objects.filter(organization=tenant.organization).values())


def positions(api: Client, tenant: Tenant) -> object:  # noqa: ARG001 - a row of the table
    return list(ReadingPosition.objects.filter(pk=tenant.organization.pk).values_list("last", "served"))


READERS: dict[str, Read] = {
    "list": get("/api/submissions"),
    "list of a form": get("/api/submissions?formId={form}"),
    "list of everything": get("/api/submissions?spam=all&held=all"),
    "list of what is not held": get("/api/submissions?held=false"),
    "list of a time": get("/api/submissions?from=2020-01-01"),
    "search": get("/api/submissions?q=zebra"),
    "cursor": get("/api/submissions?cursor="),
    "csv": get("/api/submissions/export"),
    "csv of a form": get("/api/submissions/export?formId={form}"),
    "json": get("/api/submissions/export?format=json"),
    "ndjson of a search": get("/api/submissions/export?format=ndjson&q=zebra"),
    "analytics": get("/api/analytics"),
    "analytics of a form": get("/api/analytics?formId={form}&interval=hour"),
    "forms": get("/api/forms"),
    "a form": get("/api/forms/{form}"),
    "me": me,
    "stored bytes": stored,
    "stored bytes counted again": recounted,
    "tallies": tallies,
    "usage": usage,
    "positions": positions,
    "overview": page("/"),
    "page of submissions": page("/submissions"),
    "page of spam": page("/submissions?tab=spam"),
    "page of unread ones": page("/submissions?tab=unread"),
    "page of a search": page("/submissions?q=zebra"),
    "page of exports": page("/submissions/export"),
    "page of forms": page("/forms"),
    "delivery log": page("/deliveries"),
    "palette": page("/find?q=zebra"),
}


@pytest.fixture(scope="module")
def read(service: Application) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Yield what each reader gets before and after the tests, of which some are spam, held, or of a page."""
    tenant = make_tenant()
    with Client(service.port) as api:
        live = submit_and_get_id(api, tenant, values={"a": "a zebra that is live", "email": "ada@example.com"})
        assert live
        wait_until_dispatched(tenant)
        eventually(lambda: api.get("/api/submissions?cursor=", tenant.key).json()["data"])
        before = {name: reader(api, tenant) for name, reader in READERS.items()}
        key = tenant.issue(*ALL_SIX, mode="test")
        for number in range(TESTS):
            email = {0: "spam@fieldpost.test", 1: "held@fieldpost.test"}.get(number, "ada@example.com")
            token = key if number % 2 else tenant.test_publishable
            assert submit(api, token, values={"a": f"{MARK} {number}", "email": email}).status == 201
        wait_until_dispatched(tenant)
        assert Submission.objects.filter(organization=tenant.organization, counted_as="test").count() == TESTS
        key_row = tenant.organization.access_keys.filter(name="Test")
        key_row.delete()  # the page of keys, and the overview of its owner, would show it
        yield before, {name: reader(api, tenant) for name, reader in READERS.items()}


@pytest.mark.parametrize("name", READERS)
def test_reader__after_fifty_tests__reads_the_same(
    name: str, read: tuple[dict[str, object], dict[str, object]]
) -> None:
    before, after = read
    assert MARK not in str(after[name])
    assert "page not found" not in str(after[name]).lower()
    assert after[name] == before[name]
