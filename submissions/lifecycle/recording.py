"""Audit entries about submissions: deletions, spam marks, releases."""

from collections.abc import Sequence

from keys.audit import record_event
from keys.audit.changes import changes
from submissions.models import Submission


def record_submissions(rows: Sequence[Submission], action: str) -> None:
    """Record one event for rows of one organization, with their number and the first ids."""
    if not rows:
        return
    ids = [row.public_id for row in rows]
    subject = ids[0] if len(ids) == 1 else f"{len(ids):,} submissions"
    record_event(
        organization=rows[0].organization_id, action=action, subject=subject, changes=changes({}, {"submissions": ids})
    )
