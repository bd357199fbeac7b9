"""
The activity of a submission, in order.

accepted -> stored -> dispatched -> each attempt of each delivery -> its result (docs/contract.md 7).
"""

import dataclasses
import datetime as dt
import json
import uuid
from collections.abc import Iterator

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Q, QuerySet
from django.utils.translation import gettext, gettext_lazy, ngettext

from config.base.database import snapshot
from config.base.times import now
from keys.choices import within_sentence
from submissions.confirmations import KEPT_UNCONFIRMED
from submissions.models import Consent, Submission, SubmitterMail
from webhooks.enqueue import MAIL
from webhooks.events import is_secret
from webhooks.kinds.registry import KINDS
from webhooks.mails.submitters import delivery_keys
from webhooks.models import Attempt, Delivery, Receiver
from webhooks.retention import LOG_KEPT

MAX_DELIVERIES = 100  # of one submission
MAX_ATTEMPTS = 200
MAIL_HEADERS = ("From", "To", "Subject", "Reply-To")  # that a mail program shows
REFUSAL = SubmitterMail.Refusal
WHY_NOT = {
    REFUSAL.NO_ADDRESS: gettext_lazy("Its Email field is empty."),
    REFUSAL.BAD_ADDRESS: gettext_lazy("Its Email field does not hold exactly one address."),
    REFUSAL.PROGRAM: gettext_lazy("The address is that of a program, which would answer the mail."),
    REFUSAL.NO_CHECK: gettext_lazy("It came with a secret key and without a human check."),
    REFUSAL.OPTED_OUT: gettext_lazy("The recipient has ended mails from this organization."),
    REFUSAL.OFF: gettext_lazy("It was turned off, or nothing waited for it any more."),
    REFUSAL.SPAM: gettext_lazy("The submission was marked as spam."),
    REFUSAL.FORM_AND_ADDRESS: gettext_lazy("This form has mailed the address in the last 24 hours."),
    REFUSAL.ORGANIZATION_AND_ADDRESS: gettext_lazy(
        "The organization has mailed the address 3 times in the last 24 hours."
    ),
    REFUSAL.FORM: gettext_lazy("This form has sent 20 such mails in the last hour."),
    REFUSAL.TEST: gettext_lazy("It is a test submission: the mail is in the log, and was not sent."),
}
STATUS = Delivery.Status
GOOD, BAD, WAITING, NEUTRAL = "good", "bad", "warn", "neutral"


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """
    One thing that happened, or will happen (`is_ahead`), at `at`.

    `look`: good, bad, warn or neutral. `target`: the URL or address, if it concerns one delivery. `answer`: the first
    4 KiB of the answer to the attempt `attempt`. `mail`: what a test would have mailed by the delivery `mail_of`.
    `delivery`: set on the current state of a delivery, which can be retried there.
    """

    at: dt.datetime | None
    title: str
    detail: str = ""
    look: str = NEUTRAL
    target: str = ""
    answer: str = ""
    attempt: int | None = None
    mail: str = ""
    mail_of: str = ""
    delivery: Delivery | None = None
    is_ahead: bool = False


def tell_story(submission: Submission) -> list[Moment]:
    """Return everything that happened to a submission, oldest first; the last moments may be ahead."""
    with snapshot() as alias:  # a result recorded between the two reads would show as succeeded and as being sent
        found = list(_deliveries_of(submission).using(alias)[: MAX_DELIVERIES + 1])
        deliveries = found[:MAX_DELIVERIES]
        attempts = list(_attempts_of(deliveries).using(alias)[: MAX_ATTEMPTS + 1])
        mails = _mails_of(deliveries, alias) if submission.is_test else {}
    has_deliveries = any(delivery.submission_id for delivery in deliveries)
    moments = [
        *_beginning(submission),
        *_to_submitter(submission),
        *_dispatch(submission, has_deliveries=has_deliveries),
        *_attempts(deliveries, attempts[:MAX_ATTEMPTS]),
        *_states(submission, deliveries, mails),
    ]
    if len(found) > MAX_DELIVERIES:
        title = gettext("More than %(most)s deliveries") % {"most": MAX_DELIVERIES}
        moments.append(Moment(None, title, gettext("The others are listed under Deliveries.")))
    if len(attempts) > MAX_ATTEMPTS:
        title = gettext("More than %(most)s attempts") % {"most": MAX_ATTEMPTS}
        moments.append(Moment(None, title, gettext("Only the newest are shown here.")))
    latest = dt.datetime.max.replace(tzinfo=dt.UTC)
    return sorted(moments, key=lambda moment: (moment.is_ahead, moment.at or latest))


def is_settled(submission: Submission, story: list[Moment]) -> bool:
    """Return whether nothing more will happen by itself."""
    return submission.dispatched_at is not None and not any(moment.is_ahead for moment in story)


def takes_deliveries(delivery: Delivery) -> bool:
    """Return whether the receiver of a delivery is active; True for mails."""
    return delivery.receiver is None or delivery.receiver.status == Receiver.Status.ACTIVE


