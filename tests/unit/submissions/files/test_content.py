"""Types of files by their content: known types, refusals under any name, and names that lie."""

import io
import struct
import sys
import tracemalloc
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from forms_app.file_fields.refused import HTML_NAMES, PROGRAM_NAMES, SCRIPT_NAMES
from submissions.files.content import HEAD, RefusedContent, detect, fits
from submissions.files.file_types import CLAIMED, EXTENSIONS, OOXML

DOCX = f"{OOXML}wordprocessingml.document"
XLSX = f"{OOXML}spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
MSI = bytes.fromhex("84100c0000000000c000000000000046")
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< >>\nendobj\n\0"
EXE = b"MZ\x90\0\x03\0\0\0" + bytes(56) + b"PE\0\0"


def picture(kind: str, size: tuple[int, int] = (9, 9), **more: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, kind, **more)
    return file.getvalue()


def zipped(*names: str, mimetype: str = "", compression: int = zipfile.ZIP_STORED, content: bytes = b"x") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        if mimetype:
            archive.writestr(zipfile.ZipInfo("mimetype"), mimetype)
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


def office(family: str, *more: str) -> bytes:
    return zipped("[Content_Types].xml", "_rels/.rels", f"{family}/main.xml", *more)


def ole(*names: str, root_class: bytes = bytes(16)) -> bytes:
    """A compound file: its head, one table of sectors, and a directory of as many sectors as needed."""
    entries = [("Root Entry", 5, root_class), *((name, 2, bytes(16)) for name in names)]
    raw = b"".join(ole_entry(*entry) for entry in entries)
    raw += bytes(-len(raw) % 512)
    count = len(raw) // 512
    table = [0xFFFFFFFD, *range(2, count + 1), 0xFFFFFFFE]
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    head += struct.pack("<5L", 1, 1, 0, 4096, 0xFFFFFFFE) + struct.pack("<3L", 0, 0xFFFFFFFE, 0)
    head += struct.pack("<109L", 0, *[0xFFFFFFFF] * 108)
    return head + struct.pack("<128L", *table, *[0xFFFFFFFF] * (128 - len(table))) + raw


def ole_entry(name: str, kind: int, root_class: bytes) -> bytes:
    encoded = (name + "\0").encode("utf-16-le")
    return (
        encoded.ljust(64, b"\0")
        + struct.pack("<HBB3L", len(encoded), kind, 1, *[0xFFFFFFFF] * 3)
        + root_class
        + bytes(32)
    )


def media(brand: bytes, *more: bytes) -> bytes:
    brands = b"".join(more)
    return struct.pack(">L", 16 + len(brands)) + b"ftyp" + brand + bytes(4) + brands + bytes(99)


def type_of(data: bytes, name: str = "upload") -> str:
    file = io.BytesIO(data)
    file.seek(3)
    found = detect(file, name)
    assert file.tell() == 0
    return found.media_type


def reason_of(data: bytes, name: str = "upload") -> str:
    file = io.BytesIO(data)
    with pytest.raises(RefusedContent) as refused:
        detect(file, name)
    assert file.tell() == 0
    assert refused.value.code == "file_type_not_allowed"
    assert str(refused.value).endswith(".")
    return refused.value.reason


