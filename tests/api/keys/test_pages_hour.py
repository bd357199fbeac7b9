"""Browser submissions in the hour: nine tenths, counted when stored (docs/contract.md 2.5, 2.6, 2.10)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keys.models import HourMark, Notice, Organization
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.browser import logged_in, markup_of, person_of, place
from tests.support.hosted_posts import ask
from tests.support.rate_windows import CHEAP, counted_tenant, lasting_client, remaining, reset
from tests.support.submitting import submit
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field

PAGE = {"Origin": "https://page.example"}
SPAM = {"_gotcha": "yes", "n": "1"}
NO_BURSTS = {"BURST_PER_ADDRESS_AND_FORM": "100000/m", "BURST_PER_FORM": "100000/m"}


def used(api: Client, tenant: Tenant) -> int:
    """Return how many requests the organization's hour has counted, without this one."""
    answer = api.get("/api/forms", tenant.key)
    return int(answer.headers["X-RateLimit-Limit"]) - remaining(answer) - 1


@pytest.mark.parametrize("kind", ["publishable", "secret"])
def test_pages__nine_tenths_of_the_hour__are_theirs_and_the_last_is_the_owner_s(api: Client, kind: str) -> None:
    tenant = counted_tenant(api, rate_limit=10)  # one has counted
    key = tenant.publishable if kind == "publishable" else tenant.key

    pages = [submit(api, key, values={"n": "1"}, **PAGE).status for _ in range(9)]
    owner = [api.get("/api/forms", tenant.key).status for _ in range(2)]

    assert pages == [201] * 8 + [429]
    assert owner == [200, 429]
    assert Submission.objects.filter(organization=tenant.organization).count() == 8


def test_pages__limit_of_one__have_no_room_at_all(api: Client) -> None:
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)

    assert submit(api, tenant.publishable, values={"n": "1"}).status == 429
    assert api.get("/api/forms", tenant.key).status == 200


def test_pages__many_at_the_same_time__never_pass_their_share(shared_service: Callable[..., Application]) -> None:
    port = shared_service("serve", **NO_BURSTS).port
    with Client(port) as first:
        tenant = counted_tenant(first, rate_limit=20)

        def send(number: int) -> int:
            with Client(port) as client:
                bad = number % 2  # these are reserved and given back
                return submit(client, tenant.publishable, values={} if bad else {"n": str(number)}, **PAGE).status

        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(send, range(80)))
        later = [submit(first, tenant.publishable, values={"n": "1"}).status for _ in range(18)]

    stored = Submission.objects.filter(organization=tenant.organization).count()
    assert stored == (statuses + later).count(201) == 17  # nine tenths of 20, less the first request


