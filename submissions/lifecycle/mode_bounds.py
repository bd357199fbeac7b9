"""The bounds of test submissions: 1,000 of an organization, 50 MiB of files, 7 days (docs/contract.md 12.7)."""

import datetime as dt
import uuid
from collections.abc import Iterator

from django.db import transaction
from django.db.models import Count, Q, Sum

from config.base.ids import first_id_of
from config.base.times import now
from keys.models import Organization
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.mode import MOST_TEST_FILES
from submissions.models import Submission

MOST_KEPT = 1_000  # of an organization
KEPT = dt.timedelta(days=7)
ROWS_A_BATCH = 200


def purge_tests() -> int:
    """Delete what organizations have beyond the bounds, the oldest first; return how many. Not of suspended ones."""
    purged = 0
    for pk in Organization.objects.filter(pk__in=_over_a_bound(), suspended_at=None).values_list("pk", flat=True):
        surplus = list(_surplus(pk))
        for start in range(0, len(surplus), ROWS_A_BATCH):
            with transaction.atomic():
                purged += delete_submissions(surplus[start : start + ROWS_A_BATCH])
    return purged


def _over_a_bound() -> list[uuid.UUID]:
    """Return the ids of organizations that have a surplus, by one query: this runs every few seconds."""
    is_old = Q(pk__lt=first_id_of(now() - KEPT))
    tests = Submission.objects.of_mode(test=True).order_by().values("organization_id")
    sums = tests.annotate(number=Count("pk"), size=Sum("files_size"), old=Count("pk", filter=is_old))
    over = sums.filter(Q(number__gt=MOST_KEPT) | Q(size__gt=MOST_TEST_FILES) | Q(old__gt=0))
    return list(over.values_list("organization_id", flat=True))


def _surplus(organization_id: uuid.UUID) -> Iterator[uuid.UUID]:
    """Yield the ids of an organization's surplus, the newest first: from the first one beyond a bound on, all."""
    own = Submission.objects.of_mode(test=True).filter(organization=organization_id)
    oldest, size, is_over = first_id_of(now() - KEPT), 0, False
    for number, (pk, files_size) in enumerate(own.order_by("-id").values_list("pk", "files_size")):
        size += files_size
        is_over = is_over or number >= MOST_KEPT or size > MOST_TEST_FILES or pk < oldest
        if is_over:
            yield pk