def is_accepted(data: bytes, name: str, *accept: str) -> bool:
    return fits(detect(io.BytesIO(data), name), name, accept)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (picture("PNG"), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("GIF"), "image/gif"),
        (picture("GIF", (61, 61)), "image/gif"),  # its width is an equals sign
        (picture("WEBP"), "image/webp"),
        (picture("AVIF"), "image/avif"),
        (picture("BMP"), "image/bmp"),
        (picture("TIFF"), "image/tiff"),
        (picture("ICO"), "image/vnd.microsoft.icon"),
        (picture("JPEG2000"), "image/jp2"),
        (picture("PDF"), "application/pdf"),
        (PDF, "application/pdf"),
        (b"\xef\xbb\xbf\n" + PDF, "application/pdf"),
        (b"\x1b%-12345X@PJL\n" + PDF, "application/pdf"),
        (b"{\\rtf1\\ansi text}", "application/rtf"),
        (b"%!PS-Adobe-3.0\n", "application/postscript"),
        (media(b"heic", b"mif1", b"heic"), "image/heic"),
        (media(b"mif1", b"avif"), "image/avif"),
        (media(b"isom", b"iso2", b"mp41"), "video/mp4"),
        (media(b"M4A ", b"mp42"), "audio/mp4"),
        (media(b"qt  "), "video/quicktime"),
        (bytes(4) + b"mdat" + bytes(99), "video/quicktime"),
        (b"ID3\x04\0\0" + bytes(99), "audio/mpeg"),
        (b"RIFF\x24\0\0\0WAVEfmt \0", "audio/wav"),
        (b"OggS\0\x02" + bytes(99), "audio/ogg"),
        (b"#!AMR\n\0\1", "audio/amr"),
        (b"\x1f\x8b\x08\0" + bytes(20), "application/gzip"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "application/x-7z-compressed"),
        (b"a.txt".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), "application/x-tar"),
        (zipped(), "application/zip"),
        (zipped("a.txt", "word/document.xml"), "application/zip"),
        (b"junk before" + bytes(3), "application/octet-stream"),
        (office("word"), DOCX),
        (office("xl", "xl/embeddings/report.docx"), XLSX),
        (office("ppt", "docProps/app.xml"), f"{OOXML}presentationml.presentation"),
        (office("word", "xl/workbook.xml"), "application/zip"),
        (zipped("META-INF/manifest.xml", mimetype=ODT), ODT),
        (b"PK00" + zipped("META-INF/manifest.xml", mimetype=ODT), ODT),  # one part of a divided archive
        (zipped("META-INF/container.xml", mimetype="application/epub+zip"), "application/epub+zip"),
        (zipped("a", mimetype="image/png"), "application/zip"),
        (zipped("a", mimetype="text/html"), "application/zip"),
        (ole("WordDocument", "1Table"), "application/msword"),
        (ole(*["stream"] * 90, "Workbook"), "application/vnd.ms-excel"),
        (ole("PowerPoint Document"), "application/vnd.ms-powerpoint"),
        (ole("__properties_version1.0"), "application/vnd.ms-outlook"),
        (ole("EncryptedPackage", "EncryptionInfo"), "application/encrypted"),
        (ole("anything"), "application/x-ole-storage"),
        (b"plain text", "text/plain"),
        ("\ufefftext".encode(), "text/plain"),
        ("\ufeffDobrý den".encode("utf-16"), "text/plain"),
        ("Dobrý den".encode("utf-16-le"), "text/plain"),
        ("Dobrý den".encode("utf-16-be"), "text/plain"),
        ("\ufeffDobrý den".encode("utf-32"), "text/plain"),
        ("Dobrý den, něco".encode("cp1250"), "text/plain"),
        (("é" * HEAD).encode()[1:], "text/plain"),
        (b"a" + "é".encode() * HEAD, "text/plain"),  # the last character that is read is cut
        (b"BM is a name, ID3 is none", "text/plain"),
        (b"ID3 tags are explained here", "text/plain"),
        (b"MZ is the car plate of Mainz", "text/plain"),
        (b"CWS and FWS are abbreviations", "text/plain"),
        (b"Wages < 3 and <unknown> words, no markup", "text/plain"),
        (b"<3", "text/plain"),
        (b"<unknown> first", "text/plain"),
        (b"<?xml version='1.0' encoding='UTF-8'?>\n<!-- a --><gpx></gpx>", "application/xml"),
        (b"\0\x01\x02random", "application/octet-stream"),
        (b"", "text/plain"),
        (bytes(2000), "application/octet-stream"),
    ],
)
def test_type__of_a_file_without_an_extension__is_that_of_its_content(data: bytes, media_type: str) -> None:
    assert type_of(data) == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.csv", "text/csv"), ("a.JSON", "application/json"), ("a.ics", "text/calendar"), ("a.log", "text/plain")],
)
def test_type__of_text__is_that_of_its_name(name: str, media_type: str) -> None:
    assert type_of(b'{"a": 1}', name) == media_type


