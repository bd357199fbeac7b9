"""
ZIPs of uploaded files, streamed: one chunk of one file in memory, and a directory of about 500 bytes a file.

Entries are "deflated" at level 0, which copies them in blocks (0.01 % larger). Entries with the method "stored" would
save that, but their length is not known before their data in a stream: Java's ZipInputStream and others refuse them
("only DEFLATED entries can have EXT descriptor").
"""

import datetime as dt
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import IO, cast

from django.utils.translation import gettext

from submissions.files.names import clean_file_name, unique_names

CHUNK = 256 * 1024  # bytes
NOTE = "missing.txt"
_FIRST, _LAST = dt.datetime(1980, 1, 1), dt.datetime(2107, 12, 31, 23, 59, 58)
_PERMISSIONS = 0o600 << 16

Entry = tuple[str, dt.datetime, int, Callable[[], IO[bytes]]]


class DamagedFile(OSError):
    """A stored file has another size than its row says."""


class _Outlet:
    """The unseekable file that zipfile writes to; what it wrote is taken out after each chunk."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: zipfile calls it."""

    def take(self) -> bytes:
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


def zip_parts(entries: Iterable[Entry]) -> Generator[bytes, None, None]:
    """
    Return the parts of a ZIP of (path, time, size in bytes, open) in their order; each file is opened when it is due.

    Paths are unique, with `/` between their components; times are shown as they are, without a zone.

    A file that storage no longer has (FileNotFoundError) is left out, and `missing.txt` at the end of the ZIP names it:
    another attempt would not bring it, and it would keep the others from being downloaded. Any other error is raised,
    and cuts the stream before the directory, so that the ZIP does not open: a later attempt may succeed.
    """
    note = gettext(
        "These files are no longer stored, and so they are not in this archive:"
    )  # in the request's language
    return _parts(entries, note)


def _parts(entries: Iterable[Entry], note: str) -> Generator[bytes, None, None]:
    outlet, names, missing = _Outlet(), set[str](), list[str]()
    latest = _FIRST
    archive = zipfile.ZipFile(cast(IO[bytes], outlet), "w", zipfile.ZIP_DEFLATED, compresslevel=0)
    for path, time, size, open_file in entries:
        name = _safe_path(path)
        try:
            file = open_file()
        except FileNotFoundError:
            missing.append(name)
            continue
        with file:
            info = _info(name, time, size)
            latest = max(latest, _wall_clock(time))
            yield from _entry(archive, outlet, info, file)
        names.add(name)
    if missing:
        text = "\r\n".join([note, "", *missing, ""]).encode()
        archive.writestr(_info(unique_names([*names, NOTE])[-1], latest, len(text)), text)
    archive.close()
    yield outlet.take()


def _entry(archive: zipfile.ZipFile, outlet: _Outlet, info: zipfile.ZipInfo, file: IO[bytes]) -> Iterator[bytes]:
    size, left = info.file_size, info.file_size
    with archive.open(info, "w") as target:
        while chunk := file.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            target.write(chunk)
            yield outlet.take()
        if left:
            raise DamagedFile(f"A stored file does not have its {size} bytes.")


def _info(name: str, time: dt.datetime, size: int) -> zipfile.ZipInfo:
    wall_clock = _wall_clock(time)
    info = zipfile.ZipInfo(name, wall_clock.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info._compresslevel = 0  # type: ignore[attr-defined]  # public from Python 3.13
    info.external_attr = _PERMISSIONS
    info.file_size = size  # decides whether the entry needs ZIP64
    return info


def _wall_clock(time: dt.datetime) -> dt.datetime:
    return min(max(time.replace(tzinfo=None), _FIRST), _LAST)


def _safe_path(path: str) -> str:
    """Return a relative path without `..`: unpacking stays in its folder, whatever the caller was given."""
    return "/".join(clean_file_name(part) for part in path.split("/") if part) or clean_file_name("")