def target_of(delivery: Delivery) -> str:
    """Return the target of a delivery as people know it: a webhook's URL, a name with its service, a mail address."""
    receiver = delivery.receiver
    if receiver is None:
        return delivery.target
    kind = KINDS.get(receiver.kind)
    return str(receiver) if receiver.is_webhook else f"{kind.label if kind else receiver.kind}: {receiver}"


def _shown_target(delivery: Delivery) -> str:
    """Return the target; of a mail to the submitter with its kind, as there may be two."""
    target = target_of(delivery)
    return target if delivery.submission_id else f"{delivery.event_label}: {target}"


def _deliveries_of(submission: Submission) -> QuerySet[Delivery]:
    """Return the deliveries of a submission, and those to its submitter. Each half has its index."""
    found = Delivery.objects.present().filter(Q(submission=submission) | Q(key__in=delivery_keys([submission.pk])))
    return found.select_related("receiver").order_by("id")


def _attempts_of(deliveries: list[Delivery]) -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__in=deliveries).defer("request").order_by("-id")


def _mails_of(deliveries: list[Delivery], using: str) -> dict[uuid.UUID, str]:
    """Return the mails of a test by their deliveries, as a mail program shows them."""
    own = [delivery.pk for delivery in deliveries if delivery.channel == MAIL]
    requests = Attempt.objects.using(using).filter(delivery__in=own).exclude(request="")
    mails = {}
    for pk, request in requests.values_list("delivery", "request"):
        mail = json.loads(request)
        shown = [f"{name}: {mail['headers'][name]}" for name in MAIL_HEADERS if name in mail["headers"]]
        mails[pk] = "\n".join([*shown, "", mail["body"]])
    return mails


def _beginning(submission: Submission) -> Iterator[Moment]:
    at = submission.created_at
    if submission.is_trial:
        detail = gettext("From the dashboard. Origins, captcha and proof of work were not checked.")
        yield Moment(at, gettext("Sent as a test"), detail)
    if submission.is_imported:
        yield Moment(at, gettext("Imported"), gettext("It came from elsewhere; nothing is delivered for it."), NEUTRAL)
    else:
        yield Moment(at, gettext("Accepted and stored"), _received(submission), GOOD)
    copy_to = submission.controls.get("_cc")
    if copy_to:
        detail = gettext(
            "The page asked for a copy to %(address)s. Add that address to the mails of the form instead."
        ) % {"address": copy_to[:200]}
        yield Moment(at, gettext("No copy was mailed"), detail, WAITING)
    if submission.spam:
        yield Moment(at, gettext("Marked as spam"), "; ".join(map(gettext, submission.spam_reasons)), BAD)
    consent = Consent.objects.filter(submission=submission.pk).first()
    if submission.held == Submission.Held.QUOTA or (submission.held_until and consent is None):
        yield Moment(at, gettext("Held"), gettext("This hour's requests for web pages were used up."), WAITING)
    if consent is not None:
        yield Moment(consent.held_at, gettext("Held"), gettext("Until its submitter confirms the address."), WAITING)
    if consent is not None and consent.confirmed_at is not None:
        detail = gettext("By the mailed link, from %(address)s") % {"address": consent.confirmed_from}
        yield Moment(consent.confirmed_at, gettext("Confirmed by the submitter"), detail, GOOD)
    elif submission.held_until:
        yield Moment(submission.held_until, gettext("No longer held"), "", GOOD)
    if submission.released_at and submission.released_at != submission.held_until:
        detail = gettext("Delivered like a new submission.")
        yield Moment(submission.released_at, gettext("Marked as not spam"), detail, GOOD)


def _to_submitter(submission: Submission) -> Iterator[Moment]:
    """Yield why no mail went to the submitter, where one was asked for."""
    refused = SubmitterMail.objects.filter(submission=submission.pk, decided_at__isnull=False).exclude(refusal="")
    for mail in refused.order_by("pk"):
        if mail.kind == SubmitterMail.Kind.REPLY:
            title = gettext("No reply was mailed")
        else:
            title = gettext("No question for confirmation was mailed")
        yield Moment(mail.decided_at, title, str(WHY_NOT[REFUSAL(mail.refusal)]), WAITING)


def _received(submission: Submission) -> str:
    origin, address = submission.meta.get("origin"), submission.meta.get("ip")
    if origin and address:
        text = gettext("As %(id)s, from a page of %(origin)s, by %(address)s")
    elif origin:
        text = gettext("As %(id)s, from a page of %(origin)s")
    elif address:
        text = gettext("As %(id)s, by %(address)s")
    else:
        text = gettext("As %(id)s")
    return text % {"id": submission.public_id, "origin": origin, "address": address}


