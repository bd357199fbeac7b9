"""Refused credentials hold, a correction releases, whatever happens at the same time (docs/contract.md 9.8)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from config.api.errors import Conflict, NotFound
from forms_app.actions import create_form
from keys.models import AuditEvent, Membership, Notice, User
from submissions.lifecycle.spam_marks import mark_not_spam
from tests.services.receivers import Receiver, Reply
from tests.unit.webhooks.dispatching import dispatch_all, write_before
from tests.unit.webhooks.kinds.sending import (
    deliver_due,
    http_config,
    make_destination,
    owe,
    send_due,
    statuses,
    to_http,
)
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, totals
from tests.unit.webhooks.side_by_side import Meanwhile, shared_database
from webhooks.log_queries import load_answers
from webhooks.models import Attempt, Delivery
from webhooks.models import Receiver as ReceiverRow
from webhooks.outbox.notices import dispatch_notices
from webhooks.outbox.record import record
from webhooks.receivers.actions import delete_receiver, send_test
from webhooks.receivers.destinations import change_destination
from webhooks.receivers.serializers import DestinationRecord
from webhooks.receivers.views import DestinationViewSet
from webhooks.replays import replay, retry_delivery
from webhooks.serializers import DeliveryRecord
from webhooks.views import DeliveryViewSet

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = Reply(401)


def state_of(destination: ReceiverRow) -> str:
    return ReceiverRow.objects.get(pk=destination.pk).status


def test_refusals__of_several_requests__hold_them_and_mail_each_owner_once(receiver: Receiver) -> None:
    form = make_form()
    second = User.objects.create_user("second@example.com")
    Membership.objects.create(organization=form.organization, user=second, role="owner")
    destination = to_http(form, receiver.url())
    receiver.reply = REFUSED
    owe(form, 6)
    record(send_due())
    assert len(receiver.requests) == 4  # at a time
    assert (deliver_due(), state_of(destination), statuses()) == (0, "needs_attention", ["held"] * 6)
    send_test(destination)
    assert (deliver_due(), statuses()) == (1, ["held"] * 6 + ["failed"])  # a test is over
    owe(form, 1)
    assert (deliver_due(), statuses()[-1]) == (0, "held")
    assert Notice.objects.filter(kind="destination.needs_attention").count() == 1
    dispatch_notices()
    mails = Delivery.objects.filter(event="notice", message__body__contains="needs attention")
    assert mails.values("target").distinct().count() == mails.count() == 2
    assert totals()["failed"] == 0
    (event,) = AuditEvent.objects.filter(action="destination.needs_attention")
    assert (event.changes or {})["status"] == ["active", "needs_attention"]
    assert "old token" not in str(list(AuditEvent.objects.values()))  # the token


@pytest.mark.parametrize("how", ["config", "status", "test"])
def test_release__sends_everything_in_a_new_round(receiver: Receiver, how: str) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    receiver.reply = REFUSED
    owe(form, 5)
    deliver_due()
    Delivery.objects.update(attempt_count=9)
    receiver.reply = Reply()
    receiver.requests.clear()
    if how == "config":
        change_destination(destination, {"config": http_config(receiver.url(), "new")})
    elif how == "status":
        change_destination(destination, {"status": "active"})
    else:
        send_test(ReceiverRow.objects.get(pk=destination.pk))
    assert deliver_due() == 5 + (how == "test")
    assert (state_of(destination), set(statuses())) == ("active", {"delivered"})
    assert set(Delivery.objects.values_list("attempt_count", flat=True)) == {1}
    assert {one.headers["x-token"] for one in receiver.requests} == {"new" if how == "config" else "old token"}
    assert totals()["delivered"] == 5


def test_refusal__config_is_changed_while_it_is_in_flight__holds_nothing(receiver: Receiver) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    receiver.replies.append(REFUSED)
    owe(form, 1)
    refused = send_due()
    change_destination(destination, {"config": http_config(receiver.url(), "new")})
    record(refused)
    assert (state_of(destination), statuses()) == ("active", ["pending"])
    assert not Notice.objects.exists()


def test_refusal__name_is_changed_while_it_is_in_flight__holds(receiver: Receiver) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    receiver.replies.append(REFUSED)
    owe(form, 1)
    refused = send_due()
    change_destination(destination, {"name": "New"})
    record(refused)
    assert (state_of(destination), statuses()) == ("needs_attention", ["held"])


def test_disabled__in_flight__its_refusal_is_canceled_with_all_others(receiver: Receiver) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    receiver.reply = REFUSED
    owe(form, 5)
    in_flight = send_due()
    change_destination(destination, {"status": "disabled"})
    record(in_flight)
    Delivery.objects.filter(status="pending").update(next_attempt_at="2026-01-01T00:00:00Z")
    deliver_due()
    owe(form, 1)
    assert (state_of(destination), statuses()) == ("disabled", ["canceled"] * 6)
    assert (len(receiver.requests), Notice.objects.count()) == (4, 0)
    receiver.reply = Reply()
    change_destination(destination, {"status": "active"})
    assert deliver_due() == 0
    found = ReceiverRow.objects.get(pk=destination.pk)
    assert replay(found, since=None, until=None, statuses=["canceled"], dry_run=False) == (6, 6)
    assert (deliver_due(), statuses()) == (6, ["delivered"] * 6)


def test_held__disabled__is_canceled(receiver: Receiver) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    receiver.reply = REFUSED
    owe(form, 1)
    deliver_due()
    with pytest.raises(Conflict, match="needs attention"):
        retry_delivery(Delivery.objects.get())
    with pytest.raises(Conflict, match="needs attention"):
        replay(ReceiverRow.objects.get(), since=None, until=None, statuses=["failed"], dry_run=True)
    change_destination(destination, {"status": "disabled"})
    assert statuses() == ["canceled"]


def test_deleted__in_flight__leaves_nothing(receiver: Receiver) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    owe(form, 2)
    in_flight = send_due()
    delete_receiver(destination)
    record(in_flight)
    assert (Delivery.objects.count(), Attempt.objects.count(), len(receiver.requests)) == (0, 0, 2)


def test_changed__deleted_meanwhile__is_not_found(receiver: Receiver) -> None:
    destination = to_http(make_form(), receiver.url())
    stale = ReceiverRow.objects.get(pk=destination.pk)
    delete_receiver(destination)
    with pytest.raises(NotFound):
        change_destination(stale, {"name": "New"})


@pytest.mark.parametrize("rows", [1, 4])
def test_lists__of_destinations_and_of_a_log__need_no_query_for_each_row(
    receiver: Receiver, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    form = make_form()
    destination = to_http(form, receiver.url())
    owe(form, rows)
    deliver_due()
    with django_assert_num_queries(3):  # and one for the attempts, one for their answers
        load_answers(log := list(DeliveryViewSet.queryset.filter(receiver=destination)))
        assert len(DeliveryRecord(log, many=True).data) == rows
    for _ in range(rows):
        to_http(form, receiver.url())
    with django_assert_num_queries(1):
        assert len(DestinationRecord(DestinationViewSet.queryset.all(), many=True).data) == rows + 1


def released(destination: ReceiverRow) -> None:
    change_destination(destination, {"status": "active"})


@pytest.mark.parametrize(("act", "left"), [(released, ["pending"]), (delete_receiver, [])])
def test_dispatch__destination_is_released_or_deleted_meanwhile__holds_nothing_for_ever(
    transactional_db: None,  # noqa: ARG001  # open before it is copied
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[ReceiverRow], None],
    left: list[str],
) -> None:
    with shared_database(tmp_path):
        form = make_form()
        destination = to_http(form, "http://127.0.0.1:9/")
        ReceiverRow.objects.update(status="needs_attention", disabled_reason="x")
        make_webhook(form)  # its message is written in the midst of dispatch
        make_submission(form)
        meanwhile = Meanwhile(lambda: act(destination))
        write_before(monkeypatch, lambda _: meanwhile.begin())
        dispatch_all()
        meanwhile.end()
        dispatch_all()
        assert (statuses(), Delivery.objects.filter(channel="webhook").count()) == (left, 1)


def test_dispatch__spam_and_strangers__go_nowhere(receiver: Receiver) -> None:
    form, stranger = make_form(), make_form()
    second = create_form(organization=form.organization, name="Second", status="published")
    make_destination(form, "http", http_config(receiver.url("/all"), "a"), of_all=True)
    make_destination(second, "http", http_config(receiver.url("/second"), "b"))
    for row in (form, second, stranger):
        make_submission(row)
    spam = make_submission(form, spam=True)
    dispatch_all()
    deliver_due()
    assert sorted(one.path for one in receiver.requests) == ["/all", "/all", "/second"]
    mark_not_spam(spam)
    dispatch_all()
    deliver_due()
    assert (receiver.requests[3].path, len(receiver.requests)) == ("/all", 4)
