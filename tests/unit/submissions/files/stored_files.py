"""Files of a form that are stored, used or not, for tests of keeping and removing them."""

import datetime as dt
import hashlib
import itertools
import uuid
from contextlib import ExitStack
from pathlib import Path

from forms_app.models import Form
from keys.models import Organization
from submissions.files import storage
from submissions.files.arrived import Arrived, Checked
from submissions.files.keeping import keep_files, unused_files
from submissions.models import StoredFile, Submission
from submissions.receiving.insert import store
from submissions.receiving.parse_body import NOTHING

WEEK = dt.timedelta(days=7)
KIB = 1024
_numbers = itertools.count(1)


def checked(size: int = KIB) -> Checked:
    content = f"{next(_numbers):09d}".encode().ljust(size, b".")[:size]
    source = storage.temporary_file()
    source.write(content)
    source.seek(0)
    sha256 = hashlib.sha256(content).hexdigest()
    return Checked(Arrived("cv", "cv.txt", len(content), sha256, source), "text/plain")


def send(form: Form, *sizes: int, address: str = "192.0.2.1", is_by_itself: bool = True) -> list[StoredFile]:
    with ExitStack() as sources:
        files = [checked(size) for size in sizes or (KIB,)]
        for file in files:
            sources.enter_context(file.arrived.content)
        return keep_files(
            files,
            organization_id=form.organization_id,
            form_id=form.pk,
            kept=WEEK,
            address=address,
            is_by_itself=is_by_itself,
        )


def use(form: Form, *rows: StoredFile) -> uuid.UUID:
    """Attach files to a new submission, as its transaction does."""
    pk = store(form, NOTHING, {}).id
    ids = [row.pk for row in rows]
    StoredFile.objects.filter(pk__in=ids).update(submission_id=pk, expires_at=None, address="")
    Submission.objects.filter(pk=pk).update(files_size=sum(row.size for row in rows))
    return pk


def on_disk(directory: Path) -> set[str]:
    return {each.name for each in directory.rglob("*") if each.is_file()}


def limit_unused(form: Form, size: int) -> None:
    """Let unused files of the organization take so many bytes."""
    Organization.objects.filter(pk=form.organization_id).update(plan="enterprise", storage_limit=10 * size)


def kept_rows() -> list[uuid.UUID]:
    return list(unused_files().order_by("pk").values_list("pk", flat=True))
