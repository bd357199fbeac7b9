"""
The type of an uploaded file, decided by its content. The name may narrow it down, and must not contradict it.

HTML, SVG, scripts and programs are refused, whatever the name: docs/adr/0091 has the reasons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from forms_app.file_fields.refused import HTML_NAMES, PROGRAM_NAMES, SCRIPT_NAMES
from submissions.files.containers import ends_with_zip, ole_type, zip_type
from submissions.files.file_types import (
    ALIASES,
    BRANDS,
    CLAIMED,
    EXTENSIONS,
    FLASH,
    PDF,
    PROGRAMS,
    RIFF,
    SAME_EXTENSIONS,
    SIGNATURES,
    TEXT,
    TEXT_NAMES,
    TEXT_TYPES,
    UNKNOWN,
    Reason,
    RefusedContent,
)
from submissions.files.names import clean_file_name, extension_of
from submissions.files.text_content import SNIFFED, decoded, refuse_markers, text_type

HEAD = 64 * 1024  # bytes that are read: the text before the first element of an XML file may be long
_REFUSED_NAMES: dict[Reason, frozenset[str]] = {
    "html": HTML_NAMES,
    "script": SCRIPT_NAMES,
    "program": PROGRAM_NAMES,
}
_SINGLE = ("image/", "audio/", "video/", "font/", "text/", "application/xml", PDF, "application/rtf")
_TEXTUAL = ("application/rtf", "application/postscript")
_PRINTABLE = frozenset(range(32, 127))
_BITMAP_HEADS = {bytes([size, 0, 0, 0]) for size in (12, 16, 40, 52, 56, 64, 108, 124)}
_AFTER_SIGNATURE = {"image/gif": 6, "image/jpeg": 4, "image/bmp": 2}  # place of the first free bytes
_OLE_HEAD = bytes.fromhex("d0cf11e0a1b11ae1")


@dataclass(frozen=True, slots=True)
class Content:
    """
    A type. `extensions`: those that fit, in lower case with their dots.

    Empty: all that no other type claims.
    """

    media_type: str
    extensions: frozenset[str]


def detect(file: IO[bytes], name: str) -> Content:
    """
    Return the type of a seekable file; it is left at its beginning.

    Reads 64 KiB at each end, and up to 8 MiB of the directory of a ZIP; nothing is unpacked. Raises RefusedContent.
    """
    try:
        return _detected(file, extension_of(clean_file_name(name)))
    finally:
        file.seek(0)


def fits(content: Content, name: str, accept: Sequence[str]) -> bool:
    """
    Return whether a file is of one of the accepted types (`image/png`, `image/*`, `.pdf`, `pdf`); no types: any.

    A name that promises another type than the content fits nothing; a name without an extension promises nothing.
    """
    extension = extension_of(clean_file_name(name))
    if _contradicts(content, extension):
        return False
    return not accept or any(_matches(content.media_type, extension, one.strip().lower()) for one in accept)


def _matches(media_type: str, extension: str, accepted: str) -> bool:
    if "/" not in accepted:
        wanted = "." + accepted.removeprefix("*").removeprefix(".")
        return bool(extension) and SAME_EXTENSIONS.get(extension, extension) == SAME_EXTENSIONS.get(wanted, wanted)
    wanted = accepted.partition(";")[0].strip()
    if wanted == "*/*":
        return True
    if wanted.endswith("/*"):
        return media_type.startswith(wanted[:-1])
    return media_type.lower() == ALIASES.get(wanted, wanted)


def _contradicts(content: Content, extension: str) -> bool:
    if not extension:
        return False
    if content.extensions:
        return extension not in content.extensions
    is_text = content.media_type == "application/xml" or content.media_type.startswith("text/")
    return extension in CLAIMED or (extension in TEXT_NAMES and not is_text)


def _detected(file: IO[bytes], extension: str) -> Content:
    for reason, names in _REFUSED_NAMES.items():
        if extension in names:
            raise RefusedContent(reason)
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(HEAD)
    text = decoded(head)
    _refuse_programs(head, is_binary=text is None)
    refuse_markers(head[: 4 * SNIFFED].decode("latin-1") if text is None else text)
    media_type = _container_type(file, head, size) or _signed_type(head, is_binary=text is None)
    media_type = _checked_pdf(head, media_type)
    if media_type is None:
        media_type = UNKNOWN if text is None else text_type(text, is_whole=size <= HEAD)
    _refuse_zip_at_end(file, size, media_type)
    return _content(media_type, extension)


def _refuse_zip_at_end(file: IO[bytes], size: int, media_type: str) -> None:
    """Refuse a picture or a document that is also a ZIP, and a program with any bytes in front of it."""
    if media_type.startswith(_SINGLE) and ends_with_zip(file, size):
        raise RefusedContent("second_file")
    if media_type == UNKNOWN and ends_with_zip(file, size):
        zip_type(file, size)


def _content(media_type: str, extension: str) -> Content:
    extensions = frozenset(EXTENSIONS.get(media_type, ()))
    if "macroEnabled" in media_type and extension not in extensions:
        raise RefusedContent("macros")
    if media_type == TEXT and extension in TEXT_TYPES:
        return Content(TEXT_TYPES[extension], frozenset({extension}))
    return Content(media_type, extensions)


def _refuse_programs(head: bytes, *, is_binary: bool) -> None:
    if any(head.startswith(signature, offset) for offset, signature in PROGRAMS):
        raise RefusedContent("program")
    if is_binary and head.startswith((b"MZ", b"ZM", *FLASH)):  # as words, they begin a text
        raise RefusedContent("program")
    if head.startswith(b"#!") and not head.startswith(b"#!AMR"):  # a program may follow the script
        raise RefusedContent("script")


def _container_type(file: IO[bytes], head: bytes, size: int) -> str | None:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08", b"PK00PK\x03\x04")):
        return zip_type(file, size)
    return ole_type(file) if head.startswith(_OLE_HEAD) else None


def _signed_type(head: bytes, *, is_binary: bool) -> str | None:
    """Return the type of a signature at the beginning, or None. JavaScript there makes it a script."""
    found = _media_type_of(head)
    if found is None or not (is_binary or found in _TEXTUAL):  # a text may begin with the letters of a signature
        return None
    place = _AFTER_SIGNATURE.get(found)
    following = head[place : place + 4] if place else b""
    if following.startswith(b"/*") or (following.startswith(b"=") and not set(following) - _PRINTABLE):
        raise RefusedContent("script")  # sizes of this kind do not occur
    return found


def _media_type_of(head: bytes) -> str | None:
    if head[4:8] == b"ftyp":
        return _media_file_type(head)
    if head[4:8] in (b"moov", b"mdat", b"wide", b"pnot"):  # QuickTime before 2001
        return "video/quicktime"
    if head.startswith((b"RIFF", b"RIFX", b"RF64")):
        return RIFF.get(head[8:12])
    if head.startswith(b"BM") and head[6:10] == bytes(4) and head[14:18] in _BITMAP_HEADS:
        return "image/bmp"
    return next((media_type for offset, magic, media_type in SIGNATURES if head.startswith(magic, offset)), None)


def _media_file_type(head: bytes) -> str:
    length = int.from_bytes(head[:4])
    brands = {head[place : place + 4] for place in (8, *range(16, min(length, 256), 4))}
    if head[8:12] in (b"qt  ", b"M4A ", b"M4B "):
        brands = {head[8:12]}
    return next((media_type for known, media_type in BRANDS if brands & set(known)), "video/mp4")


def _checked_pdf(head: bytes, media_type: str | None) -> str | None:
    """Return PDF for its mark in the first 1,024 bytes, where readers look for it; refuse another type that has it."""
    place = head.find(b"%PDF-", 0, SNIFFED)
    if place < 0:
        return media_type
    if media_type is not None:
        raise RefusedContent("second_file")
    before = decoded(head[:place])
    if before:
        text_type(before, is_whole=True)  # refuses a script
    return PDF
