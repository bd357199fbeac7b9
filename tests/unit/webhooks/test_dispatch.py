"""From submissions to deliveries: once, all or nothing, and one bad row stops no other (docs/adr/0002)."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from forms_app.actions import create_form
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all, write_before
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook, make_webhook_of_all_forms, totals
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database
from webhooks.channels.page_named import MAX_PENDING
from webhooks.models import Delivery, Message, Receiver
from webhooks.outbox import dispatch
from webhooks.outbox.dispatch import dispatch_batch
from webhooks.payloads import submission_message
from webhooks.receivers.registration import change_webhook

POISON = "poison"
NOTHING_COUNTED = {"received": 0, "kept": 0, "spam": 0, "delivered": 0, "failed": 0}


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


@pytest.fixture
def poisonous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the message of a submission that holds the word fail."""

    def refuse(row: Submission) -> None:
        if POISON in row.data.values():
            raise ValueError(POISON)

    write_before(monkeypatch, refuse)


def owed() -> set[object]:
    return set(Submission.objects.undispatched().values_list("pk", flat=True))


@pytest.mark.django_db
def test_dispatch__submission__owes_each_webhook_and_address_one_delivery() -> None:
    form = make_form(notification_recipients=["ana@example.com", "bo@example.com"])
    webhooks = [make_webhook(form) for _ in range(2)]
    make_webhook(form, status="pending")
    make_webhook(make_form())
    row = make_submission(form)
    assert dispatch_all() == 1
    made = Delivery.objects.order_by("id")
    mails = [("mail", None, f"{name}@example.com", "") for name in ("ana", "bo")]
    assert list(made.values_list("channel", "receiver_id", "target", "host")) == [
        *(("webhook", webhook.pk, webhook.public_id, "127.0.0.1:9") for webhook in webhooks),
        *mails,
    ]
    assert set(made.values_list("event", "message_id")) == {("submission.created", row.pk)}
    assert {(delivery.submission_id, delivery.status, delivery.attempt_count) for delivery in made} == {
        (row.pk, "pending", 0)
    }
    message = Message.objects.get()
    assert (message.body, message.submission_id) == (submission_message(row, form.name), row.pk)
    assert Delivery.objects.due().count() == 4
    assert totals() == {**NOTHING_COUNTED, "received": 1, "kept": 1}


@pytest.mark.django_db
def test_dispatch__twice__makes_one_delivery() -> None:
    form = make_form(notification_recipients=["ana@example.com"])
    make_webhook(form)
    make_submission(form)
    assert (dispatch_all(), dispatch_all()) == (1, 0)
    before = list(Delivery.objects.values())
    Submission.objects.update(dispatched_at=None)  # as after "not spam": dispatched again, counted already
    assert dispatch_all() == 1
    assert list(Delivery.objects.values()) == before
    assert totals()["received"] == 1


@pytest.mark.django_db
def test_dispatch__spam__makes_no_delivery_and_is_counted_as_spam() -> None:
    form = make_form(notification_recipients=["ana@example.com"])
    make_webhook(form)
    make_submission(form, spam=True, spam_reasons=["honeypot"])
    assert dispatch_all() == 1
    assert not Delivery.objects.exists()
    assert totals() == {**NOTHING_COUNTED, "received": 1, "spam": 1}


@pytest.mark.django_db
def test_dispatch__more_than_a_batch__goes_on_until_nothing_is_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ROWS_A_BATCH", 4)
    form = make_form()
    make_webhook(form)
    for _ in range(10):
        make_submission(form)
    assert (dispatch_batch(), dispatch_all()) == (4, 6)
    assert Delivery.objects.count() == totals()["received"] == 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["make_deliveries", "count_rows", "apply_moves"])
def test_dispatch__killed_inside_the_transaction__leaves_the_row_owed(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    form = make_form()
    make_webhook(form)
    row = make_submission(form)
    real = getattr(dispatch, step)

    def die(*arguments: object) -> None:
        real(*arguments)
        raise SystemExit  # no Exception: nothing may catch it, as nothing catches a SIGKILL

    monkeypatch.setattr(dispatch, step, die)
    with pytest.raises(SystemExit):
        dispatch_all()
    assert owed() == {row.pk}
    assert not Delivery.objects.exists()
    assert totals() == NOTHING_COUNTED
    monkeypatch.setattr(dispatch, step, real)
    assert dispatch_all() == Delivery.objects.count() == totals()["received"] == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("poisonous")
def test_dispatch__one_poison_row__stays_owed_and_stops_no_other() -> None:
    form = make_form()
    make_webhook(form)
    rows = [make_submission(form, data={"text": POISON if number == 2 else "fine"}) for number in range(5)]
    assert dispatch_all() == 4
    assert owed() == {rows[2].pk}
    assert Delivery.objects.count() == totals()["received"] == 4
    make_submission(form)
    assert dispatch_all() == 1
    assert Delivery.objects.count() == totals()["received"] == 5


@pytest.mark.django_db
def test_dispatch__row_that_cannot_even_be_read__stops_no_other() -> None:
    form = make_form()
    make_webhook(form)
    rows = [make_submission(form) for _ in range(3)]
    with connection.cursor() as cursor:
        pk = connection.ops.adapt_unknown_value(rows[0].pk) if connection.vendor == "postgresql" else rows[0].pk.hex
        cursor.execute("UPDATE submissions_submission SET data = %s WHERE id = %s", ["{broken", pk])
    assert dispatch_all() == 2
    assert owed() == {rows[0].pk}
    assert Delivery.objects.count() == 2


@pytest.mark.usefixtures("shared")
def test_dispatch__eight_dispatchers__make_each_delivery_once_and_the_tallies_are_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "ROWS_A_BATCH", 7)
    forms = [make_form(notification_recipients=["ana@example.com"]) for _ in range(4)]
    for form in forms:
        make_webhook(form)
    for number in range(200):
        make_submission(forms[number % 4], spam=number % 10 == 0, spam_reasons=["honeypot"] if number % 10 == 0 else [])
    assert sum(run_side_by_side(dispatch_all)) == 200
    assert owed() == set()
    assert Delivery.objects.count() == 2 * 180
    assert totals() == {**NOTHING_COUNTED, "received": 200, "kept": 180, "spam": 20}