def _dispatch(submission: Submission, *, has_deliveries: bool) -> Iterator[Moment]:
    if submission.awaits_confirmation:
        detail = gettext("By the mailed link, or when you release it. After %(days)s days it is deleted.")
        detail %= {"days": KEPT_UNCONFIRMED.days}
        yield Moment(None, gettext("Waiting for confirmation"), detail, WAITING, is_ahead=True)
        return
    if submission.held:
        detail = gettext("When the next hour starts, with a higher limit, or when you release it.")
        yield Moment(None, gettext("Waiting for room in the hour"), detail, WAITING, is_ahead=True)
        return
    if submission.dispatched_at is None:
        detail = gettext("A worker takes it within seconds.")
        yield Moment(None, gettext("Waiting for dispatch"), detail, WAITING, is_ahead=True)
        return
    if submission.spam:
        detail = gettext("Spam is not delivered.")
    elif now() - submission.dispatched_at > LOG_KEPT:
        detail = gettext("The log is kept for %(days)s days. Its entries for this submission are deleted.")
        detail %= {"days": LOG_KEPT.days}
    elif has_deliveries:
        detail = gettext("Its deliveries were created.")
    else:
        detail = gettext("Without deliveries: the form had no destination and no mail address.")
    yield Moment(submission.dispatched_at, gettext("Dispatched"), detail)


def _attempts(deliveries: list[Delivery], attempts: list[Attempt]) -> Iterator[Moment]:
    by_id = {delivery.pk: delivery for delivery in deliveries if delivery.status != STATUS.RECORDED}
    for attempt in attempts:
        if attempt.delivery_id not in by_id:  # it only keeps the mail
            continue
        title, look = gettext("Attempt succeeded"), GOOD
        if attempt.error:
            reason = within_sentence(attempt.get_error_display())
            title, look = gettext("Attempt failed: %(reason)s") % {"reason": reason}, BAD
        status = f"{attempt.status}, " if attempt.status else ""
        yield Moment(
            attempt.started_at,
            title,
            f"{status}{intcomma(attempt.duration_ms)} ms",
            look,
            target=_shown_target(by_id[attempt.delivery_id]),
            answer=attempt.response,
            attempt=attempt.pk,
        )


def _states(submission: Submission, deliveries: list[Delivery], mails: dict[uuid.UUID, str]) -> Iterator[Moment]:
    for delivery in deliveries:
        title, detail, look = _state(submission, delivery)
        is_ahead = delivery.status == STATUS.PENDING
        at = delivery.expected_at if is_ahead else delivery.finished_at or delivery.created_at
        at = None if delivery.waits_for_resume else at
        is_kept = not is_secret(delivery.event) and delivery.status != STATUS.RECORDED
        yield Moment(
            at,
            title,
            detail,
            look,
            target=_shown_target(delivery),
            mail=mails.get(delivery.pk, ""),
            mail_of=delivery.public_id,
            delivery=delivery if is_kept else None,
            is_ahead=is_ahead,
        )


def _state(submission: Submission, delivery: Delivery) -> tuple[str, str, str]:
    """Return `(title, detail, look)` of a delivery's current state."""
    if delivery.status == STATUS.DELIVERED:
        return gettext("Delivered"), "", GOOD
    if delivery.status == STATUS.FAILED:
        detail = ngettext(
            "After %(count)s attempt. You can send it again.",
            "After %(count)s attempts. You can send it again.",
            delivery.attempt_count,
        )
        return gettext("Failed"), detail % {"count": delivery.attempt_count}, BAD
    if delivery.status == STATUS.RECORDED:
        return gettext("Recorded"), str(WHY_NOT[REFUSAL.TEST]), NEUTRAL
    if delivery.status == STATUS.HELD:
        return gettext("Held"), _why_held(delivery.receiver), WAITING
    if delivery.status == STATUS.CANCELED:
        return gettext("Canceled"), _why_canceled(submission, delivery), WAITING
    if delivery.lease_until is not None and delivery.lease_until > now():
        return gettext("Sending"), "", WAITING
    if delivery.waits_for_resume:
        detail = gettext("This organization is suspended. The delivery is sent when it is resumed.")
        return gettext("Waiting"), detail, WAITING
    if delivery.waits_for_endpoint:
        detail = gettext("The endpoint fails, so it gets one attempt each 30 seconds until one succeeds.")
        return gettext("Waiting"), detail, WAITING
    return gettext("Next attempt") if delivery.attempt_count else gettext("Queued"), "", WAITING


def _why_held(receiver: Receiver | None) -> str:
    if receiver is not None and receiver.is_webhook:
        return gettext("A page named this webhook. The delivery is sent when you activate the webhook.")
    reason = receiver.shown_reason if receiver else ""
    return gettext("%(reason)s The delivery is sent when that is corrected.") % {"reason": reason}


def _why_canceled(submission: Submission, delivery: Delivery) -> str:
    if delivery.submission_id is None:  # to the submitter
        return gettext("The address has ended these mails, or the mail was out of date.")
    if submission.spam:
        return gettext("The submission was marked as spam before it was sent.")
    if delivery.receiver is not None and delivery.receiver.status == Receiver.Status.DISABLED:
        return gettext("The destination is disabled: %(reason)s") % {"reason": delivery.receiver.shown_reason}
    return gettext("It was marked as spam, or the destination was disabled before it was sent.")
