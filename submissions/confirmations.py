"""
Which mails a submission asks for, and its hold until the submitter confirms the address (docs/adr/0092).

A wanted mail is a row, written in the transaction that stores, releases or dispatches its submission. The deliverer
decides about it, under the caps.
"""

import datetime as dt
from collections.abc import Iterable

from submissions.models import Consent, Submission, SubmitterMail

KEPT_UNCONFIRMED = dt.timedelta(days=14)  # and so long works the link


def want_mails(rows: Iterable[Submission], kind: SubmitterMail.Kind) -> None:
    """Ask for a mail to the submitter of each row, once for each kind. Runs inside the caller's transaction."""
    wanted = [
        SubmitterMail(organization_id=row.organization_id, form_id=row.form_id, submission_id=row.pk, kind=kind)
        for row in rows
    ]
    SubmitterMail.objects.bulk_create(wanted, ignore_conflicts=True)


def ask_submitters(rows: Iterable[Submission]) -> None:
    """Start the record of the question for rows that are held from now on, and ask for its mail."""
    held = list(rows)
    Consent.objects.bulk_create([Consent(submission_id=row.pk) for row in held], ignore_conflicts=True)
    want_mails(held, SubmitterMail.Kind.CONFIRMATION)


def may_be_answered(row: Submission) -> bool:
    """
    Return whether a reply may go to the submitter of a row that is dispatched.

    Never to one that was spam at any time, nor without a human check, nor to a trial's example address.
    """
    was_spam = row.released_at is not None and row.released_at != row.held_until
    return not (row.spam or was_spam or row.is_trial) and Submission.HUMAN in row.controls
