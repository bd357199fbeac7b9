"""
Files that members import in the dashboard.

The page that shows the progress asks for the next rows again and again: so it needs no worker, goes on when somebody
comes back to it, and runs on any web host. The bytes are in the database, which every host reaches.
"""

import dataclasses
import datetime as dt
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.utils.translation import gettext

from config.base.times import now
from config.clean_up import delete_in_batches
from forms_app.models import Form
from submissions.exporting.csv_lines import BOM, csv_line
from submissions.importing.files import Unreadable, count_records, read_records
from submissions.importing.mapping import Columns
from submissions.importing.refused_rows import RefusedRows
from submissions.importing.rows import Problem
from submissions.importing.whole_file import Progress, import_records
from submissions.models import Import, ImportFile, ImportFilePart

MAX_FILE_BYTES = 50 * 1024 * 1024
MOST_FILES = 5  # of an organization: the newest ones
PART_BYTES = 1024 * 1024
STEP_SECONDS = 3.0  # of one request, and the batch that is running then
KEPT = dt.timedelta(days=1)
SHOWN_RECORDS = 10


def keep_file(form: Form, name: str, chosen_format: str, content: Path, parts: Iterable[bytes]) -> ImportFile:
    """Keep an uploaded file, in place of the oldest. `content`: the same bytes on disk. Raises Unreadable."""
    total = count_records(content, chosen_format)
    if not total:
        raise Unreadable(gettext("The file has no rows."))
    with transaction.atomic():
        older = ImportFile.objects.filter(organization=form.organization_id).order_by("-pk")
        ImportFile.objects.filter(pk__in=list(older.values_list("pk", flat=True)[MOST_FILES - 1 :])).delete()
        kept = ImportFile.objects.create(
            organization_id=form.organization_id, form=form, name=name[:200], format=chosen_format, total=total
        )
        for part in parts:
            ImportFilePart.objects.create(file=kept, content=part)
    return kept


@contextmanager
def on_disk(file: ImportFile) -> Iterator[Path]:
    """Give the path of a file with the bytes of an uploaded one."""
    with tempfile.NamedTemporaryFile(prefix="fieldpost-import-") as temporary:
        for content in file.parts.filter(is_refused=False).order_by("pk").values_list("content", flat=True).iterator(1):
            temporary.write(content)
        temporary.flush()
        yield Path(temporary.name)


def first_records(file: ImportFile) -> list[dict[str, Any]]:
    """Return the first ten records of a file."""
    with on_disk(file) as path:
        return list(islice(read_records(path, file.format), SHOWN_RECORDS))


def import_next(file: ImportFile, columns: Columns, *, source: str) -> None:
    """
    Import the next rows of a file, for some seconds, and keep how far it is.

    Raises what `import_rows` does. Of two at the same time one counts: the other's rows are known, so they are skipped.
    """
    began, done = time.monotonic(), Progress()
    earlier = file.imported_in
    with on_disk(file) as path:
        refused = RefusedRows(list(next(read_records(path, file.format), {})))
        rest = islice(read_records(path, file.format), file.read, None)
        for done in import_records(  # noqa: B007 - the last one counts
            file.form, rest, columns, source=source, refused=_after(refused, file.read), earlier=earlier
        ):
            if time.monotonic() - began > STEP_SECONDS:
                break
    counts = {name: F(name) + getattr(done, name) for name in ("read", "imported", "skipped", "refused")}
    with transaction.atomic():
        own = ImportFile.objects.filter(pk=file.pk, read=file.read)
        if own.update(**counts, imported_in=done.import_id) and refused.lines:
            ImportFilePart.objects.create(file=file, is_refused=True, content="".join(refused.lines).encode())


def _after(refused: RefusedRows, start: int) -> Any:
    def keep(problem: Problem, record: Mapping[str, Any]) -> None:
        refused.add(dataclasses.replace(problem, row=problem.row + start), record)

    return keep


def refused_csv(file: ImportFile, names: list[str]) -> Iterator[bytes]:
    """Yield the refused rows of a file as CSV. `names`: of its columns."""
    yield (BOM + csv_line([*RefusedRows.OWN, *names])).encode()
    parts = file.parts.filter(is_refused=True).order_by("pk").values_list("content", flat=True)
    yield from map(bytes, parts.iterator(1))


def undoable(form: Form, *, within: dt.timedelta) -> list[Import]:
    """Return the imports into a form with something to undo now, newest first, with the `file_name` of an upload."""
    recent = Import.objects.filter(Q(kept__gt=0) | Q(spam__gt=0), form=form, undone_at=None)
    file = ImportFile.objects.filter(imported_in=OuterRef("pk")).order_by("pk")
    named = recent.annotate(file_name=Subquery(file.values("name")[:1]))
    return list(named.filter(last_call_at__gt=now() - within).order_by("-pk")[:20])


def purge_files_of_imports() -> int:
    """Delete uploaded files of more than a day ago; return how many rows."""
    old = ImportFile.objects.filter(created_at__lt=now() - KEPT)
    parts = delete_in_batches(ImportFilePart.objects.filter(file__in=old), by="pk", rows=20)
    return parts + old.delete()[0]
