"""Archives and compound files: read by their directory, within bounds, and refused where they are damaged."""

import io
import struct
import tracemalloc
import zipfile

import pytest

from tests.support.files.contents import (
    DOCX,
    PDF,
    is_accepted,
    office,
    ole,
    picture,
    reason_of,
    type_of,
    zipped,
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (picture("GIF") + zipped("A.class"), "second_file"),
        (picture("JPEG") + zipped("META-INF/MANIFEST.MF"), "second_file"),
        (picture("PNG") + zipped("a.txt") + b"", "second_file"),
        (PDF + zipped("a.txt"), "second_file"),
        (b"plain text" + zipped("a.txt"), None),
        (b"GIF89a" + b"\0" * 10 + b"%PDF-1.4", "second_file"),
        (picture("JPEG", comment=b"<script>alert(1)</script>"), "html"),
        (b"GIF89a\0\1\0\1<HTML >", "html"),
        (PDF + b"<svg onload=alert(1)>", "html"),
        (b"GIF89a/*" + bytes(9) + b"*/=1;alert(1)", "script"),
        (b"GIF89a=1;alert(1)//" + bytes(9), "script"),
        (b"\xff\xd8\xff\xe0/*JFIF" + bytes(99), "script"),
        (b"BM/*\0\0" + bytes(8) + b"\x28\0\0\0" + bytes(9), "script"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(5) + b"<?php system(1);", "html"),
    ],
)
def test_file__of_two_types__is_refused_or_read_as_unknown(data: bytes, reason: str | None) -> None:
    if reason is None:
        assert type_of(data) == "application/octet-stream"
    else:
        assert reason_of(data, "a.gif") == reason


def test_archive__with_a_program_in_front_of_its_end__is_found_by_its_directory() -> None:
    hidden = b"PK\x03\x04" + bytes(99) + zipped("META-INF/MANIFEST.MF")
    assert reason_of(hidden) == "program"


def test_archive__with_a_false_end_in_its_comment__is_read_by_the_true_one() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "x")
        archive.comment = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 5, 5, 99, 0, 0)
    assert reason_of(file.getvalue()) == "program"


@pytest.mark.parametrize(
    "data",
    [
        zipped("a.txt")[:-30],
        b"PK\x03\x04" + bytes(200),
        office("word").replace(b"PK\x01\x02", b"PK\x01\x09"),
        office("word")[:-10] + b"\xff\x7f" + office("word")[-8:],
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(99),
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2000),
    ],
    ids=range(6),  # one of them has the time in it, so two processes would name it differently
)
def test_container__without_a_whole_directory__is_refused(data: bytes) -> None:
    assert reason_of(data, "a.zip") in ("damaged",)


def test_archive__in_the_larger_format__is_read() -> None:
    data = office("word")
    end = len(data) - 22
    entries, length, offset = struct.unpack_from("<2HLL", data, end + 8)[1:]
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    saturated = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)

    assert type_of(data[:end] + record + locator + saturated) == DOCX


def test_archive__with_more_members_than_read__is_refused() -> None:
    assert reason_of(zipped(*map(str, range(66_000)))) == "damaged"


@pytest.mark.slow
def test_bomb__of_a_gigabyte__costs_nothing() -> None:
    bomb = zipped(*"abcdefgh", compression=zipfile.ZIP_DEFLATED, content=bytes(50_000_000))
    tracemalloc.start()
    assert type_of(bomb) == "application/zip"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2_000_000


def test_directory__of_an_ole_file_in_a_circle__is_left_after_a_bound() -> None:
    data = bytearray(ole("anything"))
    struct.pack_into("<L", data, 512 + 4, 1)  # sector 1 follows itself

    assert type_of(bytes(data)) == "application/x-ole-storage"


@pytest.mark.parametrize(
    ("family", "member", "plain", "named"),
    [
        ("word", "word/vbaProject.bin", "a.docx", "a.docm"),
        ("xl", "xl/vbaProject.bin", "a.xlsx", "a.xlsm"),
        ("xl", "xl/macrosheets/sheet1.xml", "a.xlsx", "a.xltm"),
        ("ppt", "ppt/vbaProject.bin", "upload", "a.pptm"),
    ],
)
def test_document__with_macros__needs_a_name_that_says_so(family: str, member: str, plain: str, named: str) -> None:
    data = office(family, member)

    assert reason_of(data, plain) == "macros"
    assert "macroEnabled" in type_of(data, named)
    assert is_accepted(data, named, named[1:])
    assert not is_accepted(data, named, ".docx", ".xlsx", ".pptx", DOCX)
