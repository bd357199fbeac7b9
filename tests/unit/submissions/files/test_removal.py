"""Removing files: bytes, then their rows; on both databases."""

import datetime as dt
import uuid
from pathlib import Path
from typing import IO, Any

import pytest
import time_machine
from pytest_django import Settings

from config.base.times import now
from forms_app.models import Form
from submissions.counts.stored_bytes import recount
from submissions.files import removal, storage
from submissions.files.keeping import STORING, give_up
from submissions.lifecycle.closing import delete_organization
from submissions.lifecycle.erasure import finish_erasing
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import StoredFile, Submission
from tests.unit.submissions.files.stored_files import KIB, WEEK, on_disk, send, use
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def directory(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_DIR = tmp_path / "files"
    return tmp_path / "files"


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
