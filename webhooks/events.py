"""
The named events that deliveries report, each in one place: its name, its label, and how its message is written.

A webhook may subscribe to the public ones. Dispatching asks each event whether it was caused. An event that something
else causes is queued there, by `enqueue`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy, pgettext_lazy
from rest_framework import serializers

from submissions.models import Submission
from webhooks.payloads import (
    SubmittedSubmission,
    notice_message,
    rendered_message,
    submission_message,
    test_message,
)

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

URGENT = 5


@dataclass(frozen=True, slots=True)
class Event:
    """
    One event.

    name: in the table, and in the API if it is public. label: in the delivery log.
    write: returns the body of its message, from its subject: a submission (with its form loaded), a form, a notice.
    is_caused_by: returns whether dispatching this submission causes the event.
    record: the shape of its message's `data`, for the OpenAPI document, and `summary` its title there. An event with
    them is public: webhooks may subscribe to it.
    is_tried_once: a failure is final, and leaves the endpoint's health unchanged.
    has_submission_id: its message has the id of the submission that caused it; at most one event may.
    is_secret: its body has a code or a link that is a key, so it is encrypted, and dropped when its delivery ends.
    priority: of its deliveries. From URGENT on they are claimed before all others, higher ones first; above 0, before
    others to their target.
    """

    name: str
    label: "StrOrPromise"
    write: Callable[[Any], str]
    is_caused_by: Callable[[Submission], bool] = lambda _row: False
    record: type[serializers.BaseSerializer[Any]] | None = None
    summary: str = ""
    is_tried_once: bool = False
    has_submission_id: bool = False
    is_secret: bool = False
    priority: int = 0

    @property
    def is_public(self) -> bool:
        return self.record is not None


SUBMISSION_CREATED = Event(
    "submission.created",
    gettext_lazy("A new submission was received"),
    write=lambda submission: submission_message(submission, submission.form.name),
    is_caused_by=lambda submission: not submission.spam,
    record=SubmittedSubmission,
    summary="A submission was created",
    has_submission_id=True,
)
# Somebody waits for it, so it does not queue behind its endpoint's backlog.
TEST = Event("test", gettext_lazy("Test event"), write=test_message, is_tried_once=True, priority=1)
WEBHOOK_DISABLED = Event("webhook.disabled", gettext_lazy("Notice to the owner"), write=notice_message, priority=URGENT)
NOTICE = Event("notice", pgettext_lazy("the kind of a mail", "Notice"), write=notice_message, priority=URGENT)
# Somebody waits for a code at a page; other mails about accounts answer a request, too.
ACCOUNT_CODE = Event(
    "account.code", pgettext_lazy("the kind of a mail", "Code"), write=rendered_message, is_secret=True, priority=20
)
ACCOUNT_MAIL = Event(
    "account.mail", gettext_lazy("Mail about an account"), write=rendered_message, is_secret=True, priority=10
)
INVITATION = Event(
    "invitation", pgettext_lazy("the kind of a mail", "Invitation"), write=rendered_message, is_secret=True, priority=10
)
RECIPIENT_ASKED = Event(
    "recipient.asked", gettext_lazy("Asked to confirm"), write=rendered_message, is_secret=True, priority=10
)

# Secret, so that nothing keeps a submitter's mail after it went, and nobody sends it to them again.
REPLY = Event("reply", gettext_lazy("Reply to the submitter"), write=rendered_message, is_secret=True, priority=2)
# Somebody waits for it at a page.
CONFIRMATION_ASKED = Event(
    "confirmation.asked",
    gettext_lazy("Submitter asked to confirm"),
    write=rendered_message,
    is_secret=True,
    priority=10,
)
TO_SUBMITTERS = (REPLY, CONFIRMATION_ASKED)

_MAILS = (WEBHOOK_DISABLED, NOTICE, ACCOUNT_CODE, ACCOUNT_MAIL, INVITATION, RECIPIENT_ASKED, *TO_SUBMITTERS)
EVENTS = {event.name: event for event in (SUBMISSION_CREATED, TEST, *_MAILS)}


def label_of(name: str) -> str:
    """Return an event's label; the name itself for an event that this release does not know."""
    return str(EVENTS[name].label) if name in EVENTS else name


def is_secret(name: str) -> bool:
    return name in EVENTS and EVENTS[name].is_secret


def secret_events() -> list[str]:
    return [event.name for event in EVENTS.values() if event.is_secret]


def public_events() -> "list[tuple[str, StrOrPromise]]":
    """Return `(name, label)` of the events that a webhook may subscribe to."""
    return [(event.name, event.label) for event in EVENTS.values() if event.is_public]
