"""
Strict JSON: one object in UTF-8, at most 32 levels deep, no NaN, no number too large for a double or 4,300 digits.

Source: docs/contract.md 1 (`invalid_json`), RFC 8259.
"""

import dataclasses
import json
import math
import re
import string
from collections.abc import Callable
from io import BytesIO, RawIOBase
from typing import IO, Any, NoReturn

from django.conf import settings
from django.http import HttpRequest

from config.api.errors import InvalidJson, PayloadTooLarge, UnsupportedMediaType, invalid
from config.base.text import clean_text

JSON_MEDIA_TYPE = "application/json"
MAX_DEPTH = 32
MAX_FILE_BODY_BYTES = (256 * 1024 + 256) * 1024  # of a body with files: besides its texts
MAX_MEDIA_TYPE = 1024  # characters of Content-Type and Accept; browsers send some 150
MAX_IDEMPOTENCY_KEY = 255  # characters
MAX_DIGITS = 4300  # CPython's limit for int(), which raises ValueError for longer literals

_PRINTABLE = frozenset(string.printable) - frozenset(string.whitespace) | {" "}
# A string never fails to match, even an unfinished one: the scan would start again at each of its quotes.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[^\s,:\[\]{}"]+', re.DOTALL)


class NumberText(str):
    """A JSON number in its original spelling: `1.50` stays `1.50`."""

    __slots__ = ()


class _RefusedNumber(Exception):
    """A literal that a hook of the decoder rejected; hooks do not know its position."""

    def __init__(self, token: str, advice: str) -> None:
        super().__init__(advice)
        self.token = token
        self.advice = advice


def _place(text: str, token: str) -> str:
    """
    Return the position of a refused literal, as `line 1, column 7`.

    It is the first token that begins with the literal: an earlier one would have been refused.
    """
    for match in _TOKENS.finditer(text):
        if match[0].startswith(token):
            before = text[: match.start()]
            return f"line {before.count(chr(10)) + 1}, column {match.start() - before.rfind(chr(10))}"
    return "the body"


def _checked_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedNumber(text, f"The number {text[:20]} is too large for JSON.")
    return number


def _checked_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _RefusedNumber(text, f"A number has more than {MAX_DIGITS} digits.")
    return int(text)


def _checked_number_text(check: Callable[[str], object]) -> Callable[[str], NumberText]:
    def keep(text: str) -> NumberText:
        check(text)
        return NumberText(text)

    return keep


def _refuse_constant(text: str) -> NoReturn:
    raise _RefusedNumber(text, f"{text} is not JSON. Send a number, a string or null.")


_VALUES = json.JSONDecoder(parse_float=_checked_float, parse_int=_checked_int, parse_constant=_refuse_constant)
_TEXTS = json.JSONDecoder(
    parse_float=_checked_number_text(_checked_float),
    parse_int=_checked_number_text(_checked_int),
    parse_constant=_refuse_constant,
)