REFUSED: dict[str, Callable[[Client, Tenant, str], Answer]] = {
    "empty": lambda api, t, form: submit(api, t.publishable, form, {}, **PAGE),
    "not JSON": lambda api, t, form: api.post(f"/api/submit?formId={form}", t.publishable, data="n=1"),
    "a missing value": lambda api, t, form: submit(api, t.key, form, {"b": "1"}, **PAGE),
    "GET": lambda api, t, _: api.get("/api/submit", t.publishable),
    "a foreign form": lambda api, t, _: submit(api, t.publishable, make_tenant().form(), {"a": "1"}),
    "a draft": lambda api, t, _: submit(api, t.publishable, t.form(published=False), {"a": "1"}),
    "to /f/, empty": lambda api, _, form: ask(api, form, {}),
    "spam": lambda api, t, form: submit(api, t.publishable, form, {**SPAM, "a": "1"}, **PAGE),
    "spam to /f/": lambda api, _, form: ask(api, form, {**SPAM, "a": "1"}),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_page__refused_or_spam__counts_against_its_address_alone(
    refused: Callable[[Client, Tenant, str], Answer], api: Client
) -> None:
    tenant = counted_tenant(api)
    form_id = tenant.form(fields=[text_field("a", required=True)])
    with lasting_client(api.port) as stranger:
        before = used(api, tenant)
        refused(stranger, tenant, form_id)

        assert used(api, tenant) == before + 1  # that was `used`
        assert remaining(stranger.get("/api/forms")) == 97  # with the first one, and this


def test_page__replayed__is_counted_once(api: Client) -> None:
    tenant = counted_tenant(api)
    before = used(api, tenant)

    answers = [
        submit(api, tenant.publishable, values={"n": "1"}, Idempotency_Key="once", **PAGE).status for _ in range(3)
    ]

    assert answers == [201] * 3
    assert used(api, tenant) == before + 2  # one of them was `used`


def test_address__that_sent_a_hundred_times_spam__is_refused_more(shared_service: Callable[..., Application]) -> None:
    port = shared_service("serve", **NO_BURSTS).port
    with lasting_client(port) as stranger:
        tenant = make_tenant()
        answers = [submit(stranger, tenant.publishable, values=SPAM, **PAGE) for _ in range(100)]
        good = submit(stranger, tenant.publishable, values={"n": "1"}, **PAGE)

    assert [one.status for one in answers] == [201] * 99 + [429]
    assert good.status == 201


@pytest.mark.parametrize(
    ("limit", "spent", "room"),
    first_on_both(
        [
            (100, 10, 80),
            (15, 13, 0),
            (100, 1, 90),
            (100, 9, 90),
            (100, 79, 20),
            (100, 80, 10),
            (15, 1, 12),
            (15, 2, 12),
            (7, 2, 4),
        ],
        2,
    ),
)
def test_publishable_key__learns_only_tenths(limit: int, spent: int, room: int, api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=limit)
    for _ in range(spent - 2):
        api.get(CHEAP, tenant.key)
    owner = api.get("/api/forms", tenant.key) if spent > 1 else None

    answer = submit(api, tenant.publishable, values={})  # counts nothing

    assert answer.status == (400 if room else 429)
    assert (answer.headers["X-RateLimit-Limit"], remaining(answer)) == (str(limit), room)
    assert owner is None or reset(owner) == reset(answer)


def test_marks__eighty_ninety_hundred_percent__are_shown_and_mailed_once_a_day(api: Client, smtp: MailReceiver) -> None:
    tenant = counted_tenant(api, rate_limit=10)
    notices = Notice.objects.filter(organization=tenant.organization).order_by("id")

    seen: dict[int, list[str]] = {}
    for number in range(2, 12):
        api.get("/api/forms", tenant.key)
        seen[number] = list(notices.values_list("kind", flat=True))

    assert [len(seen[number]) for number in range(7, 12)] == [0, 1, 2, 3, 3]
    assert seen[11] == ["hour.80", "hour.90", "hour.100"]
    subjects = {mail.message["Subject"].split(" %")[0] for mail in smtp.wait_for(tenant.owner.email, 3)}
    assert subjects == {"80", "90", "100"}
    overview = markup_of(logged_in(api, person_of(tenant)).get(place(tenant)))
    (alert,) = overview.split('role="alert"')[1:]
    assert "100 % of an hour" in alert
    assert "10 of 10, used up" in overview  # not 11: the last request was refused


def test_marks__a_page_that_fills_its_share__reaches_ninety(api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=5)

    for _ in range(4):
        submit(api, tenant.publishable, values={"n": "1"}, **PAGE)

    def marks() -> Any:
        return list(HourMark.objects.filter(organization=tenant.organization).values_list("percent", flat=True))

    assert eventually(lambda: sorted(marks()) == [80, 90], because="both marks are at four of five")


def test_marks__spam_and_refusals__reach_none(api: Client) -> None:
    tenant = counted_tenant(api, rate_limit=5)
    for _ in range(2):
        api.get("/api/forms", tenant.key)

    for values in (SPAM, {}, SPAM):
        submit(api, tenant.publishable, values=values, **PAGE)

    assert not HourMark.objects.filter(organization=tenant.organization).exists()
