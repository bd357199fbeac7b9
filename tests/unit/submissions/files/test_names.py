"""Names of uploaded files: hostile ones become plain names, and two files never get one name."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.files.names import (
    MAX_BYTES,
    MAX_CHARACTERS,
    clean_file_name,
    content_disposition,
    extension_of,
    unique_names,
)
from tests.support.costs import fill, too_expensive

ANY_NAME = st.text(st.characters() | st.sampled_from('./\\ :"\u202e\u0301\0')) | st.text("aA.() 2", max_size=8)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\fakepath\\scan.png", "scan.png"),
        ("C:scan.png", "C_scan.png"),
        ("folder/", "folder"),
        ("a/..", "file"),
        ("", "file"),
        ("...", "file"),
        ("\0\n\t", "file"),
        (".htaccess", "htaccess"),
        ("report.pdf. . ", "report.pdf"),
        ("report\u202efdp.exe", "reportfdp.exe"),
        ("\u200e\ufeffa\u2066b.txt", "ab.txt"),
        ("a\r\nX-Evil: 1.txt", "a X-Evil_ 1.txt"),
        ("photo.jpg" + " " * 300 + ".exe", "photo.jpg.exe"),
        ("photo.jpg\u2003\u2003.exe", "photo.jpg.exe"),
        ("u\u0308ber.txt", "über.txt"),
        ("\ud800a.txt", "a.txt"),
        ('a<b>"c"|d?e*.txt', "a_b__c__d_e_.txt"),
        ("report.pdf::$DATA", "report.pdf__$DATA"),
        ("con", "_con"),
        ("NUL.tar.gz", "_NUL.tar.gz"),
        ("com1 .txt", "_com1.txt"),
        ("LPT².txt", "_LPT².txt"),
        ("console.txt", "console.txt"),
        ("書類.pdf", "書類.pdf"),
    ],
)
def test_name__of_a_stranger__becomes_a_plain_one(raw: str, name: str) -> None:
    assert clean_file_name(raw) == name


@given(ANY_NAME)
def test_name__whatever_is_given__is_safe_and_stays_as_it_is(raw: str) -> None:
    name = clean_file_name(raw)

    assert clean_file_name(name) == name
    assert 0 < len(name) <= MAX_CHARACTERS
    assert len(name.encode()) <= MAX_BYTES
    assert unicodedata.is_normalized("NFC", name)
    assert name == name.strip(". ")
    assert not set(name) & set('/\\:*?"<>|')
    assert not {unicodedata.category(one) for one in name} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize("letter", ["a", "é", "書", "😀"])
def test_name__that_is_too_long__is_cut_before_its_extension(letter: str) -> None:
    name = clean_file_name(letter * 4000 + ".docx")

    assert name.startswith(letter * 50)
    assert name.endswith(f"{letter}.docx")
    assert len(name) <= MAX_CHARACTERS
    assert len(name.encode()) <= MAX_BYTES


@pytest.mark.parametrize(
    "pieces", [("\u0301",), ("\u0301", "\u0323"), (".",), (" ", "."), ("/",), ("\u202e",), ("a.",)]
)
def test_name__long_and_hostile__costs_no_more_than_its_size(pieces: tuple[str, ...]) -> None:
    def hostile(size: int) -> list[str]:
        return ["a" + fill(*pieces, size=size - 5) + ".pdf"]

    assert too_expensive(clean_file_name, fill("A harmless name of a file "), hostile) == ""


@pytest.mark.parametrize(
    ("name", "extension"),
    [
        ("a.PDF", ".pdf"),
        ("a.tar.gz", ".gz"),
        ("a", ""),
        ("Dear Sir. I send you this", ""),
        ("a.b c", ""),
    ],
)
def test_extension__of_a_name__is_what_follows_its_last_dot(name: str, extension: str) -> None:
    assert extension_of(name) == extension


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a b.pdf", 'attachment; filename="a b.pdf"'),
        ("Žluťoučký.pdf", "attachment; filename=\"Zlutoucky.pdf\"; filename*=UTF-8''%C5%BDlu%C5%A5ou%C4%8Dk%C3%BD.pdf"),
        ("書.pdf", "attachment; filename=\"_.pdf\"; filename*=UTF-8''%E6%9B%B8.pdf"),
        ("50%20.pdf", "attachment; filename=\"50_20.pdf\"; filename*=UTF-8''50%2520.pdf"),
        ("a'(1)*.pdf", 'attachment; filename="a\'(1)_.pdf"'),
        ("é'(1).pdf", "attachment; filename=\"e'(1).pdf\"; filename*=UTF-8''%C3%A9%27%281%29.pdf"),
        ('a"; b="c\r\nX: y\\d.pdf', 'attachment; filename="d.pdf"'),
    ],
)
def test_header__of_a_download__has_a_name_for_every_client(name: str, header: str) -> None:
    assert content_disposition(name) == header


@given(ANY_NAME)
def test_header__whatever_is_given__is_one_ascii_line_with_one_quoted_name(raw: str) -> None:
    header = content_disposition(raw)

    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


def test_names__that_repeat__are_numbered_before_their_extension() -> None:
    given_names = ["a.pdf", "A.PDF", "a.pdf", "a (2).pdf", "b", "b", "a.pdf"]

    assert unique_names(given_names) == [
        "a.pdf",
        "A (2).PDF",
        "a (3).pdf",
        "a (2) (2).pdf",
        "b",
        "b (2)",
        "a (4).pdf",
    ]


@given(st.lists(ANY_NAME))
def test_names__whatever_is_given__are_unique_and_as_many(names: list[str]) -> None:
    unique = unique_names(names)

    assert len(unique) == len(names)
    assert len({one.casefold() for one in unique}) == len(names)


def test_names__twenty_thousand_equal_ones__are_numbered_quickly() -> None:
    assert unique_names(["a.pdf"] * 20_000)[-1] == "a (20000).pdf"
