"""The checks of a posted file, and the name of one that has none."""

import hashlib
import io
from typing import Any, cast

import pytest

from config.api.errors import ValidationFailed
from submissions.files.arrived import Arrived
from submissions.files.checks import check_file
from tests.support.files.contents import office, picture, zipped
from tests.support.posted_files import PDF, file_field


def checked(content: bytes, name: str = "", **field: Any) -> tuple[str, str]:
    """Return name and type of a file that a File field takes."""
    arrived = Arrived("file", name, len(content), hashlib.sha256(content).hexdigest(), io.BytesIO(content))
    found = check_file(cast(Any, file_field(**field)), arrived)
    assert found.arrived.field == "cv"
    return found.arrived.name, found.content_type


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PDF, "file.pdf"),
        (picture("PNG"), "file.png"),
        (b"Dear Sir", "file.txt"),
        (b"<?xml version='1.0'?><note/>", "file.xml"),
        (office("word"), "file.docx"),
        (zipped("a"), "file.zip"),
        (bytes(range(256)), "file"),
    ],
)
def test_file__without_a_name__is_named_by_its_type(content: bytes, name: str) -> None:
    assert checked(content)[0] == name


def test_file__without_a_name__is_compared_with_accepted_types_by_that_name() -> None:
    assert checked(PDF, accept=[".pdf"]) == ("file.pdf", "application/pdf")
    with pytest.raises(ValidationFailed):
        checked(picture("PNG"), accept=[".pdf"])


def test_file__of_any_bytes__may_end_in_bin() -> None:
    assert checked(b"\r\n" * 20, "crlf.bin") == ("crlf.bin", "text/plain")
    with pytest.raises(ValidationFailed):
        checked(b"\x7fELF" + bytes(60), "program.bin")
