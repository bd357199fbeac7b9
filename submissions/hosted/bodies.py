"""
The bodies that pages post: urlencoded, multipart, JSON -> names and values, as `take_in` expects them.

A name that occurs several times (checkboxes, a multiple select) becomes a list.
"""

import dataclasses
import re
from io import BytesIO
from typing import Any

from django.core.exceptions import TooManyFieldsSent
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.datastructures import MultiValueDict

from config.api.errors import ApiError, Detail, UnsupportedMediaType, ValidationFailed, invalid
from config.api.parsing import JSON_MEDIA_TYPE, media_type, parse_object
from forms_app.field_definitions import MAX_FIELDS

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN_TEXT = "text/plain"
_EMPTY_FILES = re.compile(r'\bname="([^"\r\n]*)"; filename=""')


@dataclasses.dataclass(frozen=True, slots=True)
class FormBody:
    """Names and values of a body. `problem`: why it is refused although they could be read; None if it is not."""

    fields: dict[str, Any]
    problem: ApiError | None = None


def is_json(request: HttpRequest, body: bytes) -> bool:
    """Return whether a body is JSON by its media type, or is sent as text by a beacon (`navigator.sendBeacon`)."""
    kind = media_type(request)
    return kind == JSON_MEDIA_TYPE or (kind == PLAIN_TEXT and body.lstrip()[:1] in (b"{", b"["))


def parse_form_body(request: HttpRequest, body: bytes) -> FormBody:
    """
    Return the body's names and values; the problem is a ValidationFailed for files, naming their fields.

    Raises UnsupportedMediaType, InvalidJson, and ValidationFailed for malformed bodies.
    """
    kind = media_type(request)
    if is_json(request, body):
        return FormBody(parse_object(body, numbers_as_text=True))
    try:
        if kind == URLENCODED:
            return FormBody(_plain(QueryDict(body, encoding="utf-8")))
        if kind == MULTIPART:
            return _multipart(request, body)
    except TooManyFieldsSent:
        raise invalid("", "too_many", f"A submission has at most {MAX_FIELDS} fields.") from None
    except (MultiPartParserError, UnicodeDecodeError):
        message = "The body is not a form as browsers send it. Check its encoding and boundary."
        raise invalid("", "malformed", message) from None
    message = f"Send a form ({URLENCODED} or {MULTIPART}) or JSON ({JSON_MEDIA_TYPE})."
    raise UnsupportedMediaType(message)


def _multipart(request: HttpRequest, body: bytes) -> FormBody:
    handler = MemoryFileUploadHandler(request)
    # The length as read: a chunked body has no Content-Length, and the parser would take it for empty.
    meta = {**request.META, "CONTENT_LENGTH": len(body)}
    values, files = MultiPartParser(meta, BytesIO(body), [handler], "utf-8").parse()
    named = _plain(values)
    for name in _EMPTY_FILES.findall(body.decode(errors="replace")):
        if named.get(name) == "":  # the parser takes a file input without a file for text
            del named[name]
    advice = "files cannot be sent with this form. Remove the file, then send again."
    refused = [Detail(name, "file_not_allowed", advice) for name in files]
    return FormBody(named, ValidationFailed(refused) if refused else None)


def _plain(values: "MultiValueDict[str, str]") -> dict[str, Any]:
    return {name: found[0] if len(found) == 1 else found for name, found in values.lists()}
