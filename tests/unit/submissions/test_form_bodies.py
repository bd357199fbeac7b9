"""Bodies with files: streamed, and bounded."""

import hashlib
from contextlib import suppress
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest

from config.api.errors import ApiError
from config.api.long_requests import give_back_place
from forms_app.field_definitions import MAX_FILE_BYTES
from submissions.hosted.bodies import read_form_body
from submissions.receiving.parse_body import Body
from tests.support.posted_files import FILE_HEADERS, PDF, Part, body_of, pdf


def read(body: bytes, **environ: Any) -> Body:
    given = {
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": FILE_HEADERS["Content-Type"],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    }
    request = WSGIRequest(given | environ)
    try:
        found = read_form_body(request)
    finally:
        give_back_place(request)
    for file in found.files:
        assert file.content.tell() == 0
    return found


def close(body: Body) -> None:
    for file in body.files:
        file.content.close()


@pytest.mark.parametrize("size", [1_000, 300_000])
def test_body_with_a_file__of_any_size__is_read_whole(size: int) -> None:
    content, parts = pdf(size), list[Part]()
    parts = [("name", None, "Ä".encode()), ("cv", "a.pdf", content), ("name", None, b"B")]

    found = read(body_of(parts))

    [file] = found.files
    assert (found.fields, file.field, file.name, file.size) == ({"name": ["Ä", "B"]}, "cv", "a.pdf", size)
    assert (file.content.read() == content, file.sha256) == (True, hashlib.sha256(content).hexdigest())
    assert found.raw == (b"" if size > 256 * 1024 else body_of(parts))
    close(found)


def test_file__that_is_too_large_for_any_field__is_counted_but_not_kept() -> None:
    found = read(body_of([("cv", "a.pdf", pdf(MAX_FILE_BYTES + 100_000))]))

    [file] = found.files
    assert (file.size, len(file.content.read()) <= MAX_FILE_BYTES) == (MAX_FILE_BYTES + 100_000, True)
    close(found)


def broken(number: int) -> bytes:
    whole = body_of([("cv", "a.pdf", pdf(300_000))])
    return [
        whole.replace(b"Content-Disposition", b"Content-Disposition\x00" * 3_000),
        whole.replace(b"application/octet-stream", b"text/plain\r\nContent-Transfer-Encoding: base64"),
        b"------fieldpostfiles\r\n\r\n" * 40_000,
        body_of([(f"f{each}", "a.pdf", PDF * 100) for each in range(101)]),
        body_of([(f"t{each}", None, b"x" * 1_000) for each in range(3_000)]),
    ][number]


@pytest.mark.parametrize("number", range(5))
def test_large_body__that_is_hostile__is_refused_or_has_no_files(number: int) -> None:
    with suppress(ApiError):  # a bug would be another error
        assert read(broken(number)).files == []


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"HTTP_CONTENT_ENCODING": "gzip"}, "unsupported_media_type"),
        ({"CONTENT_TYPE": "application/json"}, "payload_too_large"),
        ({"CONTENT_TYPE": "application/x-www-form-urlencoded"}, "payload_too_large"),
        ({"CONTENT_TYPE": "multipart/form-data"}, "validation_error"),
        ({"CONTENT_LENGTH": str(300 * 1024 * 1024)}, "payload_too_large"),
    ],
)
def test_large_body__that_is_none_with_files__is_refused(environ: dict[str, Any], code: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(body_of([("cv", "a.pdf", pdf(300_000))]), **environ)

    assert refused.value.code == code


@pytest.mark.parametrize(("cut", "is_whole"), [(2, True), (3, False), (4, False), (70, False), (500, False)])
@pytest.mark.parametrize("size", [1_000, 300_000])
def test_body__that_ends_within_its_file__is_refused_with_its_texts(size: int, cut: int, is_whole: bool) -> None:
    parts: list[Part] = [("name", None, b"Ada"), ("cv", "a.pdf", pdf(size))]
    body = body_of(parts)[:-cut]

    if is_whole:
        found = read(body)
        assert [file.size for file in found.files] == [size]
        close(found)
    else:
        with pytest.raises(ApiError) as refused:
            read(body)
        assert refused.value.code == "validation_error"
