"""Fifty test submissions change nothing for a reader of live ones: a row for each reader (docs/contract.md 12.3)."""

import datetime as dt

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from submissions.live.tokens import live_token
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.deliveries import deliveries_of, make_delivery
from tests.support.files.rows import Sent, put_with_files
from tests.support.live_stream import Stream
from tests.support.posted_files import file_field
from tests.support.replies import ALL_SIX
from tests.support.rows import put, row, wait_until_dispatched
from tests.support.submitting import submit, submit_and_get_id
from tests.support.tables.readers_of_live_data import OF_SUBMISSIONS, READERS, WITHOUT_ANY, Place
from tests.support.tenants import Tenant, make_tenant, text_field
from tests.support.webhooks import EVENTS
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

MARK = "zebra-of-a-test"
OWNER = "owner@example.com"
FIELDS = [text_field("a", required=False), text_field("email", type="Email", required=False), file_field("cv")]
CONFIRMATION, RULE = Submission.Held.CONFIRMATION, Submission.Held.RULE
Answers = dict[tuple[str, str], object]
PLACES = {"with live ones": READERS | OF_SUBMISSIONS, "without any": READERS | WITHOUT_ANY}
ROWS = [(place, name) for place, readers in PLACES.items() for name in readers]


def arrange(api: Client, receiver: Receiver) -> Place:
    tenant = make_tenant()
    form = tenant.form(fields=FIELDS, notification_recipients=[OWNER])
    body = {"formId": form, "url": receiver.url(), "events": EVENTS}
    hook = api.post("/api/webhooks", tenant.key, json=body).json()["data"]["id"]
    ReceiverRow.objects.filter(organization=tenant.organization).update(
        created_at=ago(days=1)
    )  # before its submissions
    return Place(tenant, {"form": form, "hook": hook, "live": "", "unconfirmed": ""})


def ago(**values: int) -> dt.datetime:
    return now() - dt.timedelta(**values)


def put_live(api: Client, place: Place) -> None:
    """Store live rows with gaps between them, of which the newest is older than half of the tests."""
    tenant, form = place.tenant, place.ids["form"]
    values = {"a": "a zebra that is live", "email": "ada@example.com"}
    put(tenant, form, values, ago(hours=5))
    place.ids["live"] = put(tenant, form, values, ago(hours=3))
    put_with_files(tenant, form, [Sent("live.pdf")], values, ago(hours=1))
    put(tenant, form, values, ago(hours=2), spam=True)
    waiting = row(tenant, form, values, ago(hours=3))
    put_held(waiting, CONFIRMATION, counted_as=Submission.CountedAs.HELD)
    place.ids["unconfirmed"] = waiting.public_id
    submit_and_get_id(api, tenant, values=values)


def put_held(made: Submission, held: str, *, counted_as: str) -> Submission:
    made.held, made.counted_as, made.dispatched_at = held, counted_as, now()
    made.save(force_insert=True)
    return made


def put_older_tests(place: Place) -> list[Submission]:
    """Store 25 tests before and between the live rows, and return those that are held by a rule."""
    tenant, form, held = place.tenant, place.ids["form"], []
    for number in range(25):
        values = {"a": f"{MARK} {number}", "email": "ada@example.com"}
        made = row(tenant, form, values, ago(hours=7 if number % 2 else 4, minutes=number), spam=number == 4)
        if number < 4:
            put_held(made, CONFIRMATION if number < 2 else RULE, counted_as=Submission.CountedAs.TEST)
            held += [made] if number > 1 else []
        else:
            made.counted_as = Submission.CountedAs.TEST
            made.save(force_insert=True)
    after = row(tenant, form, {"a": MARK}, ago(hours=1))
    put_held(after, CONFIRMATION, counted_as=Submission.CountedAs.TEST)
    return held


def send_newer_tests(api: Client, place: Place, key: str) -> None:
    tenant, form = place.tenant, place.ids["form"]
    sent = [Sent(f"{MARK}.pdf")]
    put_with_files(tenant, form, sent, {"a": MARK}, counted_as=Submission.CountedAs.TEST)
    for number in range(23):
        email = {0: "spam@fieldpost.test", 1: "held@fieldpost.test"}.get(number, "ada@example.com")
        token = key if number % 2 else tenant.test_publishable
        values = {"a": f"{MARK} {number}", "email": email}
        assert submit(api, token, form if number % 3 else "", values).status == 201


