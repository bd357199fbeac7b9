"""
Files in FILES_DIR: `<2 digits>/<32 digits>`, readable by our user only, on disk before `keep` returns.

Bytes are written once, to an unnamed file that `keep` then gives its name (`linkat`), where the file system can do
that: ext4, XFS, Btrfs and tmpfs can. https://man7.org/linux/man-pages/man2/open.2.html, O_TMPFILE
"""

import contextlib
import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.storage import FileSystemStorage

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
COPIED = 1024 * 1024  # bytes at a time
# A file system, or a copied temporary file, that cannot be given a name. ENOENT: it had one, and was unlinked.
_CANNOT_LINK = (errno.EXDEV, errno.EPERM, errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL, errno.EMLINK, errno.ENOSYS)
# The disk takes the files of a process one after the other: submissions without files commit in between.
_one_at_a_time = threading.Lock()


class LocalFiles(FileSystemStorage):
    """Django's storage of a directory, with writes that survive a power failure."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            file_permissions_mode=FILE_MODE, directory_permissions_mode=DIRECTORY_MODE, allow_overwrite=False, **options
        )
        self._on_disk: set[Path] = set()  # directories whose own entry this process has synced

    @property
    def base_location(self) -> str:
        return str(settings.FILES_DIR)

    @property
    def location(self) -> str:
        return str(Path(self.base_location).absolute())

    def temporary_file(self) -> IO[bytes]:
        """Return an unnamed file in the directory. Raises OSError."""
        self._make(Path(self.location))
        try:
            descriptor = os.open(self.location, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
            return cast(IO[bytes], tempfile.TemporaryFile(dir=self.location))
        return cast(IO[bytes], os.fdopen(descriptor, "w+b"))

    def keep(self, name: str, source: IO[bytes], *, size: int) -> None:
        """
        Store a file of `size` bytes under a new name; its bytes and its name are on disk when this returns.

        Raises OSError; then there is nothing under the name.
        """
        path = Path(self.path(name))
        self._make(path.parent)
        with _one_at_a_time, _directory(path.parent) as directory:
            try:
                self._link_or_copy(source, path.name, directory)
                if os.stat(path.name, dir_fd=directory, follow_symlinks=False).st_size != size:
                    raise OSError(errno.EIO, "the file was not written whole")
                os.fsync(directory)
            except FileExistsError:
                raise
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(path.name, dir_fd=directory)
                raise

    def delete(self, name: str) -> None:
        """Delete a file, if there is one; that is on disk when this returns. Raises OSError."""
        path = Path(self.path(name))
        if not Path(self.location).is_dir():  # not mounted here: the file may well exist elsewhere
            raise NotADirectoryError(errno.ENOTDIR, "there is no directory of files", self.location)
        try:
            with _directory(path.parent) as directory:
                os.unlink(path.name, dir_fd=directory)
                os.fsync(directory)
        except FileNotFoundError:
            pass

    def _link_or_copy(self, source: IO[bytes], name: str, directory: int) -> None:
        source.flush()
        try:
            descriptor = source.fileno()
        except (OSError, AttributeError):  # in memory
            descriptor = -1
        if descriptor >= 0:
            os.fsync(descriptor)
            if _link(descriptor, name, directory):
                return
        source.seek(0)
        made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE, dir_fd=directory)
        with os.fdopen(made, "wb") as target:
            shutil.copyfileobj(source, target, COPIED)
            target.flush()
            os.fsync(made)

    def _make(self, directory: Path) -> None:
        """Create a directory below those that exist, and put its name on disk, once for each process."""
        if directory in self._on_disk and directory.is_dir():
            return
        if not directory.parent.is_dir():
            self._make(directory.parent)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=DIRECTORY_MODE)
        if directory.is_relative_to(self.location):  # the process that made it may not have synced it yet
            with _directory(directory.parent) as parent:
                os.fsync(parent)
        self._on_disk.add(directory)


def _link(descriptor: int, name: str, directory: int) -> bool:
    """Give an unnamed file a name; return False if it cannot be done here."""
    if os.fstat(descriptor).st_nlink:  # it has another name, under which it could be changed
        return False
    try:
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return False
        raise
    return True


@contextlib.contextmanager
def _directory(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
