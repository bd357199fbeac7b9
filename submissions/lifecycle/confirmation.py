"""
Confirming a submission by the mailed link, and deleting those that nobody confirmed (docs/adr/0092).

The token is random, stored as a hash, and works for 14 days for this one submission.
"""

import hashlib
import secrets
import uuid

from django.db import transaction
from django.template.defaultfilters import pluralize

from config.base.nudge import DELIVER, nudge
from config.base.times import now
from forms_app.models import Form
from keys.audit import SERVICE, record_event
from submissions.confirmations import KEPT_UNCONFIRMED
from submissions.lifecycle.held import COLUMNS, CONFIRMATION, release
from submissions.lifecycle.recording import record_submissions
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import Consent, Submission

ROWS_A_BATCH = 500
MAX_TOKEN = 100  # characters


def new_token() -> tuple[str, str]:
    """Return a token and its digest."""
    token = secrets.token_urlsafe(32)
    return token, digest_of(token)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def find_question(token: str) -> Consent | None:
    """
    Return the question of a link, with its submission, form and organization loaded.

    None for one that is out of date, or whose submission no longer waits for it.
    """
    if len(token) > MAX_TOKEN:
        return None
    asked = Consent.objects.filter(digest=digest_of(token), held_at__gt=now() - KEPT_UNCONFIRMED)
    found = asked.select_related("submission__form__organization").first()
    return found if found and (found.confirmed_at or found.submission.awaits_confirmation) else None


def confirm(question: Consent, *, address: str) -> bool:
    """
    Confirm a submission and deliver it; return whether it is confirmed now. `address`: the IP address of the request.

    A second call changes nothing, nor does one for a submission that was deleted, released or marked as spam meanwhile.
    """
    with transaction.atomic():
        rows = Submission.objects.filter(pk=question.pk).only(*COLUMNS)
        row = rows.select_for_update().first()
        if row is None:
            return False
        if row.held == CONFIRMATION:
            Consent.objects.filter(pk=row.pk).update(confirmed_at=now(), confirmed_from=address[:45])
            release([row])
            record_submissions([row], "submissions.confirmed")
    nudge(DELIVER)
    return Consent.objects.filter(pk=row.pk, confirmed_at__isnull=False).exists()


def purge_unconfirmed() -> int:
    """
    Delete submissions that nobody has confirmed within 14 days; return how many. Each batch is one transaction.

    Those of suspended organizations are kept until the organization is resumed.
    """
    waiting = Submission.objects.filter(held=CONFIRMATION, organization__suspended_at=None)
    old = Consent.objects.filter(submission__in=waiting, held_at__lt=now() - KEPT_UNCONFIRMED).order_by("pk")
    purged = 0
    while batch := list(old.values_list("submission__form_id", "pk")[:ROWS_A_BATCH]):
        for form in Form.objects.filter(pk__in={form for form, _ in batch}).order_by("pk"):
            purged += _purge_some(form, [pk for of, pk in batch if of == form.pk])
    return purged


def _purge_some(form: Form, ids: list[uuid.UUID]) -> int:
    with transaction.atomic():
        # Locked and read again: a link may have confirmed one since.
        still = Submission.objects.filter(pk__in=ids, held=CONFIRMATION).order_by("pk")
        purged = delete_submissions(list(still.select_for_update().values_list("pk", flat=True)))
        if purged:
            subject = f"{purged:,} unconfirmed submission{pluralize(purged)} of {form}"
            record_event(organization=form.organization_id, by=SERVICE, action="submissions.expired", subject=subject)
    return purged
