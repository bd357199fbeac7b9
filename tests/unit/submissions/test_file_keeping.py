"""Keeping files: rows before bytes and after them, room for new ones, removal; on both databases."""

import datetime as dt
import hashlib
import itertools
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
import time_machine
from pytest_django import Settings

from config.api.errors import ValidationFailed
from config.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.files import removal, storage
from submissions.files.arrived import Arrived
from submissions.files.keeping import STORING, Checked, give_up, keep_files, unused_files
from submissions.files.storage import FilesAway
from submissions.lifecycle.closing import delete_organization
from submissions.lifecycle.erasure import finish_erasing
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import StoredFile, Submission
from submissions.receiving.insert import store
from submissions.receiving.key_and_form import submit_form_of
from submissions.receiving.parse_body import NOTHING
from submissions.storage import recount
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database

pytestmark = pytest.mark.django_db
WEEK = dt.timedelta(days=7)
KIB = 1024
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def directory(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_DIR = tmp_path / "files"
    return tmp_path / "files"


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
    pk = store(submit_form_of(form), NOTHING, {}).id
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


def test_given_up_files__are_deleted__but_not_used_ones(directory: Path) -> None:
    form = make_form()
    used, unused = send(form, 10, 20)
    use(form, used)

    give_up([used, unused])

    assert removal.remove_due() == 1
    assert on_disk(directory) == {used.pk.hex}


def test_unused_file__past_its_time__is_deleted__and_not_before(directory: Path) -> None:
    [row] = send(make_form())

    with time_machine.travel(now() + WEEK - dt.timedelta(minutes=1), tick=False):
        assert removal.purge_files() == 0
    with time_machine.travel(now() + WEEK + dt.timedelta(minutes=1), tick=False):
        assert removal.purge_files() == 1

    assert not StoredFile.objects.filter(pk=row.pk).exists()
    assert on_disk(directory) == set()


def test_row__of_a_process_that_died_before_or_after_its_bytes__goes_within_the_hour(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form, keep = make_form(), storage.keep

    class Killed(BaseException):
        pass

    def die(file_id: uuid.UUID, source: IO[bytes], *, size: int) -> None:
        if size == 20:
            keep(file_id, source, size=size)
        raise Killed

    monkeypatch.setattr(storage, "keep", die)
    monkeypatch.setattr("submissions.files.keeping._undo", lambda _rows: None)
    for size in (10, 20):
        with pytest.raises(Killed):
            send(form, size)
    assert (StoredFile.objects.count(), len(on_disk(directory))) == (2, 1)

    assert removal.purge_files() == 0
    with time_machine.travel(now() + STORING + dt.timedelta(minutes=1), tick=False):
        assert removal.purge_files() == 2

    assert not StoredFile.objects.exists()
    assert on_disk(directory) == set()


def test_deleted_submission__takes_its_files_with_it(directory: Path) -> None:
    form = make_form()
    mine, others = send(form, 10, 20), send(form, 30)
    pk = use(form, *mine)
    use(form, *others)

    delete_submissions([pk])

    assert removal.remove_due() == 2
    assert on_disk(directory) == {others[0].pk.hex}
    assert list(StoredFile.objects.values_list("pk", flat=True)) == [others[0].pk]


def test_deletion__that_is_rolled_back__removes_no_file(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    [row] = send(form)
    pk = use(form, row)

    def fail(*_arguments: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("submissions.lifecycle.spam_marks.apply_moves", fail)
    with pytest.raises(RuntimeError):
        delete_submissions([pk])

    assert removal.purge_files() == 0
    assert on_disk(directory) == {row.pk.hex}


@pytest.mark.parametrize("way", ["erase", "organization"])
def test_erased_form__takes_all_its_files_with_it(way: str, directory: Path) -> None:
    form, other = make_form(), make_form()
    use(form, *send(form))
    send(form)
    [kept] = send(other)

    if way == "erase":
        finish_erasing(form)
    else:
        delete_organization(form.organization, by=None)

    assert removal.remove_due() == 2
    assert on_disk(directory) == {kept.pk.hex}


def test_files__whose_submission_or_form_went_without_them__are_found(directory: Path) -> None:
    form, other = make_form(), make_form()
    [used], [sent], [kept] = send(form), send(other), send(form)
    Submission.objects.filter(pk=use(form, used)).delete()
    Form.objects.filter(pk=other.pk).delete()

    assert removal.purge_files() == 2

    assert set(StoredFile.objects.values_list("pk", flat=True)) == {kept.pk} != {sent.pk}
    assert on_disk(directory) == {kept.pk.hex}


def test_removal__interrupted_between_bytes_and_row__is_finished_later(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = send(make_form(), 10, 20, 30)
    give_up(rows)
    remove, gone = storage.remove, []

    def die_after(file_id: uuid.UUID) -> None:
        remove(file_id)
        gone.append(file_id)
        if len(gone) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(storage, "remove", die_after)
        with pytest.raises(KeyboardInterrupt):
            removal.remove_due()
    assert len(on_disk(directory)) == 1
    assert StoredFile.objects.count() == 2

    assert removal.remove_due() == 2
    assert on_disk(directory) == set()
    assert not StoredFile.objects.exists()


def test_removal__while_the_storage_is_unavailable__keeps_the_rows_and_is_tried_again(directory: Path) -> None:
    give_up(send(make_form(), 10, 20, 30, 40, 50))
    directory.rename(directory.with_name("unmounted"))

    with time_machine.travel(now() + dt.timedelta(seconds=1)):
        assert removal.remove_due() == 0
    assert StoredFile.objects.count() == 5

    directory.with_name("unmounted").rename(directory)
    with time_machine.travel(now() + dt.timedelta(seconds=5)):
        assert removal.remove_due() == 5
    assert on_disk(directory) == set()


def test_removal__of_one_file_that_fails__does_not_stop_the_others(directory: Path) -> None:
    rows = send(make_form(), 10, 20, 30)
    give_up(rows)
    path = directory / rows[0].pk.hex[-2:] / rows[0].pk.hex
    path.unlink()
    path.mkdir()

    with time_machine.travel(now() + dt.timedelta(seconds=1)):
        assert removal.remove_due() == 2

    assert list(StoredFile.objects.values_list("pk", flat=True)) == [rows[0].pk]


@pytest.mark.django_db(transaction=True)
def test_removal__by_two_hosts_at_the_same_moment__removes_each_file_once(tmp_path: Path, directory: Path) -> None:
    with shared_database(tmp_path):
        give_up(send(make_form(), *range(10, 30)))

        removed = run_side_by_side(removal.remove_due, threads=2)

        assert not StoredFile.objects.exists()
    assert sum(removed) == 20
    assert on_disk(directory) == set()


def test_stored_bytes__include_files__and_their_deletion() -> None:
    form = make_form()
    pk = use(form, *send(form, 10 * KIB, 5 * KIB))
    recount(form.organization)

    dispatch_all()

    form.organization.refresh_from_db()
    assert 15 * KIB <= (form.organization.stored_bytes or 0) < 16 * KIB
    assert recount(form.organization) == form.organization.stored_bytes
    delete_submissions([pk])
    form.organization.refresh_from_db()
    assert form.organization.stored_bytes == 0
