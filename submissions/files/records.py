"""Files as their submissions show them (docs/contract.md 11.13): one query for a page, none for rows without files."""

from collections.abc import Iterable
from typing import Any

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


def load_files(rows: Iterable[Submission]) -> list[Submission]:
    """Set `files` of each row and return the rows. One query for those that have files, and none if none has."""
    loaded = list(rows)
    having = {row.pk: row for row in loaded if row.files_size}
    for row in having.values():
        row.files = []
    if having:
        for file in StoredFile.objects.using(loaded[0]._state.db).of(having):
            if file.submission_id:
                having[file.submission_id].files.append(file)
    return loaded