HTML = [
    b"<!DOCTYPE html><p>a",
    b"  \r\n\t<html>",
    b"<HtMl lang=en>",
    b"<!-- a comment --><script>alert(1)</script>",
    b"<!-- a comment -->\n text",
    b"<!--><script>alert(1)</script>",
    b"<!-- it does not end ",
    b"<b>bold</b>",
    b"<a href=//evil.example>a</a>",
    b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    b"<?xml version='1.0'?>\n<!-- " + b"a" * 5000 + b" -->\n<svg/>",
    b"<?xml version='1.0'?>" + b"\n" * 30_000 + b"<svg/>",
    b"<?xml version='1.0'?><!-- " + b"a" * 2 * HEAD + b" --><svg/>",
    b"<?xml version='1.0'?>" + b" " * 2 * HEAD + b"<svg/>",
    b" " * 2 * HEAD + b"<svg/>",
    b"<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'a.dtd'><svg/>",
    b"<s:svg xmlns:s='http://www.w3.org/2000/svg'/>",
    b"<?xml version='1.0'?><x xmlns:h='http://www.w3.org/1999/xhtml'><h:script>alert(1)</h:script></x>",
    b"<?xml version='1.0'?><?xml-stylesheet href='#a' type='text/xsl'?><x/>",
    b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>",
    b"<?xml version='1.0' encoding='UTF-7'?><x>+ADw-svg+AD4-</x>",
    b"<?xml version='1.0'?><!DOCTYPE x [<!ATTLIST x a CDATA #FIXED 'a'>]><x/>",
    b"<?xml version='1.0'?><!DOCTYPE x [ %a; ]><x/>",
    b"<?xml version='1.0'?><x xmlns:h='http://www.w3.org/1999/xht&#109;l'><h:img src='' onerror='alert(1)'/></x>",
    b"<?php system($_GET['a']);",
    b"<hta:application>",
    b"Look here: <script src=//evil.example></script>",
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("data", HTML)
def test_markup__in_any_encoding_and_under_any_name__is_refused(data: bytes, encoding: str) -> None:
    for name in ("a.txt", "a.png", "a.xml", "a.csv", "upload"):
        assert reason_of(data.decode().encode(encoding), name) == "html"


@pytest.mark.parametrize(
    "data",
    [
        b"#!/bin/sh\nrm -rf /",
        b"\xef\xbb\xbf#!/usr/bin/env python3",
        b"#!/bin/sh\n" + bytes(99) + EXE,
        b"@echo off\r\ndel *.*",
        b"\r\n@ECHO OFF\r\n",
        b"'use strict'; a()",
        b"var a = new ActiveXObject('WScript.Shell')",
        b'Set a = CreateObject("Scripting.FileSystemObject")',
        b"Set-ExecutionPolicy Bypass; Invoke-Expression $a",
        b"#@~^AAAA==",
        b"[InternetShortcut]\r\nURL=file://evil.example/a.exe",
        b"[Desktop Entry]\nExec=rm",
        b"Windows Registry Editor Version 5.00\r\n",
        "Windows Registry Editor Version 5.00\r\n".encode("utf-16"),
        b"<job id='a'><script language='VBScript'/></job>",
        b"<%@ page import='java.io.*' %>",
        b"@echo off\r\nrem %PDF-1.4\r\n",
    ],
)
def test_script__under_any_name__is_refused(data: bytes) -> None:
    for name in ("a.txt", "a.pdf", "upload"):
        assert reason_of(data, name) in ("script", "html")


@pytest.mark.parametrize(
    "data",
    [
        EXE,
        b"MZ" + b"A" * 58 + struct.pack("<L", 64) + b"PE\0\0",
        EXE + PDF,
        b"MZ%PDF-1.4" + bytes(99),
        b"\x7fELF\x02\x01\x01" + bytes(99),
        b"\xcf\xfa\xed\xfe" + bytes(99),
        b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(99),
        b"\0asm\1\0\0\0",
        b"dex\n035\0" + bytes(99),
        b"L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0\0\0\0\0\0\0\x46" + bytes(99),
        b"MSCF\0\0\0\0" + bytes(99),
        b"ITSF\3\0\0\0" + bytes(99),
        b"!<arch>\ndebian-binary   ",
        b"CWS\x0a" + bytes(99),
        bytes(32769) + b"CD001" + bytes(99),
        zipped("META-INF/MANIFEST.MF", "a/B.class"),
        zipped("./meta-inf\\manifest.mf"),
        zipped("AndroidManifest.xml", "classes.dex"),
        zipped("Payload/A.app/Info.plist"),
        zipped("AppxManifest.xml"),
        b"junk" + office("word", "META-INF/MANIFEST.MF"),
        ole("anything", root_class=MSI),
        ole("\u4840\u3f3f\u4577"),
    ],
)
def test_program__under_any_name__is_refused(data: bytes) -> None:
    for name in ("a.png", "a.docx", "a.zip", "upload"):
        assert reason_of(data, name) == "program"


def test_program__of_this_interpreter__is_refused() -> None:
    with open(sys.executable, "rb") as file, pytest.raises(RefusedContent):  # noqa: PTH123  # the file stays open, as an arriving one does
        detect(file, "photo.jpg")


@pytest.mark.parametrize("name", sorted(HTML_NAMES | SCRIPT_NAMES | PROGRAM_NAMES))
def test_name__of_a_program_or_page__is_refused_whatever_it_holds(name: str) -> None:
    for spelled in (f"a{name}", f"a.pdf{name.upper()}", f"a{name}. . ", f"a.pdf   {name}", f"a\u202e{name}"):
        assert reason_of(b"plain text", spelled) in ("html", "script", "program")


def test_names__that_are_refused__are_no_extensions_of_types() -> None:
    assert not CLAIMED & (HTML_NAMES | SCRIPT_NAMES | PROGRAM_NAMES)


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


PNG, CSV, OLD_TEXT = picture("PNG"), b"a,b\n1,2\n", "Dobrý den".encode("cp1250")


@pytest.mark.parametrize(
    ("data", "name", "accept", "accepted"),
    [
        (PNG, "a.png", (), True),
        (PNG, "a.png", ("image/png",), True),
        (PNG, "a.PNG", ("IMAGE/*",), True),
        (PNG, "a.png", (".png",), True),
        (PNG, "a.png", ("png",), True),
        (PNG, "a.png", ("*.png",), True),
        (PNG, "a.png", (" .PNG ",), True),
        (PNG, "a.png", ("*/*",), True),
        (PNG, "a.png", (".pdf", "image/jpeg"), False),
        (PNG, "a.pdf", (".pdf",), False),
        (PNG, "a.pdf", ("image/*",), False),
        (PNG, "a.pdf", (), False),
        (PNG, "a", ("image/*",), True),
        (PNG, "a", (".png",), False),
        (PNG, "a.dwg", (".dwg",), False),
        (picture("JPEG"), "a.jpeg", (".jpg",), True),
        (picture("JPEG"), "a.jpg", ("image/jpg",), True),
        (PDF, "a.pdf", ("application/pdf",), True),
        (PDF, "a.ai", (".ai",), True),
        (zipped("a"), "a.docx", (".docx",), False),
        (zipped("a"), "a.docx", (), False),
        (zipped("a"), "a.kmz", (".kmz",), True),
        (zipped("a"), "a.zip", ("application/x-zip-compressed",), True),
        (zipped("a"), "a.txt", (), False),
        (office("word"), "a.docx", (DOCX,), True),
        (office("word"), "a.zip", (".zip",), False),
        (b"{\\rtf1}", "a.doc", (".doc",), True),
        (CSV, "a.csv", ("text/csv",), True),
        (CSV, "a.csv", ("text/*",), True),
        (CSV, "a.txt", ("text/csv",), False),
        (CSV, "a.pdf", (".pdf",), False),
        (CSV, "a.step", (".step",), True),
        (OLD_TEXT, "a.txt", ("text/plain",), True),
        (b"\0\1\2", "a.txt", (".txt",), False),
        (b"\0\1\2", "a.step", (".step",), True),
        (b"\0\1\2", "a.png", ("image/*", ".png"), False),
        (b"<?xml version='1.0'?><gpx/>", "a.gpx", (".gpx",), True),
        (b"<?xml version='1.0'?><gpx/>", "a.xml", ("text/xml",), True),
        (picture("WEBP"), "a.jpg", ("image/*",), False),
        (PNG, "a\u202egpj.png", (".png",), True),
        (PNG, "x.png/a.jpg", (), False),
    ],
)
def test_file__with_its_name__fits_the_accepted_types_or_not(
    data: bytes, name: str, accept: tuple[str, ...], accepted: bool
) -> None:
    assert is_accepted(data, name, *accept) is accepted


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([b"", PDF, zipped("a"), office("word"), ole("Workbook"), media(b"heic"), PNG, b"<?xml ", b"<!--"]),
    st.binary(max_size=300),
    st.integers(0, 200),
    st.text(max_size=12),
)
def test_file__with_any_bytes__has_a_type_or_is_refused(start: bytes, more: bytes, cut: int, name: str) -> None:
    file = io.BytesIO(start[: len(start) - cut] + more)
    try:
        content = detect(file, name)
    except RefusedContent:
        return
    assert content.extensions == EXTENSIONS.get(content.media_type, content.extensions)
    assert isinstance(fits(content, name, ["image/*", ".pdf"]), bool)
