"""The delivery log is kept for 30 days (docs/contract.md 7)."""

import datetime as dt
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from config.base.ids import first_id_of
from config.base.times import now
from config.clean_up import delete_in_batches
from submissions.models import SubmitterMail
from webhooks.mails.submitters import delivery_keys
from webhooks.models import Attempt, Delivery, Message, Receiver

LOG_KEPT = dt.timedelta(days=30)
DELETED_IN_REQUEST = 1_000  # deliveries of a receiver; the log of one with more is deleted by the next hourly clean-up
DELIVERIES_A_BATCH = 100  # each with up to 50 attempts


def lock_deliveries(submissions: Sequence[uuid.UUID]) -> None:
    """
    Lock the deliveries of submissions that are about to be deleted with them.

    So a worker that is recording an attempt of one has committed it, and it is deleted too, or finds no delivery.
    """
    locked = Delivery.objects.filter(submission__in=submissions).order_by("pk").select_for_update()
    list(locked.values_list("pk"))


def drop_submitter_mails(submissions: Sequence[uuid.UUID]) -> None:
    """Delete the mails to the submitters of submissions that are about to be deleted, pending ones too."""
    found = Delivery.objects.filter(key__in=delivery_keys(submissions)).order_by("pk").select_for_update()
    messages = dict(found.values_list("pk", "message_id"))
    if messages:
        Delivery.objects.filter(pk__in=messages).delete()
        Message.objects.filter(pk__in=set(messages.values())).delete()


def purge_submitter_mails() -> int:
    """Delete the decisions about mails to submitters of more than 30 days ago; return how many rows."""
    oldest_kept = now() - LOG_KEPT
    # The condition on `created_at` follows from the other, and has the index.
    return delete_in_batches(
        SubmitterMail.objects.filter(created_at__lt=oldest_kept, decided_at__lt=oldest_kept), by="created_at"
    )


def purge_log() -> int:
    """
    Delete attempts, and finished and held deliveries, of more than 30 days ago; then messages without a delivery.

    Returns how many rows. In batches of 1,000.
    """
    oldest_kept = now() - LOG_KEPT
    held = Delivery.objects.filter(status=Delivery.Status.HELD, id__lt=first_id_of(oldest_kept))
    finished = Delivery.objects.filter(finished_at__lt=oldest_kept)
    attempts = Attempt.objects.filter(started_at__lt=oldest_kept)
    drop_outdated_mails()
    deleted = delete_in_batches(attempts, by="started_at") + delete_in_batches(finished, by="finished_at")
    # Held ones by their ids, which carry the time and have the index: of the old ones only unfinished are left.
    return deleted + delete_in_batches(held, by="id") + _purge_messages()


def drop_outdated_mails() -> int:
    """Cancel mails whose code or link is out of date, and drop their bodies; return how many bodies."""
    outdated = Message.objects.filter(expires_at__lt=now())
    unsent = Delivery.objects.filter(message__in=outdated, status=Delivery.Status.PENDING).not_leased()
    unsent.update(status=Delivery.Status.CANCELED, next_attempt_at=None, finished_at=Now())
    return outdated.exclude(secret="").update(secret="")


def _purge_messages() -> int:
    """
    Delete messages whose last delivery is gone; return how many.

    Only old ones: a young message may be about to get a delivery. The ids carry the time and have the index.
    """
    old = Message.objects.filter(id__lt=first_id_of(now() - LOG_KEPT))
    return delete_in_batches(old.filter(~Exists(Delivery.objects.filter(message=OuterRef("pk")))), by="id")


def delete_hidden(receiver: Receiver) -> None:
    """Delete a hidden receiver with its log, unless that is so long that the next clean-up does it."""
    if receiver.deliveries.order_by()[: DELETED_IN_REQUEST + 1].count() <= DELETED_IN_REQUEST:
        _finish_deleting(receiver)


def delete_all_hidden() -> int:
    """Delete the hidden receivers with their logs; return how many. Not of suspended organizations."""
    hidden = list(Receiver._base_manager.filter(deleted_at__isnull=False, organization__suspended_at=None))
    for receiver in hidden:
        _finish_deleting(receiver)
    return len(hidden)


def _finish_deleting(receiver: Receiver) -> None:
    """Delete a log in batches, a commit each, so that nobody waits for a lock, then its receiver."""
    while _delete_log(receiver):  # again: a dispatch that began before may have written behind the last one read
        pass
    with transaction.atomic():
        # Locked first, so that a dispatch or a worker that is writing to its log has finished, or fails.
        for found in Receiver._base_manager.select_for_update().filter(pk=receiver.pk):
            found.delete()


def _delete_log(receiver: Receiver) -> int:
    log = receiver.deliveries.order_by("-id").values_list("pk", flat=True)
    deleted, rest = 0, log
    while batch := list(rest[:DELIVERIES_A_BATCH]):
        delete_in_batches(Attempt.objects.filter(delivery__in=batch), by="id")  # one may have thousands
        with transaction.atomic():
            # Locked first, so that a worker that is recording an attempt has finished, or finds no delivery.
            list(Delivery.objects.filter(pk__in=batch).order_by("pk").select_for_update().values_list("pk"))
            deleted += Delivery.objects.filter(pk__in=batch).delete()[0]
        rest = log.filter(pk__lt=batch[-1])  # from the start, it would pass all deleted rows again, until a vacuum
    return deleted
