"""ZIPs of files: streamed in small parts, read by others from a file and from a stream, and never whole when cut."""

import datetime as dt
import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, cast

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.files.zip_stream import CHUNK, DamagedFile, Entry, zip_parts

TIME = dt.datetime(2026, 11, 23, 9, 30, 58, tzinfo=dt.UTC)


def entry(name: str, content: bytes = b"content", time: dt.datetime = TIME) -> Entry:
    return name, time, len(content), lambda: io.BytesIO(content)


def failing(name: str, error: Exception) -> Entry:
    def open_file() -> IO[bytes]:
        raise error

    return name, TIME, 7, open_file


def read(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def read_as_stream(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Read from the start only, as Java's ZipInputStream: an entry ends where its compressed data says so."""
    while data.startswith(b"PK\x03\x04"):
        flags, method = struct.unpack_from("<HH", data, 6)
        name_size, extra_size = struct.unpack_from("<HH", data, 26)
        assert flags & 8
        assert method == zipfile.ZIP_DEFLATED
        name = data[30 : 30 + name_size].decode("utf-8" if flags & 0x800 else "ascii")
        decoder = zlib.decompressobj(-15)
        content = decoder.decompress(data[30 + name_size + extra_size :]) + decoder.flush()
        descriptor = struct.unpack_from("<4sLLL", decoder.unused_data)
        assert descriptor[:2] == (b"PK\x07\x08", zlib.crc32(content))
        assert descriptor[3] == len(content)
        yield name, content
        data = decoder.unused_data[16:]


def test_zip__of_some_files__is_read_from_its_directory_and_as_a_stream() -> None:
    files = {"a.txt": b"", "Žluť/書.pdf": b"%PDF" * 100_000, "b/c (2).bin": bytes(range(256)) * 3000}

    data = b"".join(zip_parts(entry(name, content) for name, content in files.items()))

    assert read(data) == files
    assert dict(read_as_stream(data)) == files
    assert len(data) < sum(map(len, files.values())) * 1.001 + 1000


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=2000), max_size=6))
def test_zip__whatever_its_files_hold__gives_them_back(contents: list[bytes]) -> None:
    files = {f"{number}.bin": content for number, content in enumerate(contents)}

    assert read(b"".join(zip_parts(entry(*each) for each in files.items()))) == files


@pytest.mark.parametrize(
    ("time", "stored"),
    [
        (TIME, (2026, 11, 23, 9, 30, 58)),
        (TIME.replace(year=1970), (1980, 1, 1, 0, 0, 0)),
        (TIME.replace(year=9999), (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_time__of_a_file__is_shown_as_given_within_the_years_of_a_zip(
    time: dt.datetime, stored: tuple[int, ...]
) -> None:
    data = b"".join(zip_parts([entry("a.txt", time=time)]))

    assert zipfile.ZipFile(io.BytesIO(data)).infolist()[0].date_time == stored


@pytest.mark.parametrize("path", ["../../a.txt", "/a.txt", "x/../../a.txt", "C:\\..\\a.txt"])
def test_path__out_of_the_folder__stays_inside(path: str) -> None:
    (name,) = read(b"".join(zip_parts([entry(path)])))

    assert name.endswith("a.txt")
    assert not name.startswith("/")
    assert ".." not in name.split("/")


class Zeros(io.RawIOBase):
    """A file of zeros that is never in memory."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, size: int = -1) -> bytes:
        part = bytes(min(size, self.left))
        self.left -= len(part)
        return part


def test_parts__of_large_files__are_small_and_so_is_the_memory() -> None:
    def entries(count: int) -> Iterator[Entry]:
        for number in range(count):
            yield f"{number}.bin", TIME, 20_000_000, lambda: cast(IO[bytes], Zeros(20_000_000))

    next(iter(zip_parts(entries(1))))  # imports and caches
    tracemalloc.start()
    sizes = [len(part) for part in zip_parts(entries(5))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert sum(sizes) > 100_000_000
    assert max(sizes) < 2 * CHUNK
    assert peak < 12 * CHUNK


def test_files__are_opened_when_they_are_due_and_closed_after() -> None:
    opened: list[io.BytesIO] = []

    def open_file() -> IO[bytes]:
        assert all(file.closed for file in opened)
        opened.append(io.BytesIO(b"content"))
        return opened[-1]

    parts = zip_parts([(f"{number}.txt", TIME, 7, open_file) for number in range(3)])
    next(parts)
    assert len(opened) == 1
    parts.close()  # the client went

    assert [file.closed for file in opened] == [True]


def test_file__that_storage_no_longer_has__is_named_in_a_note() -> None:
    entries = [entry("a.txt"), failing("x/lost é.txt", FileNotFoundError()), entry("missing.txt")]

    files = read(b"".join(zip_parts(entries)))

    assert list(files) == ["a.txt", "missing.txt", "missing (2).txt"]
    assert files["missing (2).txt"].decode().splitlines()[2:] == ["x/lost é.txt"]


def test_note__is_in_the_language_of_the_request_though_it_is_written_later() -> None:
    with translation.override("de"):
        parts = zip_parts([failing("a.txt", FileNotFoundError())])
        expected = translation.gettext("These files are no longer stored, and so they are not in this archive:")

    assert read(b"".join(parts))["missing.txt"].decode().startswith(expected)


@pytest.mark.parametrize("error", [PermissionError(), TimeoutError(), ConnectionError(), ValueError()])
def test_zip__that_storage_cannot_fill_now__is_cut_before_its_directory(error: Exception) -> None:
    parts = zip_parts([entry("a.txt"), failing("b.txt", error), entry("c.txt")])
    sent = collected(parts, type(error))

    assert sent
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(sent))


@pytest.mark.parametrize("content", [b"conten", b"content!", b""])
def test_file__of_another_size_than_its_row_says__cuts_the_zip(content: bytes) -> None:
    open_file: Callable[[], IO[bytes]] = lambda: io.BytesIO(content)  # noqa: E731  # annotated
    sent = collected(zip_parts([entry("a.txt"), ("b.txt", TIME, 7, open_file)]), DamagedFile)

    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(sent))


def collected(parts: Iterator[bytes], error: type[Exception]) -> bytes:
    """The parts up to an error, which must come."""
    sent: list[bytes] = []
    with pytest.raises(error):  # noqa: PT012 - the parts before the error count
        for part in parts:
            sent.append(part)  # noqa: PERF402  # it fails in between
    return b"".join(sent)


def test_zip__without_files__is_an_empty_zip() -> None:
    assert read(b"".join(zip_parts([]))) == {}


@pytest.mark.slow
def test_zip__with_more_files_than_the_old_format_counts__has_a_larger_directory() -> None:
    data = b"".join(zip_parts(entry(f"{number}", b"") for number in range(66_000)))

    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 66_000
