"""The files of submissions as one ZIP: oldest first, streamed, in constant memory (docs/contract.md 11.14)."""

import io
import uuid
from collections.abc import Iterator
from functools import partial

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.http import StreamingHttpResponse
from django.utils.text import slugify
from django.utils.translation import gettext

from config.base.database import snapshot
from config.base.times import now
from forms_app.models import Form
from submissions.exporting.response import stream_file
from submissions.files.names import unique_names
from submissions.files.records import load_files
from submissions.files.storage import open_file
from submissions.files.zip_stream import Entry, zip_parts
from submissions.models import StoredFile, Submission
from submissions.reading.listing import HEAVY_COLUMNS

SUBMISSIONS_A_FETCH = 100
WITHHELD = "withheld.txt"
Rows = QuerySet[Submission]


def count_files(organization_id: uuid.UUID, rows: Rows) -> tuple[int, int]:
    """
    Return the number of files of these submissions and their bytes.

    The index of files by form answers for organizations without any: their submissions are not read.
    """
    forms = Form.objects.filter(organization=organization_id).values("pk")
    files = StoredFile.objects.used().filter(form_id__in=forms)
    if not files.exists():
        return 0, 0
    having = rows.filter(files_size__gt=0).order_by().values("pk")
    found = files.filter(submission_id__in=having).aggregate(number=Count("pk"), size=Sum("size"))
    return found["number"], found["size"] or 0


def stream_files(rows: Rows, *, organization_id: uuid.UUID, form: Form | None) -> StreamingHttpResponse:
    """
    Return the response that streams the files of these submissions as a ZIP.

    Counts as an export, and raises as `stream_export` does; besides, FilesAway while the storage cannot be read.
    """
    # In the request's language: the parts are made when it is over.
    note = gettext("These files are infected, or the virus scanner has not read them yet. They are withheld:")
    name = (form and slugify(form.name)[:60]) or "submissions"
    return stream_file(
        zip_parts(zip_entries(rows, note)), "application/zip", f"{name}-files", "zip", by=organization_id
    )


def zip_entries(rows: Rows, note: str) -> Iterator[Entry]:
    """
    Yield an entry for each file: in the folder of its submission, `<day> <id>`, under a name that is unique there.

    Withheld ones are left out; a text file at the end begins with `note` and names them.
    """
    withheld: list[str] = []
    for submission in _having_files(rows):
        folder = f"{submission.created_at:%Y-%m-%d} {submission.public_id}"
        names = unique_names(file.name for file in submission.files)
        for file, name in zip(submission.files, names, strict=True):
            if file.is_withheld:
                withheld.append(f"{folder}/{name}")
            else:
                yield f"{folder}/{name}", submission.created_at, file.size, partial(open_file, file.pk)
    if withheld:
        text = "\r\n".join([note, "", *withheld, ""]).encode()
        yield WITHHELD, now(), len(text), partial(io.BytesIO, text)


def _having_files(rows: Rows) -> Iterator[Submission]:
    """
    Yield the submissions that have files, oldest first, with these loaded.

    A batch at a time, each from its own snapshot: gigabytes take hours, for which no transaction should stay open. A
    file that is deleted meanwhile is missing, and the ZIP says so.
    """
    wanted = rows.filter(files_size__gt=0).order_by("pk").defer(*HEAVY_COLUMNS)
    last: uuid.UUID | None = None
    while True:
        with snapshot(settings.EXPORT) as alias:
            after = wanted.using(alias)
            batch = load_files((after.filter(pk__gt=last) if last else after)[:SUBMISSIONS_A_FETCH])
        yield from batch
        if len(batch) < SUBMISSIONS_A_FETCH:
            return
        last = batch[-1].pk
