"""Mark submissions as read or unread, for every member of their organization: the inbox is shared (docs/design.md)."""

import uuid
from collections.abc import Sequence

from submissions.models import Submission


def mark_read(ids: Sequence[uuid.UUID], *, organization_id: uuid.UUID, is_read: bool = True) -> int:
    """Mark an organization's submissions as read or unread; return how many changed."""
    wanted = Submission.objects.filter(pk__in=ids, organization=organization_id, is_read=not is_read)
    return wanted.update(is_read=is_read)