@pytest.mark.usefixtures("shared")
def test_dispatch__eight_dispatchers_and_many_named_urls__leave_at_most_twenty_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "ROWS_A_BATCH", 3)
    forms = [make_form() for _ in range(2)]
    for number in range(80):
        make_submission(forms[number % 2], controls={"_webhook": f"http://127.0.0.1:9/{number}"})
    assert sum(run_side_by_side(dispatch_all)) == 80
    for form in forms:
        assert Receiver.objects.filter(form=form, status="pending").count() == MAX_PENDING
    assert Delivery.objects.filter(status="held").count() == Delivery.objects.count() == 2 * MAX_PENDING


@pytest.mark.usefixtures("shared")
def test_dispatch__pending_webhook_activated_meanwhile__holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The activation either waits for the dispatch under way or is seen by it; held deliveries are always sent."""
    form = make_form()
    webhook = make_webhook(form, status="pending")
    make_submission(form, controls={"_webhook": webhook.url})
    activation = threading.Thread(target=activate, args=(webhook,))

    def activate_meanwhile(_row: Submission) -> None:
        activation.start()
        activation.join(timeout=0.5)  # over by now, unless it waits for us

    write_before(monkeypatch, activate_meanwhile)
    assert dispatch_all() == 1
    activation.join()
    assert Delivery.objects.get().status == "pending"
    assert Receiver.objects.get(pk=webhook.pk).status == "active"


def activate(webhook: Receiver) -> None:
    try:
        change_webhook(webhook, {"status": "active"})
    finally:
        connection.close()


@pytest.mark.django_db
def test_dispatch__webhooks_of_all_forms__get_every_form_of_their_organization_in_one_query() -> None:
    form, stranger = make_form(), make_form()
    wide, foreign = make_webhook_of_all_forms(form), make_webhook_of_all_forms(stranger)
    own = make_webhook(form)
    make_webhook_of_all_forms(form, events=[])
    make_webhook_of_all_forms(form, status="disabled", disabled_reason="Disabled by hand.")
    later = create_form(organization=form.organization, name="Later", status="published")
    rows = [make_submission(one) for one in (form, later, stranger)]
    with CaptureQueriesContext(connection) as queries:
        dispatch_all()
    assert sum('FROM "webhooks_receiver"' in query["sql"] for query in queries.captured_queries) == 2
    found = Delivery.objects.exclude(status="canceled").values_list("submission", "receiver")
    assert set(found) == {
        (rows[0].pk, own.pk),
        (rows[0].pk, wide.pk),
        (rows[1].pk, wide.pk),
        (rows[2].pk, foreign.pk),
    }


@pytest.mark.django_db
@pytest.mark.parametrize("state", [{}, {"status": "disabled", "disabled_reason": "Disabled by hand."}])
def test_dispatch__page_names_the_url_of_all_forms__adds_no_delivery_and_no_webhook(state: dict[str, str]) -> None:
    form = make_form()
    wide = make_webhook_of_all_forms(form, **state)
    make_submission(form, controls={"_webhook": wide.url})
    dispatch_all()
    assert [delivery.webhook_id for delivery in Delivery.objects.all()] == [wide.pk]
    assert list(Receiver.objects.all()) == [wide]


@pytest.mark.django_db
def test_dispatch__named_url_on_two_forms__tells_it_once() -> None:
    """The form's own webhook has the URL that the page names, and so has another form's."""
    other, form = make_form(), make_form()
    form.organization, form.key = other.organization, "another"
    form.save(update_fields=["organization", "key"])
    make_webhook(other, url="http://127.0.0.1:9/same")
    own = make_webhook(form, url="http://127.0.0.1:9/same")
    make_submission(form, controls={"_webhook": own.url})
    dispatch_all()
    assert [delivery.webhook_id for delivery in Delivery.objects.all()] == [own.pk]
