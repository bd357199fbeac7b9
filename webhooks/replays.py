"""Retry of one delivery, replay of a range. The message keeps its id and its body."""

import datetime as dt
import time
import uuid
from collections import defaultdict
from typing import Any

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import Conflict, RateLimited
from config.api.find_owned import still_there
from config.api.ratelimit import HOUR, take_share
from config.base.ids import first_id_of
from config.base.nudge import DELIVER, nudge
from config.base.times import MILLISECOND, format_time
from forms_app.consent.recipients import mailable
from forms_app.models import Form
from keys.audit import record_event
from keys.audit.changes import changes
from keys.models import Organization
from submissions.models import Submission
from webhooks.channels.registry import CHANNELS
from webhooks.enqueue import MAIL, host_of
from webhooks.events import SUBMISSION_CREATED, is_secret
from webhooks.models import DESTINATION, WEBHOOK, Delivery, DeliveryQuerySet, Receiver

REPLAYED_TIMES = 10  # an organization's replayed deliveries in an hour, as a multiple of its requests in an hour
AGAIN: dict[str, Any] = {
    "status": Delivery.Status.PENDING,
    "attempt_count": 0,
    "next_attempt_at": Now(),
    "finished_at": None,
    "lease_token": None,
    "lease_until": None,
}


STOPPED = {
    (WEBHOOK, Receiver.Status.PENDING): gettext_lazy("This webhook is pending. Activate it first."),
    (WEBHOOK, Receiver.Status.DISABLED): gettext_lazy("This webhook is disabled. Activate it first."),
    (DESTINATION, Receiver.Status.DISABLED): gettext_lazy("This destination is disabled. Activate it first."),
    (DESTINATION, Receiver.Status.NEEDS_ATTENTION): gettext_lazy(
        "This destination needs attention. Correct it, or send a successful test, first."
    ),
}


def retry_delivery(delivery: Delivery) -> Delivery:
    """
    Make one delivery due now, in a new round.

    Raises Conflict while it is being sent or must not be sent, RateLimited over the organization's replays.
    """
    if delivery.receiver is not None:
        refuse_stopped(delivery.receiver)
    if delivery.submission is not None and delivery.submission.spam:
        raise Conflict(gettext("This submission is marked as spam. Mark it as not spam first."))
    if delivery.status == Delivery.Status.RECORDED:
        raise Conflict(gettext("Mails of test submissions are not sent. Their text is in the log."))
    if is_secret(delivery.event):
        raise Conflict(gettext("This mail had a code or a link, which is not kept. Request or send a new one."))
    if CHANNELS[delivery.channel].gate(delivery) != Delivery.Status.PENDING:
        raise Conflict(gettext("This delivery cannot be sent now. Activate its destination first."))
    refuse_replays(delivery.organization, 1)
    host = delivery.host if delivery.receiver is None else host_of(delivery.receiver.url)
    if not Delivery.objects.filter(pk=delivery.pk).not_leased().update(**AGAIN, host=host):
        still_there(Delivery.objects.all(), delivery.pk)
        raise Conflict(gettext("This delivery is being sent now. Wait for its result first."))
    transaction.on_commit(lambda: nudge(DELIVER))
    again = Delivery.objects.select_related("message", "receiver")
    return still_there(again.defer("message__body", "receiver__config"), delivery.pk)


def refuse_stopped(receiver: Receiver) -> None:
    """Raise Conflict for a receiver that is not active."""
    if receiver.status != Receiver.Status.ACTIVE:
        raise Conflict(str(STOPPED[receiver.channel, Receiver.Status(receiver.status)]))


def refuse_replays(organization: Organization | None, count: int) -> None:
    """
    Count deliveries that are sent again, and raise RateLimited over ten times the plan's requests in an hour.

    The count is read and written without a lock: two replays at the same time may both pass.
    """
    if organization is None or count == 0:
        return
    hour, seconds = divmod(int(time.time()), HOUR)
    key = f"replayed-{organization.pk}-{hour}"
    most, before = REPLAYED_TIMES * organization.hourly_limit, int(cache.get(key, 0))
    if before + count > most:
        message = gettext(
            "At most %(most)s deliveries can be sent again in an hour, and %(before)s were. "
            "Choose fewer days, or try again later."
        ) % {"most": intcomma(most), "before": intcomma(before)}
        raise RateLimited(message, headers={"Retry-After": str(HOUR - seconds)})
    cache.set(key, before + count, HOUR)