def put_deliveries(place: Place, held: list[Submission]) -> None:
    """Store deliveries of tests in each state that a live reader counts; nothing sends them."""
    receiver, later = ReceiverRow.objects.get(pk=decode_id(Prefix.WEBHOOK, place.ids["hook"])), ago(hours=-9)
    waits, ended = {"attempt_count": 1, "next_attempt_at": later}, {"finished_at": now()}
    make_delivery(receiver, submission=held[0], **waits)
    make_delivery(receiver, submission=held[1], status="failed", **ended)
    make_delivery(OWNER, submission=held[0], status="canceled", **ended)
    make_delivery(OWNER, submission=held[1], status="failed", **ended)


def wait_until_quiet(tenant: Tenant) -> None:
    wait_until_dispatched(tenant)
    waiting = Delivery.objects.filter(organization=tenant.organization, status="pending")
    eventually(lambda: not waiting.exists(), because="everything is delivered")


def add_tests(api: Client, place: Place, key: str) -> None:
    tenant = place.tenant
    # By the row: the API would tell the owner, and the log of this mail is read too.
    hook = ReceiverRow.objects.filter(organization=tenant.organization)
    hook.update(mode="both")
    held, gone = put_older_tests(place), row(tenant, place.ids["form"], {"a": MARK}, ago(hours=9))
    gone.counted_as = Submission.CountedAs.TEST
    gone.save(force_insert=True)
    send_newer_tests(api, place, key)
    wait_until_quiet(tenant)
    assert deliveries_of(tenant).filter(submission__counted_as="test", status="delivered").count() > 30
    hook.update(mode="live")
    assert api.delete(f"/api/submissions/{gone.public_id}", tenant.key).status == 200
    put_deliveries(place, held)
    assert Submission.objects.filter(organization=tenant.organization, counted_as="test").count() == 50


def ask(api: Client, places: dict[str, Place]) -> Answers:
    return {(place, name): PLACES[place][name](api, places[place]) for place, name in ROWS}


Read = tuple[Answers, Answers, list[str], str]


def read_on_a_day(service: Application, api: Client, receiver: Receiver) -> Read | None:
    """Read before and after the tests; None where another day began meanwhile, with which figures of days move."""
    day = now().date()
    places = {name: arrange(api, receiver) for name in PLACES}
    full = places["with live ones"]
    keys = {name: place.tenant.issue(*ALL_SIX, mode="test") for name, place in places.items()}
    put_live(api, full)
    for place in places.values():
        wait_until_quiet(place.tenant)
    ask(api, places)  # a page marks its submission as read, and the cursor notes how far it was read
    before = ask(api, places)
    token = live_token(full.tenant.organization.pk, None, full.tenant.owner.pk)
    with Stream(service.events_port, token) as stream:
        for name, place in places.items():
            add_tests(api, place, keys[name])
        after = ask(api, places)
        last = submit_and_get_id(api, full.tenant, full.ids["form"])
        eventually(lambda: last in [event.id for event in stream.events])
        told = [event.id for event in stream.events]
    return (before, after, told, last) if now().date() == day else None


@pytest.fixture(scope="module")
def read(service: Application) -> Read:
    """
    Return what each reader gets before and after the tests, some of which are spam, held, or of a page; the ids that
    the live stream has sent; and the one live submission of these.
    """
    with Client(service.port) as api, Receiver() as receiver:
        found = read_on_a_day(service, api, receiver) or read_on_a_day(service, api, receiver)
    assert found
    return found


@pytest.mark.parametrize(("place", "name"), ROWS)
def test_reader__after_fifty_tests__reads_the_same(place: str, name: str, read: Read) -> None:
    before, after, *_ = read
    assert MARK not in str(after[place, name])
    assert after[place, name] == before[place, name]


def test_live_stream__after_fifty_tests__has_told_the_live_one(
    read: Read,
) -> None:
    *_, told, last = read
    assert told == [last]
