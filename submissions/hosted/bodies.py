"""
The bodies that pages post: urlencoded, multipart, JSON -> names and values, as `take_in` expects them, and files.

A name that occurs several times (checkboxes, a multiple select) becomes a list. Files are never in memory: multipart is
parsed as a stream, and each file is written to a temporary one.
"""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import IO, Any, Protocol, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.datastructures import MultiValueDict

from config.api.errors import BodyNotRead, PayloadTooLarge, UnsupportedMediaType, invalid
from config.api.parsing import (
    BODY_NOT_READ,
    JSON_MEDIA_TYPE,
    media_type,
    parse_object,
    read_body,
    refuse_compressed,
)
from config.text import clean_name
from config.web_server.body import most_in_file
from forms_app.field_definitions import MAX_FIELDS, MAX_FILE_BYTES
from submissions.files.arrived import Arrived
from submissions.files.names import clean_file_name
from submissions.files.storage import away_on_failure, temporary_file

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN_TEXT = "text/plain"
CHUNK_BYTES = 64 * 1024  # of a file, in one read
MAX_PART_HEAD = 2 * 1024  # bytes; the parser reads no longer heads of parts
MAX_EMPTY_INPUTS = 1_000  # more than a submission has fields
_EMPTY_FILES = re.compile(r'\bname="([^"\r\n]{0,1024})"; filename=""')  # the parser reads no longer names


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class FormBody:
    """Names and values of a body, and its files. `raw`: its bytes, or for a large one in a file their `sha256`."""

    fields: dict[str, Any]
    files: Sequence[Arrived] = ()
    raw: bytes = b""
    sha256: str = ""


def is_json(request: HttpRequest, body: bytes) -> bool:
    """Return whether a body is JSON by its media type, or is sent as text by a beacon (`navigator.sendBeacon`)."""
    kind = media_type(request)
    return kind == JSON_MEDIA_TYPE or (kind == PLAIN_TEXT and body.lstrip()[:1] in (b"{", b"["))


def read_form_body(request: HttpRequest, *, with_digest: bool) -> FormBody:
    """
    Read a body, up to 256 KiB in memory, or with files, from a file, and parse it. Close the files of the result.

    `with_digest`: hash a body that is in a file. Raises PayloadTooLarge, FilesAway, and what `parse_form_body` raises.
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    is_large = length.isdigit() and settings.MAX_BODY_BYTES < int(length[:20]) <= most_in_file()
    if not (is_large and media_type(request) == MULTIPART):
        body = read_body(request)
        return dataclasses.replace(parse_form_body(request, body), raw=body)
    if request.META.get(BODY_NOT_READ):
        raise BodyNotRead
    refuse_compressed(request)
    stream = Hashing(request, hashlib.sha256() if with_digest else None)
    found = _multipart_or_error(request, stream, int(length))
    return dataclasses.replace(found, sha256=stream.digest())


def body_as_read(request: HttpRequest) -> bytes:
    """Return a body that was read into memory, though it could not be parsed; b"" for another one."""
    return bytes(getattr(request, "_body", b""))  # where Django keeps it


def parse_form_body(request: HttpRequest, body: bytes) -> FormBody:
    """
    Return a body's names and values, and its files, which the caller closes.

    Raises UnsupportedMediaType, InvalidJson, FilesAway, and ValidationFailed for malformed bodies.
    """
    kind = media_type(request)
    if is_json(request, body):
        return FormBody(parse_object(body, numbers_as_text=True))
    if kind == MULTIPART:
        return _multipart_or_error(request, BytesIO(body), len(body))
    if kind == URLENCODED:
        try:
            return FormBody(_plain(QueryDict(body, encoding="utf-8")))
        except TooManyFieldsSent:
            raise _too_many_fields() from None
        except UnicodeDecodeError:
            raise _malformed() from None
    message = f"Send a form ({URLENCODED} or {MULTIPART}) or JSON ({JSON_MEDIA_TYPE})."
    raise UnsupportedMediaType(message)


def _too_many_fields() -> Exception:
    return invalid("", "too_many", f"A submission has at most {MAX_FIELDS} fields.")


def _malformed() -> Exception:
    return invalid("", "malformed", "The body is not a form as browsers send it. Check its encoding and boundary.")


def _multipart_or_error(request: HttpRequest, stream: Readable, length: int) -> FormBody:
    try:
        return _multipart(request, stream, length)
    except TooManyFieldsSent:
        raise _too_many_fields() from None
    except TooManyFilesSent:
        message = f"A submission has at most {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files."
        raise invalid("", "too_many", message) from None
    except RequestDataTooBig:  # its texts are
        raise PayloadTooLarge from None
    except (MultiPartParserError, UnicodeDecodeError):
        raise _malformed() from None


def _multipart(request: HttpRequest, stream: Readable, length: int) -> FormBody:
    handler, watched = ArrivingFiles(request), EmptyInputs(stream)
    # The length as read: a chunked body has no Content-Length, and the parser would take it for empty.
    meta = {**request.META, "CONTENT_LENGTH": length}
    try:
        values, _ = MultiPartParser(meta, cast(Any, watched), [handler], "utf-8").parse()
    except BaseException:
        handler.close()
        raise
    named = _plain(values)
    for name in watched.names:
        if named.get(name) == "":  # the parser takes a file input without a file for text
            del named[name]
    return FormBody(named, handler.files)


def _plain(values: "MultiValueDict[str, str]") -> dict[str, Any]:
    return {name: found[0] if len(found) == 1 else found for name, found in values.lists()}


class Hashing:
    """A request's body as a stream, which is hashed as it is read."""

    def __init__(self, stream: Readable, digest: "hashlib._Hash | None") -> None:
        self._stream, self._digest = stream, digest

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        part = self._stream.read(size)
        if self._digest:
            self._digest.update(part)
        return part

    def digest(self) -> str:
        """Return the SHA-256 of what has been read, in hexadecimal; "" if it was not asked for."""
        return self._digest.hexdigest() if self._digest else ""


