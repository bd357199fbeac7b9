"""One action on many submissions, all or none: delete, mark as spam, mark as not spam (docs/contract.md 5.60)."""

import uuid
from collections.abc import Callable, Collection
from functools import partial

from django.db import transaction

from config.api.find_owned import require_all_owned
from config.nudge import DELIVER, nudge
from submissions.lifecycle.spam_marks import delete_many, mark_many
from submissions.models import Submission
from submissions.serializers import BulkAction

ACTS: dict[str, Callable[..., int]] = {
    BulkAction.DELETE: delete_many,
    BulkAction.SPAM: partial(mark_many, spam=True),
    BulkAction.NOT_SPAM: partial(mark_many, spam=False),
}


def change_many(ids: Collection[uuid.UUID], *, action: str, organization_id: uuid.UUID) -> int:
    """
    Apply an action to submissions with distinct ids; return how many changed.

    Raises NotFound if one does not exist, Unauthorized if one is another organization's; then nothing has changed.
    """
    with transaction.atomic():
        locked = Submission.objects.select_for_update().order_by("pk")
        require_all_owned(locked, ids, organization_id)
        changed = ACTS[action](ids, organization_id=organization_id)
    nudge(DELIVER)  # the one of `mark_many` may be read before this transaction ends
    return changed
