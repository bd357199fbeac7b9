"""File fields: the entries of `accept`, and their limits as visitors read them (docs/contract.md 4.11)."""

from typing import Any

import pytest
from django.utils import translation

from forms_app.file_fields.entries import InvalidEntry, entry_of, example_file, limits_for_people

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("application/pdf", "application/pdf"),
        ("Image/PNG", "image/png"),
        ("image/*", "image/*"),
        ("application/vnd.ms-excel", "application/vnd.ms-excel"),
        ("model/gltf+json", "model/gltf+json"),
        (".pdf", ".pdf"),
        ("PDF", ".pdf"),
        ("7z", ".7z"),
    ],
)
def test_entry__type_or_extension__is_stored_in_lower_case_with_its_dot(given: str, stored: str) -> None:
    assert entry_of(given) == stored


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            ".",
            "/",
            "image/",
            "/png",
            "*",
            "*/*",
            "image/p*",
            "*.pdf",
            "..pdf",
            ".tar.gz",
            ".pdf,.doc",
            "a b",
            ".p df",
            "image/png;q=1",
        ),
        *("a/b/c", "../pdf", "p\u0131f", "pdf\n", "<b>", '"', "x" * 101),
    ],
)
def test_entry__anything_else__is_refused_with_an_example_of_both(given: str) -> None:
    with pytest.raises(InvalidEntry, match=r"such as \.pdf, or a media type such as application/pdf") as refused:
        entry_of(given)
    assert refused.value.code == "invalid_file_type"


@pytest.mark.parametrize(
    "given", ["html", ".SVG", "image/svg+xml", "text/HTML", "exe", "application/javascript", "js", "jar", ".lnk"]
)
def test_entry__type_that_can_run__is_refused_as_never_taken(given: str) -> None:
    with pytest.raises(InvalidEntry, match="because they can run code") as refused:
        entry_of(given)
    assert refused.value.code == "file_type_not_allowed"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({}, "One file of at most 10 MiB"),
        ({"maxFiles": 3}, "At most 3 files, 10 MiB each"),
        ({"accept": ["application/pdf"]}, "PDF, at most 10 MiB"),
        ({"accept": ["image/*", "image/png", ".png"], "maxBytes": MIB}, "Images or PNG, at most 1 MiB"),
        ({"accept": [".jpg", "image/jpeg", ".jpeg"], "maxBytes": 1}, "JPEG, at most 1 byte"),
        ({"maxBytes": 1024}, "One file of at most 1 KiB"),
        ({"accept": [".doc", ".docx", ".odt"], "maxFiles": 2}, "DOC, DOCX or ODT, at most 2 files, 10 MiB each"),
        ({"accept": ["model/gltf+json"]}, "Model/gltf+json, at most 10 MiB"),
    ],
)
def test_limits__of_a_field__are_one_sentence(field: dict[str, Any], text: str) -> None:
    assert limits_for_people(field) == text


def test_limits__in_german__have_their_decimal_comma() -> None:
    with translation.override("de"):
        assert "1,5 MiB" in limits_for_people({"maxBytes": 3 * MIB // 2})


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ([], "example.pdf"),
        ([".odt", ".pdf"], "example.odt"),
        (["image/*"], "example.jpg"),
        (["image/png"], "example.png"),
    ],
)
def test_example__of_a_field__is_one_that_it_accepts(accept: list[str], name: str) -> None:
    assert example_file({"accept": accept}) == name
