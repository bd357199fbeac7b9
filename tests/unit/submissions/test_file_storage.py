"""The local storage of files: whole or not at all, readable by us only, and its own error when it fails."""

import errno
import io
import os
import resource
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from pytest_django import Settings

from config.base.ids import new_id
from submissions.files import storage
from submissions.files.storage import FilesAway

CONTENT = b"%PDF-1.7 " + os.urandom(70_000)


@pytest.fixture(autouse=True)
def directory(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_DIR = tmp_path / "files"
    return tmp_path / "files"


def files_in(directory: Path) -> list[Path]:
    return [each for each in directory.rglob("*") if each.is_file()]


def temporary_with(content: bytes) -> IO[bytes]:
    source = storage.temporary_file()
    source.write(content)
    return source


@contextmanager
def limited_files(most: int) -> Iterator[None]:
    """Let the system refuse bytes of files from the `most`th on, as a full disk does."""
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_file__kept__is_read_again_and_only_ours(directory: Path) -> None:
    file_id = new_id()
    with temporary_with(CONTENT) as source:
        storage.keep(file_id, source, size=len(CONTENT))

    with storage.open_file(file_id) as stored:
        assert stored.read() == CONTENT
    path = directory / file_id.hex[-2:] / file_id.hex
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert files_in(directory) == [path]  # the temporary one has no name


def test_kept_file__and_its_temporary_one__are_the_same_bytes_on_disk(directory: Path) -> None:
    with temporary_with(CONTENT) as source:
        storage.keep(new_id(), source, size=len(CONTENT))

        [stored] = files_in(directory)
        assert os.fstat(source.fileno()).st_ino == stored.stat().st_ino


@pytest.mark.parametrize("make", [io.BytesIO, None], ids=["in memory", "with a name"])
def test_file__that_cannot_be_linked__is_copied(make: Any, tmp_path: Path, directory: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(CONTENT)
    file_id = new_id()

    with make(CONTENT) if make else path.open("rb") as source:
        source.read(10)
        storage.keep(file_id, source, size=len(CONTENT))

    path.write_bytes(b"changed")
    with storage.open_file(file_id) as stored:
        assert stored.read() == CONTENT
    assert [stat.S_IMODE(each.stat().st_mode) for each in files_in(directory)] == [0o600]


def test_file__of_another_size_than_said__is_not_kept(directory: Path) -> None:
    with temporary_with(CONTENT) as source, pytest.raises(FilesAway):
        storage.keep(new_id(), source, size=len(CONTENT) + 1)

    assert files_in(directory) == []


def test_file__on_a_disk_that_fills_up__is_not_kept_half(directory: Path) -> None:
    with limited_files(20_000), pytest.raises(FilesAway) as refused:
        storage.keep(new_id(), io.BytesIO(CONTENT), size=len(CONTENT))

    assert files_in(directory) == []
    assert (refused.value.status, refused.value.code) == (503, "service_unavailable")
    assert refused.value.headers["Retry-After"] == "30"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_file__whose_bytes_do_not_reach_the_disk__is_not_kept(
    number: int, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = temporary_with(CONTENT)

    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with source, pytest.raises(FilesAway):
        storage.keep(new_id(), source, size=len(CONTENT))

    assert files_in(directory) == []


def test_file__kept__is_on_disk_with_its_directories(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    file_id = new_id()
    with temporary_with(CONTENT) as source:
        directory_of_it = directory / file_id.hex[-2:]
        monkeypatch.setattr(os, "fsync", note)
        storage.keep(file_id, source, size=len(CONTENT))

    assert str(directory) in synced  # has the name of its directory, which is new
    assert synced[-1] == str(directory_of_it)  # has its name
    assert synced[-2].startswith(f"{directory}/")  # its bytes


def test_directory__removed_while_we_run__is_made_again(directory: Path) -> None:
    with temporary_with(CONTENT) as source:
        storage.keep(new_id(), source, size=len(CONTENT))
    directory.rename(directory.with_name("moved"))

    with temporary_with(CONTENT) as source:
        storage.keep(new_id(), source, size=len(CONTENT))

    assert len(files_in(directory)) == 1


def test_directory__that_cannot_be_made__is_our_own_error(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "no directory").touch()
    settings.FILES_DIR = tmp_path / "no directory" / "files"

    with pytest.raises(FilesAway):
        storage.temporary_file()
    with pytest.raises(FilesAway):
        storage.keep(new_id(), io.BytesIO(CONTENT), size=len(CONTENT))


def test_removed_file__is_gone__and_may_be_removed_again(directory: Path) -> None:
    file_id = new_id()
    with temporary_with(CONTENT) as source:
        storage.keep(file_id, source, size=len(CONTENT))

    storage.remove(file_id)
    storage.remove(file_id)
    storage.remove(new_id())

    assert files_in(directory) == []
    with pytest.raises(FileNotFoundError):
        storage.open_file(file_id)


def test_file__that_cannot_be_removed__is_our_own_error(directory: Path) -> None:
    file_id = new_id()
    path = directory / file_id.hex[-2:] / file_id.hex
    path.mkdir(parents=True)

    with pytest.raises(FilesAway):
        storage.remove(file_id)


def test_storage__without_unnamed_files__works_too(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refuse(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return opened(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", True)
    file_id = new_id()
    with temporary_with(CONTENT) as source:
        assert files_in(directory) == []
        storage.keep(file_id, source, size=len(CONTENT))

    with storage.open_file(file_id) as stored:
        assert stored.read() == CONTENT
