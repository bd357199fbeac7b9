"""Files as their submissions show them (docs/contract.md 11.13): one query for a page, none for rows without files."""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db import DEFAULT_DB_ALIAS

from submissions.models import StoredFile, Submission


def file_record(row: StoredFile) -> dict[str, Any]:
    """Return `{id, field, name, size, type, sha256, scan, url}`."""
    return {
        "id": row.public_id,
        "field": row.field,
        "name": row.name,
        "size": row.size,
        "type": row.content_type,
        "sha256": row.sha256,
        "scan": row.scan,
        "url": row.url,
    }


def files_of(
    submission_ids: Iterable[uuid.UUID], *, using: str = DEFAULT_DB_ALIAS
) -> dict[uuid.UUID, list[StoredFile]]:
    """Return the files of these submissions in their order, without submissions that have none. One query."""
    found: defaultdict[uuid.UUID, list[StoredFile]] = defaultdict(list)
    for file in StoredFile.objects.using(using).of(submission_ids):
        if file.submission_id:
            found[file.submission_id].append(file)
    return dict(found)


def load_files(rows: Iterable[Submission]) -> list[Submission]:
    """Set `files` of each row and return the rows. One query for those that have files, and none if none has."""
    loaded = list(rows)
    having = [row for row in loaded if row.files_size]
    found = files_of((row.pk for row in having), using=having[0]._state.db or DEFAULT_DB_ALIAS) if having else {}
    for row in having:
        row.files = found.get(row.pk, [])
    return loaded
