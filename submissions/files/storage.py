"""
Where the bytes of files are: Django's storage `files` (docs/adr/0090).

A file's name in the storage comes from its id, so that its row, which is there before and after its bytes, finds them.
"""

import contextlib
import functools
import logging
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from django.core.files import File
from django.core.files.storage import Storage, storages
from django.utils.translation import gettext_noop

from config.api.errors import ServiceUnavailable
from submissions.files.local_storage import LocalFiles
from submissions.files.names import content_disposition
from submissions.models import StoredFile

if TYPE_CHECKING:
    from submissions.files.s3_storage import S3Files

RETRY_AFTER_SECONDS = 30  # a full disk or an unreachable service is rarely back sooner

logger = logging.getLogger(__name__)


class FilesAway(ServiceUnavailable):
    """The storage of files is full, read-only or unreachable. Nothing is stored half."""

    message = gettext_noop("Files cannot be stored or read now. Try again in a few minutes.")

    def __init__(self) -> None:
        super().__init__()
        self.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)


@contextlib.contextmanager
def away_on_failure(doing: str, *, but: tuple[type[OSError], ...] = (FileNotFoundError,)) -> Iterator[None]:
    """Raise FilesAway for any OSError of the block `but` these, and log it. `doing`: for the line in the log."""
    try:
        yield
    except but:
        raise
    except OSError as error:
        logger.error("files: %s: %s", doing, error)
        raise FilesAway from error


def temporary_file() -> IO[bytes]:
    """
    Return a new binary file without a name, to be read and written; it is gone when it is closed.

    It lies in the storage's file system where that is possible, so that `keep` need not copy it. Raises FilesAway.
    """
    storage = _storage()
    if isinstance(storage, LocalFiles):
        with away_on_failure("no temporary file"), contextlib.suppress(FileNotFoundError):
            return storage.temporary_file()
    with away_on_failure("no temporary file"):
        return cast(IO[bytes], tempfile.TemporaryFile())


def keep(file_id: uuid.UUID, source: IO[bytes], *, size: int) -> None:
    """
    Store a file of `size` bytes; it is on disk when this returns. Its row must be committed.

    Raises FilesAway; then its bytes may be there partly, and are removed with its row.
    """
    storage, name = _storage(), _name_of(file_id)
    with away_on_failure(f"{name} cannot be stored", but=()):  # the directory of files may vanish meanwhile
        if isinstance(storage, LocalFiles):
            storage.keep(name, source, size=size)
        else:
            source.seek(0)
            storage.save(name, File(source, name))


def open_file(file_id: uuid.UUID) -> IO[bytes]:
    """Return a stored file, opened for reading. Raises FilesAway, FileNotFoundError."""
    name = _name_of(file_id)
    with away_on_failure(f"{name} cannot be read"):
        return cast(IO[bytes], _storage().open(name, "rb"))


def remove(file_id: uuid.UUID) -> None:
    """Delete a file; it is gone when this returns, or was never there. Raises FilesAway."""
    name = _name_of(file_id)
    with away_on_failure(f"{name} cannot be deleted"), contextlib.suppress(FileNotFoundError):
        _storage().delete(name)


def is_reachable() -> bool:
    """
    Return whether this process can delete and scan files: others than the web may lack the directory.

    It warns once, because another deliverer must reach them.
    """
    storage = _storage()
    if isinstance(storage, LocalFiles) and not Path(storage.location).is_dir() and StoredFile.objects.exists():
        _warn_of(storage.location)
        return False
    return True


@functools.cache
def _warn_of(directory: str) -> None:
    logger.warning("files: no directory %s here: files wait for a deliverer that reaches them", directory)


def direct_url(row: StoredFile) -> str | None:
    """
    Return a signed address at which the storage itself sends the file as an attachment, for 5 minutes.

    None if it cannot. Raises FilesAway.
    """
    storage = _storage()
    if isinstance(storage, LocalFiles):
        return None
    with away_on_failure("no address can be signed"):  # the other kind is imported only where its packages are
        return cast("S3Files", storage).signed_url(
            _name_of(row.pk), disposition=content_disposition(row.name), content_type=_sent_type(row.content_type)
        )


def _sent_type(content_type: str) -> str:
    """Return a type that no browser runs: another service sends no `nosniff` and no policy of ours."""
    kind, _, rest = content_type.partition("/")
    is_known = kind in ("audio", "image", "video") or content_type in ("application/pdf", "application/zip")
    return content_type if is_known and rest.replace("-", "").isalnum() else "application/octet-stream"


def _storage() -> Storage:
    return storages["files"]


def _name_of(file_id: uuid.UUID) -> str:
    """Return `<2 digits>/<32 digits>`: the last ones of a UUID of version 7 are random, so directories fill evenly."""
    return f"{file_id.hex[-2:]}/{file_id.hex}"
