"""The actions on receivers of every kind: disable, delete, test. API and dashboard call the same functions."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict
from config.api.find_owned import still_there
from config.api.ratelimit import take_share
from config.base.nudge import DELIVER, nudge
from forms_app.models import Form
from keys.audit.changes import values_of
from keys.models import Organization
from submissions.models import Submission
from webhooks.channels.receiver_status import (
    DISABLED,
    INSTEAD,
    NEEDS_ATTENTION,
    activate,
    disable,
    record,
)
from webhooks.enqueue import enqueue, target_of
from webhooks.events import TEST
from webhooks.models import Delivery, Receiver
from webhooks.replays import refuse_stopped
from webhooks.retention import delete_hidden

COUNTED_TO = 1_000  # held deliveries; a larger number is not counted further
DISABLED_BY_HAND = gettext_noop("Disabled by hand.")


def recorded(receiver: Receiver) -> dict[str, Any]:
    """Return what the audit trail records: of a config only that it is another one, and of the secrets nothing."""
    names = ("url", "events") if receiver.is_webhook else ("name", "config")
    return values_of(receiver, *names, "mode", "status", "form_id")


def check_form(form: Form | None) -> None:
    """Raise Conflict for an archived form."""
    if form is not None and form.status == Form.Status.ARCHIVED:
        raise Conflict(gettext("This form is archived and takes no more submissions. Choose another form."))


@contextmanager
def adding(form: Form | None) -> Iterator[None]:
    """Lock the form, which could be erased now. Raises NotFound if it was."""
    with transaction.atomic():
        if form is not None:
            still_there(Form.objects.select_for_update(no_key=True), form.pk)
        yield


@contextmanager
def changing(receiver: Receiver) -> Iterator[Receiver]:
    """Lock a receiver, and record the changes. Raises NotFound if it was deleted meanwhile."""
    with transaction.atomic():
        found = still_there(Receiver.objects.select_for_update(), receiver.pk)
        before = recorded(found)
        yield found
        found.refresh_from_db()
        if recorded(found) != before:
            record(found, "changed", before, recorded(found))


def move(receiver: Receiver, status: str) -> None:
    """Give a locked receiver another status. Disabling cancels pending and held deliveries, activating sends these."""
    if status != receiver.status:
        if status == DISABLED:
            disable(receiver, DISABLED_BY_HAND)
        else:
            activate(receiver)


def change_mode(receiver: Receiver, mode: str) -> None:
    """Give a locked receiver another mode. Deliveries of the other mode that wait are canceled."""
    if mode == receiver.mode:
        return
    receiver.mode = mode
    receiver.save(update_fields=["mode"])
    if mode != Receiver.Mode.BOTH:
        others = Submission.objects.of_mode(test=mode == Receiver.Mode.LIVE).filter(pk=OuterRef("submission_id"))
        waiting = receiver.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
        waiting.filter(Exists(others), lease_token=None).update(
            status=Delivery.Status.CANCELED, next_attempt_at=None, finished_at=Now()
        )


def disable_receiver(receiver: Receiver) -> dict[str, str]:
    """Disable a receiver by hand. Return its status and the database's time before, which `undo_disabling` takes."""
    with changing(receiver) as found:
        if found.status == DISABLED:
            raise Conflict(gettext("This destination is disabled already."))
        moments = Receiver.objects.annotate(moment=Now()).values_list("moment", flat=True)
        since: dt.datetime = moments.get(pk=found.pk)
        # SQLite compares text: three digits of a second, as the database writes them, are less than the same six.
        since -= dt.timedelta(milliseconds=1)
        kept = {"status": found.status, "reason": found.disabled_reason, "since": since.isoformat()}
        move(found, DISABLED)
    return kept


def undo_disabling(receiver: Receiver, kept: Mapping[str, str]) -> int:
    """
    Give a receiver that was disabled by hand the status before, and its deliveries too; return how many were restored.

    They keep their attempts, and the endpoint its health. Those of spam stay canceled. Raises Conflict if it is not
    disabled by hand any more.
    """
    with changing(receiver) as found:
        if found.disabled_reason != DISABLED_BY_HAND:
            raise Conflict(gettext("The destination was changed in the meantime. Nothing was undone."))
        found.status, found.disabled_reason = kept["status"], kept["reason"]
        found.save(update_fields=["status", "disabled_reason"])
        spam = Submission.objects.filter(pk=OuterRef("submission_id"), spam=True)
        since = dt.datetime.fromisoformat(kept["since"])
        canceled = found.deliveries.filter(~Exists(spam), status=Delivery.Status.CANCELED, finished_at__gte=since)
        if found.status in INSTEAD:
            held = canceled.exclude(event=TEST.name)
            restored = held.update(status=INSTEAD[Receiver.Status(found.status)], finished_at=None)
        else:
            restored = canceled.update(status=Delivery.Status.PENDING, next_attempt_at=Now(), finished_at=None)
        transaction.on_commit(lambda: nudge(DELIVER))
    return restored


def delete_receiver(receiver: Receiver) -> None:
    """Delete a receiver with its log; of a long log, the rest is deleted by the next hourly clean-up."""
    with transaction.atomic():
        found = Receiver.objects.select_for_update().filter(pk=receiver.pk).first()
        if found is not None:
            record(found, "deleted", recorded(found), {})
            found.hide()
    if found is not None:
        delete_hidden(found)


def send_test(receiver: Receiver) -> Delivery:
    """
    Queue a test event: one attempt, in the same log. A successful one releases a receiver that needs attention.

    Raises Conflict for a pending or disabled one, RateLimited after an organization's TEST_EVENTS.
    """
    if receiver.status != NEEDS_ATTENTION:
        refuse_stopped(receiver)
    take_share("test-event", receiver.organization_id, settings.TEST_EVENTS)
    organization = receiver.organization_id
    example_of = receiver.form or Form.objects.get(organization=organization, is_default=True)
    with transaction.atomic():
        still_there(Receiver.objects.select_for_update(no_key=True), receiver.pk)
        (test,) = enqueue(TEST, example_of, [target_of(receiver)], organization_id=organization)
        transaction.on_commit(lambda: nudge(DELIVER))
        return Delivery.objects.select_related("message", "receiver").defer("message__body").get(pk=test.pk)


def held_for(receivers: Collection[Receiver]) -> dict[uuid.UUID, int]:
    """Return the number of held deliveries of each receiver that has some, each counted to COUNTED_TO."""
    held = Delivery.objects.filter(status=Delivery.Status.HELD)
    counts = {each.pk: held.filter(receiver=each)[: COUNTED_TO + 1].count() for each in receivers}
    return {pk: count for pk, count in counts.items() if count}


def needing_attention(organization: Organization) -> QuerySet[Receiver]:
    return Receiver.objects.filter(organization=organization, status=NEEDS_ATTENTION)