class EmptyInputs:
    """A stream that notes the names of file inputs without a file, which a parser does not tell from texts."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._before = b""
        self._names: set[str] = set()

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        part = self._stream.read(size)
        if b'filename=""' in part or b'filename=""' in self._before + part[:16]:
            # A file may hold millions of such names: a body of 256 MiB took 1.7 GiB of memory.
            found = _EMPTY_FILES.finditer((self._before + part).decode("latin-1"))
            self._names.update(name[1] for name in itertools.islice(found, MAX_EMPTY_INPUTS - len(self._names)))
        self._before = (self._before + part)[-MAX_PART_HEAD:] if part else b""
        return part

    @property
    def names(self) -> Iterator[str]:
        """The names that were found, and perhaps some inside of files."""
        return (name.encode("latin-1").decode(errors="replace") for name in self._names)


class ArrivingFiles(FileUploadHandler):
    """
    Writes each file of a body to a temporary one, and hashes it. `files`: those that have arrived.

    Of a file that is too large for any field the rest is counted only.
    """

    chunk_size = CHUNK_BYTES

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.files: list[Arrived] = []
        self._open: list[IO[bytes]] = []

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        """Start a file."""
        super().new_file(field_name, file_name, *args, **kwargs)
        self._content, self._digest, self._size = temporary_file(), hashlib.sha256(), 0
        self._open.append(self._content)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:  # noqa: ARG002  # Django passes it
        """Write a part. Returning nothing keeps Django from giving it to others."""
        self._size += len(raw_data)
        if self._size <= MAX_FILE_BYTES:
            with away_on_failure("an arriving file cannot be written"):
                self._content.write(raw_data)
            self._digest.update(raw_data)

    def file_complete(self, file_size: int) -> None:  # noqa: ARG002  # Django passes it
        """Keep the file. Returning nothing keeps Django from closing it with the request."""
        with away_on_failure("an arriving file cannot be written"):
            self._content.seek(0)
        name = clean_file_name(self.file_name or "")
        self.files.append(
            Arrived(clean_name(self.field_name or ""), name, self._size, self._digest.hexdigest(), self._content)
        )

    def upload_interrupted(self) -> None:
        """Refuse a body that ends within a file: without this its texts would be stored, and the file dropped."""
        raise MultiPartParserError("the body has no end")

    def close(self) -> None:
        """Free all files of a body that is refused."""
        for content in self._open:
            content.close()