def replay(
    receiver: Receiver,
    *,
    since: dt.datetime | None,
    until: dt.datetime | None,
    statuses: list[str],
    dry_run: bool,
) -> tuple[int, int]:
    """
    Resend the deliveries of submissions received at `since` or later and before `until` to a webhook or destination.

    Returns how many deliveries match and how many are due now: none in a dry run. Raises Conflict unless the receiver
    is active, RateLimited over the organization's replays or replayed deliveries of an hour.
    """
    refuse_stopped(receiver)
    # Not by a join: Django would move all these conditions into a subquery, and a row that was claimed while the
    # UPDATE waited for it would be reset while it is being sent.
    unfit = Q(spam=True)
    if receiver.mode != Receiver.Mode.BOTH:
        tests = Q(counted_as=Submission.CountedAs.TEST)
        unfit |= ~tests if receiver.mode == Receiver.Mode.TEST else tests
    never = Submission.objects.filter(unfit, pk=OuterRef("submission_id"))
    matching = receiver.deliveries.filter(~Exists(never), submission__isnull=False, status__in=statuses).not_leased()
    if since:
        matching = matching.filter(submission_id__gte=first_id_of(since))
    if until:
        matching = matching.filter(submission_id__lt=first_id_of(until))
    matched = matching.count()
    if dry_run:
        return matched, 0
    _count_replay(receiver.organization, matched)
    replayed = matching.update(**AGAIN, host=host_of(receiver.url))
    subject = f"{receiver.subject}: {replayed:,} deliveries"
    _record(receiver.organization, f"{receiver.channel}.replayed", subject, since, until, statuses)
    return replayed, replayed


def replay_mails(
    organization: Organization,
    *,
    form: Form | None = None,
    since: dt.datetime,
    until: dt.datetime,
    statuses: list[str],
    dry_run: bool,
    is_limited: bool = True,
) -> tuple[int, int]:
    """
    Resend the mails about submissions received at `since` or later and before `until`, of one form or of all.

    Mails of other events, such as codes and replies, are left out, and so are addresses that are no recipients any more
    or have stopped the mails. Returns how many match and how many are due now: none in a dry run. `is_limited`: False
    for an operator. Raises RateLimited over the organization's replays or replayed deliveries of an hour.
    """
    ended = Delivery.objects.filter(
        organization=organization,
        channel=MAIL,
        event=SUBMISSION_CREATED.name,
        status__in=statuses,
        submission_id__gte=first_id_of(since),
        submission_id__lt=first_id_of(until),
    ).not_leased()
    parts = _to_recipients(ended, form)
    matched = sum(part.count() for part in parts)
    if dry_run:
        return matched, 0
    if is_limited:
        _count_replay(organization, matched)
    with transaction.atomic():
        replayed = sum(part.update(**AGAIN) for part in parts)
        subject = f"{form}: {replayed:,} mails" if form else f"{replayed:,} mails"
        _record(organization, "mails.replayed", subject, since, until, statuses)
    return replayed, replayed


def _count_replay(organization: Organization, matched: int) -> None:
    take_share("replay", organization.pk, settings.REPLAYS)
    refuse_replays(organization, matched)


def _record(
    organization: Organization,
    action: str,
    subject: str,
    since: dt.datetime | None,
    until: dt.datetime | None,
    statuses: list[str],
) -> None:
    """Record a replay, and wake the deliverer after the commit."""
    chosen = {"from": format_time(since), "to": until and format_time(until - MILLISECOND), "status": statuses}
    record_event(organization=organization, action=action, subject=subject, changes=changes({}, chosen))
    transaction.on_commit(lambda: nudge(DELIVER))


def _to_recipients(ended: DeliveryQuerySet, form: Form | None) -> list[DeliveryQuerySet]:
    """
    Split mails about submissions to those that may be sent now: a part for each set of addresses, without a join.

    Spam is left out. `replay` says why no part has a join.
    """
    of_form = {} if form is None else {"submission__form": form}
    sent: dict[uuid.UUID, set[str]] = defaultdict(set)
    for form_id, target in ended.filter(**of_form).values_list("submission__form", "target").distinct():
        sent[form_id].add(target)
    live = Submission.objects.filter(spam=False).of_mode(test=False)
    alike: dict[frozenset[str], list[uuid.UUID]] = defaultdict(list)
    for form_id, addresses in mailable(Form.objects.filter(pk__in=sent)).items():
        wanted = {address.lower() for address in addresses}
        alike[frozenset(target for target in sent[form_id] if target.lower() in wanted)].append(form_id)
    return [
        ended.filter(
            Exists(live.filter(pk=OuterRef("submission_id"), form__in=forms)),
            target__in=targets,
        )
        for targets, forms in alike.items()
        if targets
    ]
