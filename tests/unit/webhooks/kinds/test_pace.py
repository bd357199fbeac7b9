"""One request at a time, at the pace of the service, and the wait that it asks for (docs/contract.md 9.7)."""

import datetime as dt
import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from tests.services.receivers import Receiver, Reply
from tests.unit.webhooks.kinds.sending import deliver_due, make_destination, owe, send_due, statuses, to_http
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database
from webhooks.kinds.registry import KINDS
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow
from webhooks.outbox.loop import Deliverer
from webhooks.outbox.record import record
from webhooks.outbox.shares import Slots

pytestmark = pytest.mark.django_db(transaction=True)
CLOCK_SECONDS = 0.005  # by which two clocks may differ: SQLite's has milliseconds
SLACK = {"url": "https://hooks.slack.com/services/T1/B1/secret"}
DISCORD = {"url": "https://discord.com/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaaaaaa_secret"}
TELEGRAM = {"token": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAsecret", "chatId": -1001}
# docs.slack.dev/apis/web-api/rate-limits, discord.com/developers/docs/topics/rate-limits,
# core.telegram.org/bots/api#responseparameters
ASKS_TO_WAIT: dict[str, tuple[dict[str, Any], Reply]] = {
    "slack": (SLACK, Reply(429, {"Retry-After": "30"})),
    "discord": (DISCORD, Reply(429, {"Retry-After": "1"}, b'{"retry_after": 30.0, "global": false}')),
    "telegram": (TELEGRAM, Reply(429, body=b'{"ok":false,"error_code":429,"parameters":{"retry_after":30}}')),
}


def test_destination__two_deliverers__get_one_request_at_a_time_at_its_pace(
    transactional_db: None,  # noqa: ARG001  # open before it is copied
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    stop = threading.Event()

    def stop_at_the_last_request() -> None:
        try:
            receiver.wait_for(5)
        finally:
            stop.set()

    with shared_database(tmp_path):
        form = make_form()
        make_destination(form, "ntfy", {"url": receiver.url("/topic")})
        receiver.reply = Reply(delay=0.2)
        owe(form, 5)
        stopper = threading.Thread(target=stop_at_the_last_request)
        stopper.start()
        run_side_by_side(lambda: Deliverer(slots=Slots(8, 1), stop=stop).run(), threads=2)
        stopper.join()
        assert statuses() == ["delivered"] * 5
    arrived = [one.arrived for one in receiver.requests]
    assert len(arrived) == 5
    least = 0.2 + KINDS["ntfy"].pace - CLOCK_SECONDS
    assert min(later - earlier for earlier, later in itertools.pairwise(arrived)) >= least


@pytest.mark.parametrize("name", ASKS_TO_WAIT)
def test_destination__asked_to_wait__sends_nothing_until_then_and_all_after_it(vendor: Receiver, name: str) -> None:
    form, (config, reply) = make_form(), ASKS_TO_WAIT[name]
    destination = make_destination(form, name, config)
    vendor.replies.append(reply)
    owe(form, 3)
    assert deliver_due() == 1
    assert list(Delivery.objects.order_by("id").values_list("status", "attempt_count")) == [
        ("pending", 1),
        ("pending", 0),
        ("pending", 0),
    ]
    waits = Now() + dt.timedelta(seconds=25)
    assert ReceiverRow.objects.filter(quiet_until__gt=waits, quiet_until__lt=waits + dt.timedelta(seconds=10)).exists()
    assert Delivery.objects.filter(attempt_count=1, next_attempt_at__gt=waits).exists()
    ReceiverRow.objects.filter(pk=destination.pk).update(quiet_until=Now())
    Delivery.objects.update(next_attempt_at=Now())
    assert deliver_due() == 3
    assert (statuses(), len(vendor.requests)) == (["delivered"] * 3, 4)


def test_destination__two_answers_ask_to_wait__the_longer_wait_holds(receiver: Receiver) -> None:
    form = make_form()
    to_http(form, receiver.url())
    receiver.replies.extend([Reply(429, {"Retry-After": "600"}), Reply(429, {"Retry-After": "5"})])
    owe(form, 2)
    longer, shorter = sorted(send_due(), key=lambda each: -(each.outcome.retry_after_seconds or 0))
    record([longer])
    record([shorter])
    assert ReceiverRow.objects.filter(quiet_until__gt=Now() + dt.timedelta(seconds=500)).exists()


def test_destination__asked_to_wait_for_a_day__is_tried_after_an_hour(receiver: Receiver) -> None:
    form = make_form()
    to_http(form, receiver.url())
    receiver.reply = Reply(429, {"Retry-After": "86400"})
    owe(form, 1)
    assert deliver_due() == 1
    assert ReceiverRow.objects.filter(quiet_until__lte=Now() + dt.timedelta(seconds=3600)).exists()
