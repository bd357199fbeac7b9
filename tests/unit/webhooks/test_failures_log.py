"""Log lines of failed deliveries: what leads to the cause, and nothing of the receiver but its host."""

import uuid

import pytest
from django.db import OperationalError, connection

from config.base.ids import Prefix, encode_id
from submissions.models import Submission
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form, make_submission, make_webhook
from webhooks.models import Delivery
from webhooks.outbox import failures_log
from webhooks.outbox.failures_log import log_failed

pytestmark = pytest.mark.django_db
FIELDS = ("delivery", "submission", "request_id", "channel", "host", "attempts", "error", "delivery_event")


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    records = [record for record in caplog.records if record.name == failures_log.__name__]
    assert {record.getMessage() for record in records} <= {"delivery failed"}
    return [{name: getattr(record, name, None) for name in FIELDS} for record in records]


def failed_delivery(**values: object) -> Delivery:
    form = make_form(**values)
    if not values:
        make_webhook(form, url="https://hooks.example/in?token=secret")
    make_submission(form, controls={Submission.REQUEST_ID: "req-1"})
    dispatch_all()
    delivery = Delivery.objects.get(organization=form.organization, submission__isnull=False)
    Delivery.objects.filter(pk=delivery.pk).update(attempt_count=7)
    return delivery


def test_log_failed__of_a_webhook__has_the_request_and_the_host_without_its_url(
    caplog: pytest.LogCaptureFixture,
) -> None:
    delivery = failed_delivery()
    assert delivery.submission_id is not None
    log_failed({delivery.pk: "timeout"})
    assert lines(caplog) == [
        {
            "delivery": delivery.public_id,
            "submission": encode_id(Prefix.SUBMISSION, delivery.submission_id),
            "request_id": "req-1",
            "channel": "webhook",
            "host": "hooks.example",
            "attempts": 7,
            "error": "timeout",
            "delivery_event": "submission.created",
        }
    ]
    assert "secret" not in str([vars(record) for record in caplog.records])


def test_log_failed__of_a_mail__has_the_domain_without_the_person(caplog: pytest.LogCaptureFixture) -> None:
    delivery = failed_delivery(notification_recipients=["ada.lovelace@mail.example"])
    log_failed({delivery.pk: "mail_refused"})
    (line,) = lines(caplog)
    assert (line["host"], line["channel"], line["request_id"]) == ("mail.example", "mail", "req-1")
    assert "lovelace" not in str([vars(record) for record in caplog.records])


def test_log_failed__submission_of_an_earlier_release__has_an_empty_request_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    delivery = failed_delivery()
    Submission.objects.update(controls={})
    log_failed({delivery.pk: "timeout"})
    assert [line["request_id"] for line in lines(caplog)] == [""]


def test_log_failed__nothing_or_deleted__is_silent(caplog: pytest.LogCaptureFixture) -> None:
    log_failed({})
    log_failed({uuid.uuid4(): "timeout"})
    assert lines(caplog) == []


def test_log_failed__database_that_is_gone__logs_less_and_raises_nothing(caplog: pytest.LogCaptureFixture) -> None:
    delivery = failed_delivery()

    def fail(*_arguments: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(fail):
        log_failed({delivery.pk: "timeout"})
    (line,) = lines(caplog)
    assert (line["delivery"], line["error"], line["host"]) == (delivery.public_id, "timeout", None)
