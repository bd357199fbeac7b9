"""Types of files by their content: known types, refusals under any name, and names that lie."""

import io
import struct
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forms_app.file_fields.refused import HTML_NAMES, PROGRAM_NAMES, SCRIPT_NAMES
from submissions.files.content import HEAD, detect, fits
from submissions.files.file_types import CLAIMED, EXTENSIONS, OOXML, RefusedContent
from tests.support.files.contents import (
    DOCX,
    EXE,
    MSI,
    ODT,
    PDF,
    XLSX,
    is_accepted,
    media,
    office,
    ole,
    picture,
    reason_of,
    type_of,
    zipped,
)


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
    assert content.extensions == set(EXTENSIONS.get(content.media_type, content.extensions))
    assert isinstance(fits(content, name, ["image/*", ".pdf"]), bool)
