"""Keeping files: rows before bytes, room for new ones; on both databases."""

import hashlib
import uuid
from pathlib import Path
from typing import IO

import pytest
from pytest_django import Settings

from config.api.errors import ValidationFailed
from config.base.times import now
from submissions.files import removal, storage
from submissions.files.keeping import STORING
from submissions.files.storage import FilesAway
from submissions.models import StoredFile
from tests.unit.submissions.files.stored_files import KIB, WEEK, kept_rows, limit_unused, on_disk, send, use
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def directory(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_DIR = tmp_path / "files"
    return tmp_path / "files"


def test_files__kept__have_rows_and_bytes(directory: Path) -> None:
    form = make_form()

    rows = send(form, 10, KIB)

    stored = list(StoredFile.objects.order_by("place"))
    assert [(row.pk, row.size, row.place, row.submission_id) for row in stored] == [
        (rows[0].pk, 10, 0, None),
        (rows[1].pk, KIB, 1, None),
    ]
    assert all(
        row.stored_at and row.expires_at and abs(row.expires_at - now() - WEEK).total_seconds() < 60 for row in stored
    )
    assert on_disk(directory) == {row.pk.hex for row in rows}
    with storage.open_file(rows[1].pk) as content:
        assert hashlib.sha256(content.read()).hexdigest() == rows[1].sha256


def test_bytes__are_written_after_their_row_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    keep, seen = storage.keep, []

    def note(file_id: uuid.UUID, source: IO[bytes], *, size: int) -> None:
        row = StoredFile.objects.get(pk=file_id)
        seen.append((row.stored_at, row.expires_at is not None and row.expires_at - now() <= STORING))
        keep(file_id, source, size=size)

    monkeypatch.setattr(storage, "keep", note)
    send(make_form())

    assert seen == [(None, True)]


def test_files__of_which_one_cannot_be_stored__are_all_gone(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = storage.keep

    def fail_at_second(file_id: uuid.UUID, source: IO[bytes], *, size: int) -> None:
        if size == 20:
            raise FilesAway
        keep(file_id, source, size=size)

    monkeypatch.setattr(storage, "keep", fail_at_second)
    with pytest.raises(FilesAway):
        send(make_form(), 10, 20, 30)

    assert not StoredFile.objects.exists()
    assert on_disk(directory) == set()


@pytest.mark.parametrize("by", ["organization", "address"])
def test_new_file__without_room__removes_the_oldest(by: str, settings: Settings, directory: Path) -> None:
    form = make_form()
    if by == "organization":
        limit_unused(form, 3 * KIB)
    else:
        settings.FILES_UNUSED_BYTES = 3 * KIB
    first, second, third = [send(form)[0].pk for _ in range(3)]
    assert kept_rows() == [first, second, third]

    [fourth] = send(form)

    assert kept_rows() == [second, third, fourth.pk]
    [fifth] = send(form, 2 * KIB)
    assert kept_rows() == [fourth.pk, fifth.pk]
    assert removal.remove_due() == 3
    assert on_disk(directory) == {fourth.pk.hex, fifth.pk.hex}


def test_room__of_an_address__is_its_own(settings: Settings) -> None:
    settings.FILES_UNUSED_BYTES = 2 * KIB
    form, other = make_form(), make_form()
    others = [*send(form, KIB, address="2001:db8::/64"), *send(other, KIB)]

    mine = [*send(form, KIB), *send(form, KIB)]

    assert kept_rows() == [row.pk for row in (others[0], *mine)]  # one address over two forms


def test_file__larger_than_all_room__is_refused_and_removes_nothing(directory: Path) -> None:
    form = make_form()
    limit_unused(form, 3 * KIB)
    [earlier] = send(form)

    with pytest.raises(ValidationFailed) as refused:
        send(form, 3 * KIB + 1)

    assert [(detail.field, detail.code) for detail in refused.value.details] == [("cv", "too_large")]
    assert kept_rows() == [earlier.pk]
    assert on_disk(directory) == {earlier.pk.hex}


def test_room__is_not_taken_by_used_files__nor_by_those_of_plain_posts() -> None:
    form = make_form()
    limit_unused(form, 2 * KIB)
    use(form, *send(form, 2 * KIB))
    [posted] = send(form, 2 * KIB, is_by_itself=False)

    rows = [*send(form), *send(form)]

    assert kept_rows() == [row.pk for row in rows]
    posted.refresh_from_db()
    assert posted.removed_at is None


def test_room__is_not_made_of_a_file_that_is_being_stored() -> None:
    form = make_form()
    limit_unused(form, 2 * KIB)
    [arriving], [older] = send(form), send(form)
    StoredFile.objects.filter(pk=arriving.pk).update(stored_at=None)

    [new] = send(form)

    assert kept_rows() == [arriving.pk, new.pk]
    older.refresh_from_db()
    assert older.removed_at


@pytest.mark.django_db(transaction=True)
def test_room__at_the_same_moment__is_exceeded_by_one_file_a_request_at_most(tmp_path: Path) -> None:
    with shared_database(tmp_path):
        form = make_form()
        limit_unused(form, 3 * KIB)
        send(form, KIB, KIB, KIB)

        run_side_by_side(lambda: send(form), threads=4)

        assert len(kept_rows()) <= 3 + 4 - 1
        send(form)
        assert len(kept_rows()) <= 3


def test_file__removed_while_it_is_stored__leaves_no_bytes(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = storage.keep

    def keep_slowly(file_id: uuid.UUID, source: IO[bytes], *, size: int) -> None:
        StoredFile.objects.filter(pk=file_id).update(removed_at=now())
        assert removal.remove_due() == 0  # its bytes would come after
        keep(file_id, source, size=size)

    monkeypatch.setattr(storage, "keep", keep_slowly)
    with pytest.raises(FilesAway):
        send(make_form())

    assert not StoredFile.objects.exists()
    assert on_disk(directory) == set()
