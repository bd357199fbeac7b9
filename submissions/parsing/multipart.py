"""
multipart/form-data -> its parts, as a stream: texts as bytes in memory, files in temporary files.

A body that is not whole, and a part without the name of an input, are refused: the sender would be thanked for less.
"""

import binascii
import dataclasses
import hashlib
from typing import IO, TYPE_CHECKING, Protocol

from django.conf import settings
from python_multipart.decoders import QuotedPrintableDecoder
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from config.api.errors import PayloadTooLarge, invalid
from forms_app.field_definitions import MAX_FIELDS, MAX_FILE_BYTES
from submissions.files.storage import away_on_failure, temporary_file
from submissions.parsing.part_heads import BrokenHead, Head, read_head

if TYPE_CHECKING:
    from python_multipart.decoders import SupportsWrite

CHUNK_BYTES = 512 * 1024  # of a body, in one read; gunicorn receives 1 MiB, and copies the rest of it after each read
MOST_DELIMITERS = 10_000  # lines that begin with the boundary; more than the parts that a body may have


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""


class FileContent:
    """
    The content of a file, in a temporary one, and its SHA-256.

    Of a file that is too large for any field the rest is counted only.
    """

    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self.content: IO[bytes] = temporary_file()

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.size <= MAX_FILE_BYTES:
            with away_on_failure("an arriving file cannot be written"):
                self.content.write(data)
            self._digest.update(data)

    def rewind(self) -> None:
        with away_on_failure("an arriving file cannot be written"):
            self.content.seek(0)

    @property
    def sha256(self) -> str:
        """In hexadecimal."""
        return self._digest.hexdigest()


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A part: its bytes in `text`, or those of a file in `file`."""

    head: Head
    text: bytes = b""
    file: FileContent | None = None


def read_parts(stream: Readable, boundary: str) -> list[Part]:
    """
    Return the parts of a body, but for file inputs without a file. Close the files of the result.

    Raises PayloadTooLarge for too much text, FilesAway, and ValidationFailed for too many parts or a malformed body.
    """
    parts = _Parts()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": parts.begin,
                "on_header_field": parts.add_to_header,
                "on_header_value": parts.add_to_value,
                "on_header_end": parts.end_header,
                "on_headers_finished": parts.end_head,
                "on_part_data": parts.add_data,
                "on_part_end": parts.end,
                "on_end": parts.end_body,
            },
        )
        watch = _Delimiters(boundary)
        while chunk := stream.read(CHUNK_BYTES):
            watch.refuse_costly(chunk)
            parser.write(chunk)
        if not parts.is_whole:
            raise malformed()
    except (FormParserError, BrokenHead, binascii.Error):
        parts.close()
        raise malformed() from None
    except BaseException:
        parts.close()
        raise
    return parts.found


def malformed() -> Exception:
    """Return the error of a body that is no form."""
    return invalid("", "malformed", "The body is not a form as browsers send it. Check its encoding and boundary.")


def too_many_fields() -> Exception:
    """Return the error of too many texts."""
    return invalid("", "too_many", f"A submission has at most {MAX_FIELDS} fields.")


class _Delimiters:
    """Refuses bodies for which the parser goes from byte to byte: 256 MiB would take minutes."""

    def __init__(self, boundary: str) -> None:
        self._delimiter = f"\r\n--{boundary}".encode()
        self._end, self._lines = b"", 0

    def refuse_costly(self, chunk: bytes) -> None:
        """Raise ValidationFailed for blanks after a delimiter, which no browser sends, or too many like it in data."""
        seen = self._end + chunk
        if found := seen.count(self._delimiter):
            self._lines += found
            if self._lines > MOST_DELIMITERS or any(self._delimiter + blank in seen for blank in (b" ", b"\t")):
                raise malformed()
        self._end = seen[-len(self._delimiter) :]


class _Parts:
    """Takes the calls of the parser, in the order of the body."""

    def __init__(self) -> None:
        self.found: list[Part] = []
        self.is_whole = False
        self._file: FileContent | None = None
        self._texts = self._files = self._text_bytes = 0

    def begin(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._name = self._value = b""

    def add_to_header(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def end_header(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def end_head(self) -> None:
        self._head = read_head(self._headers)
        self._text, self._file = bytearray(), None
        if self._head.file_name is None:
            self._count_text(len(self._head.name) + 2)
            self._texts += 1
            if self._texts > settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:
                raise too_many_fields()
        else:
            self._files += 1
            if self._files > settings.DATA_UPLOAD_MAX_NUMBER_FILES:
                most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
                raise invalid("", "too_many", f"A submission has at most {most} files.")
            if self._head.file_name:
                self._file = FileContent()
        self._decoder = _decoder(self._head.encoding, self)

    def add_data(self, data: bytes, start: int, end: int) -> None:
        (self._decoder or self).write(data[start:end])

    def write(self, data: bytes) -> None:
        if self._head.file_name is None:
            self._count_text(len(data))
            self._text += data
        else:
            if self._file is None:  # it has no name, but content
                self._file = FileContent()
            self._file.write(data)

    def end(self) -> None:
        if self._decoder:
            self._decoder.finalize()
        if self._file:
            self._file.rewind()
        if self._file or self._head.file_name is None:
            self.found.append(Part(self._head, bytes(self._text), self._file))
        self._file = None

    def end_body(self) -> None:
        self.is_whole = True

    def close(self) -> None:
        for file in [*(part.file for part in self.found), self._file]:
            if file:
                file.content.close()

    def _count_text(self, size: int) -> None:
        self._text_bytes += size
        if self._text_bytes > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise PayloadTooLarge


class Base64Decoder:
    """Base64 as mails have it, in lines; python_multipart's takes no line breaks."""

    def __init__(self, sink: "SupportsWrite[bytes]") -> None:
        self._sink, self._rest = sink, b""

    def write(self, data: bytes) -> None:
        text = self._rest + data.translate(None, b"\r\n\t ")
        whole = len(text) // 4 * 4
        self._rest = text[whole:]
        self._sink.write(binascii.a2b_base64(text[:whole], strict_mode=True))

    def finalize(self) -> None:
        """Raise binascii.Error unless the text is whole."""
        if self._rest:
            raise binascii.Error


def _decoder(encoding: str, sink: "SupportsWrite[bytes]") -> Base64Decoder | QuotedPrintableDecoder | None:
    """Return the decoder of a Content-Transfer-Encoding; None for a part that is sent as it is."""
    if encoding == "base64":
        return Base64Decoder(sink)
    return QuotedPrintableDecoder(sink) if encoding == "quoted-printable" else None