def parse_object(body: bytes, *, numbers_as_text: bool = False) -> dict[str, Any]:
    """
    Return the JSON object in `body`; of a duplicate name the last value counts.

    With `numbers_as_text`, numbers become NumberText. Raises InvalidJson with the problem and its position.
    """
    try:
        value = (_TEXTS if numbers_as_text else _VALUES).decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidJson(f"The body is not UTF-8 at byte {error.start + 1}.") from None
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise InvalidJson(f"The body is not JSON: {what} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise _too_deep() from None
    except _RefusedNumber as error:
        raise InvalidJson(f"{error.advice} See {_place(body.decode('utf-8-sig'), error.token)}.") from None
    if not isinstance(value, dict):
        raise InvalidJson(f"The body must be one JSON object, not {_kind(value)}.")
    # Counting brackets is cheap and clears nearly every body; only the others are walked.
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _too_deep() -> InvalidJson:
    return InvalidJson(f"The body is nested more than {MAX_DEPTH} levels deep.")


def _kind(value: object) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def _depth(value: object) -> int:
    """Return the number of nested levels of arrays and objects, without recursion."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        node, level = todo.pop()
        deepest = max(deepest, level)
        children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        todo += [(child, level + 1) for child in children if isinstance(child, dict | list)]
    return deepest


def drop_long_media_types(environ: dict[str, Any]) -> None:
    """
    Remove a Content-Type or Accept that is too long from a WSGI environment, before Django makes a request of it.

    Python parses their parameters in quadratic time: 64 KB of `;` take two seconds, for any path.
    """
    for name in ("CONTENT_TYPE", "HTTP_ACCEPT"):
        if len(environ.get(name, "")) > MAX_MEDIA_TYPE:
            del environ[name]


def say_length(environ: dict[str, Any]) -> None:
    """
    Give a chunked body a Content-Length, because Django takes it for empty otherwise.

    A small one is read here. A large one, which only form bodies may be, gets the most that it can have.
    """
    if not environ.pop("HTTP_TRANSFER_ENCODING", None):
        return
    stream: IO[bytes] = environ["wsgi.input"]
    begin = stream.read(settings.MAX_BODY_BYTES + 1)
    is_large = len(begin) > settings.MAX_BODY_BYTES
    environ["CONTENT_LENGTH"] = str(MAX_FILE_BODY_BYTES if is_large else len(begin))
    environ["wsgi.input"] = _Begun(begin, stream) if is_large else BytesIO(begin)


class _Begun(RawIOBase):
    """A stream of which `begin` has been read."""

    def __init__(self, begin: bytes, rest: IO[bytes]) -> None:
        self._begin, self._rest = BytesIO(begin), rest

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `size`."""
        return self._begin.read(size) or self._rest.read(size)


def media_type(request: HttpRequest) -> str:
    """Return the request's media type in lower case, without parameters."""
    content_type: str = request.META.get("CONTENT_TYPE", "")
    return content_type.partition(";")[0].strip().lower()


def read_body(request: HttpRequest) -> bytes:
    """
    Return the body.

    Raises PayloadTooLarge above MAX_BODY_BYTES, by Content-Length or while reading, and UnsupportedMediaType for a
    compressed one: unpacking could make a little of it fill the memory.
    """
    body = _read_any_body(request)
    if body:
        refuse_compressed(request)
    return body


def refuse_compressed(request: HttpRequest) -> None:
    """Raise UnsupportedMediaType for a compressed body."""
    coding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if coding not in ("", "identity"):
        message = f"The body is compressed (Content-Encoding: {clean_text(coding)[:40]}). Send it uncompressed."
        raise UnsupportedMediaType(message, headers={"Accept-Encoding": "identity"})


def _read_any_body(request: HttpRequest) -> bytes:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length[:20]) > settings.MAX_BODY_BYTES:
        raise PayloadTooLarge
    if len(request.body) < int(length):  # the client has gone, and gunicorn says nothing
        raise invalid("", "malformed", "The body is shorter than its Content-Length.", has_subject=True)
    return request.body


def read_bytes(request: HttpRequest, *, most: int, too_large: str) -> bytes:
    """
    Return a body that is a file, of any media type. `too_large`: the message of PayloadTooLarge.

    It may be larger than MAX_BODY_BYTES, and is cut where the line was: its reader has to notice that.
    """
    body = b""  # not `request.body`, which is for small ones
    while len(body) <= most and (part := request.read(most + 1 - len(body))):  # a chunked one comes in two parts
        body += part
    if len(body) > most:
        raise PayloadTooLarge(too_large)
    if body:
        refuse_compressed(request)
    return body


def read_json(
    request: HttpRequest, *, required: bool = True, numbers_as_text: bool = False
) -> tuple[bytes, dict[str, Any]]:
    """
    Return the raw body and its JSON object; an empty body is an empty object unless `required`.

    With `numbers_as_text`, numbers come as NumberText.

    Raises PayloadTooLarge, UnsupportedMediaType, InvalidJson, in this order (docs/contract.md 1).
    """
    body = read_body(request)
    if not body and not required:
        return body, {}
    if media_type(request) != JSON_MEDIA_TYPE:
        raise UnsupportedMediaType
    return body, parse_object(body, numbers_as_text=numbers_as_text)


@dataclasses.dataclass(frozen=True, slots=True)
class BodySize:
    """The most bytes of a body that may be larger than MAX_BODY_BYTES, and the message of PayloadTooLarge."""

    most: int
    too_large: str


def read_large_json(request: HttpRequest, size: BodySize) -> tuple[bytes, dict[str, Any]]:
    """Return the raw body and its JSON object, numbers as NumberText. Raises what `read_json` does."""
    body = read_bytes(request, most=size.most, too_large=size.too_large)
    if media_type(request) != JSON_MEDIA_TYPE:
        raise UnsupportedMediaType
    return body, parse_object(body, numbers_as_text=True)


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the header's value, or None. Raises ValidationFailed."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and (not 0 < len(key) <= MAX_IDEMPOTENCY_KEY or not _PRINTABLE.issuperset(key)):
        message = f"must be 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters."
        raise invalid("Idempotency-Key", "invalid", message)
    return key
