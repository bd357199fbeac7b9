"""
The bodies that pages post: urlencoded, multipart, JSON -> names and values, as `take_in` expects them, and files.

A name that occurs several times (checkboxes, a multiple select) becomes a list. Files are never in memory: multipart is
parsed as a stream, and each file is written to a temporary one. Texts are decoded at the end, when it is known which
charset the sender names.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.http import HttpRequest

from config.api.errors import UnsupportedMediaType
from config.api.long_requests import hold_place
from config.api.parsing import (
    JSON_MEDIA_TYPE,
    MAX_FILE_BODY_BYTES,
    media_type,
    parse_object,
    read_body,
    refuse_compressed,
)
from config.base.text import clean_name
from submissions.files.arrived import Arrived
from submissions.files.names import clean_file_name
from submissions.parsing.charsets import CHARSET_FIELD, decode, decode_name
from submissions.parsing.multipart import Part, Readable, malformed, read_parts, too_many_fields
from submissions.parsing.part_heads import file_name_text
from submissions.receiving.parse_body import Body

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN_TEXT = "text/plain"
_BOUNDARY = re.compile(r"[ -~]{0,200}[!-~]")


def is_json(request: HttpRequest, body: bytes) -> bool:
    """Return whether a body is JSON by its media type, or is sent as text by a beacon (`navigator.sendBeacon`)."""
    kind = media_type(request)
    return kind == JSON_MEDIA_TYPE or (kind == PLAIN_TEXT and body.lstrip()[:1] in (b"{", b"["))


def read_form_body(request: HttpRequest) -> Body:
    """
    Read a body, up to 256 KiB in memory, or with files, from a file, and parse it. Close the files of the result.

    Raises PayloadTooLarge, ServiceUnavailable, FilesAway, and what `parse_form_body` raises.
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    is_large = length.isdigit() and settings.MAX_BODY_BYTES < int(length[:20]) <= MAX_FILE_BODY_BYTES
    if not (is_large and media_type(request) == MULTIPART):
        body = read_body(request)
        return dataclasses.replace(parse_form_body(request, body), raw=body)
    refuse_compressed(request)
    hold_place(request)
    return _multipart(request, request)


def body_as_read(request: HttpRequest) -> bytes:
    """Return a body that was read into memory, though it could not be parsed; b"" for another one."""
    return bytes(getattr(request, "_body", b""))  # where Django keeps it


def parse_form_body(request: HttpRequest, body: bytes) -> Body:
    """
    Return a body's names and values, and its files, which the caller closes.

    Raises UnsupportedMediaType, InvalidJson, FilesAway, and ValidationFailed for malformed bodies.
    """
    kind = media_type(request)
    if is_json(request, body):
        return Body(parse_object(body, numbers_as_text=True))
    if kind == MULTIPART:
        return _multipart(request, BytesIO(body)) if body else Body({})
    if kind == URLENCODED:
        return Body(_urlencoded(body, _charset_of(request)))
    message = f"Send a form ({URLENCODED} or {MULTIPART}) or JSON ({JSON_MEDIA_TYPE})."
    raise UnsupportedMediaType(message)


def _charset_of(request: HttpRequest) -> str:
    return (request.content_params or {}).get("charset", "")


def _urlencoded(body: bytes, charset: str) -> dict[str, Any]:
    if body.count(b"&") >= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:
        raise too_many_fields()
    pairs = [pair.partition(b"=") for pair in body.replace(b"+", b" ").split(b"&") if pair]
    sent = [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in pairs]
    named = [_named_charset(sent), charset]
    return _grouped((decode_name(name, named), decode(value, named)) for name, value in sent)


def _named_charset(texts: Iterable[tuple[bytes | str, bytes]]) -> str:
    """Return the charset that the browser has written into the input that asks for it, or ""."""
    return next((value.decode("latin-1") for name, value in texts if name == CHARSET_FIELD.encode() and value), "")


def _grouped(texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return each name, cleaned, with its value, or with the list of its values."""
    found: dict[str, Any] = {}
    for sent, value in texts:
        name = clean_name(sent)
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _multipart(request: HttpRequest, stream: Readable) -> Body:
    boundary = (request.content_params or {}).get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise malformed()
    parts = read_parts(stream, boundary)
    named = [_named_charset((part.head.name, part.text) for part in parts if not part.file), _charset_of(request)]
    names = [_name(part, named) for part in parts]
    texts, files, content = list[tuple[str, str]](), list[Arrived](), list[tuple[str, ...]]()
    for name, part in zip(names, parts, strict=True):
        if part.file is None:
            value = decode(part.text, [part.head.charset, *named])
            texts.append((name, value))
            content.append((name, value))
        else:
            files.append(_arrived(part, name, named))
            content.append((name, files[-1].name, files[-1].sha256, str(files[-1].size)))
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return Body(_grouped(texts), files, sha256=digest)


def _name(part: Part, named: Sequence[str]) -> str:
    name = part.head.name
    return name if isinstance(name, str) else decode_name(name, named, otherwise=part.head.charset)


def _arrived(part: Part, name: str, named: Sequence[str]) -> Arrived:
    assert part.file  # noqa: S101 - the caller has looked
    sent = part.head.file_name or b""
    text = sent if isinstance(sent, str) else decode(sent, named, otherwise=part.head.charset)
    file_name = clean_file_name(file_name_text(part.head, text), nameless="")
    return Arrived(clean_name(name), file_name, part.file.size, part.file.sha256, part.file.content)
