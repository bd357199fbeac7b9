"""
The entries of a File field's `accept`, the attributes of its input, and its limits in words (docs/contract.md 4.11).

An entry is a media type (`application/pdf`, `image/*`) or an extension (`.pdf`), in lower case.
"""

import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext

from forms_app.field_definitions import DEFAULT_FILE_BYTES, DEFAULT_FILES
from forms_app.field_kinds import kind_of
from forms_app.file_fields.refused import REFUSED
from keys.plans import KIB, show_bytes

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_ACCEPT = 30  # entries of one field
MAX_ENTRY = 100  # characters
# Also the pattern in the schema. The first part is a type of RFC 6838, whose second may be `*`. The other is an
# extension, without the `.tar` of `.tar.gz`: only the last one of a name counts.
ENTRY = (
    r"^([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*|\*)"
    r"|\.?[A-Za-z0-9][A-Za-z0-9_+-]*)$"
)
_ENTRY = re.compile(ENTRY)
EXAMPLES = {"image/*": ".jpg", "audio/*": ".mp3", "video/*": ".mp4", "text/*": ".txt"}


class InvalidEntry(ValueError):
    """An entry that cannot be accepted. `code`: of the error; the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def entry_of(text: str) -> str:
    """Return an entry of `accept` as it is stored: lower case, an extension with its dot. Raises InvalidEntry."""
    if len(text) > MAX_ENTRY or not _ENTRY.fullmatch(text):
        message = gettext(
            '"%(entry)s" is not a type of file. Write an extension such as .pdf, or a media type such as '
            "application/pdf or image/*."
        )
        raise InvalidEntry("invalid_file_type", message % {"entry": text[:MAX_ENTRY]})
    entry = text.lower()
    if "/" not in entry:
        entry = f".{entry.removeprefix('.')}"
    if entry in REFUSED:
        message = gettext("Files of the type %(entry)s are always refused, because they can run code. Leave it out.")
        raise InvalidEntry("file_type_not_allowed", message % {"entry": entry})
    return entry


def has_files(fields: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the fields takes files, so that its page must send multipart."""
    return any(kind_of(field["type"]).takes_files for field in fields)


def accept_attribute(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute `accept` of a field's input; nothing for a field that takes every type, or no files."""
    accept = ",".join(field.get("accept", []))
    return {"accept": accept} if accept else {}


def takes_several(field: Mapping[str, Any]) -> bool:
    """Return whether a field takes several files, so that its input needs `multiple`."""
    return int(field.get("maxFiles", DEFAULT_FILES)) > 1


def example_file(field: Mapping[str, Any]) -> str:
    for entry in field.get("accept", []):
        extension = entry if entry.startswith(".") else EXAMPLES.get(entry) or mimetypes.guess_extension(entry)
        if extension:
            return f"example{extension}"
    return "example.pdf"


# Names that are no upper-case extension. Several entries of one name are one kind for people.
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
NAMES: Mapping[str, "StrOrPromise"] = {
    "image/*": gettext_lazy("images"),
    "audio/*": gettext_lazy("audio"),
    "video/*": gettext_lazy("video"),
    "text/*": gettext_lazy("text"),
    **{f"image/{name}": name.upper() for name in ("jpeg", "png", "gif", "webp", "heic", "avif", "tiff", "bmp")},
    "image/jpg": "JPEG",
    ".jpg": "JPEG",
    ".tif": "TIFF",
    "application/pdf": "PDF",
    "application/zip": "ZIP",
    "application/rtf": "RTF",
    "application/json": "JSON",
    "text/plain": "TXT",
    "text/csv": "CSV",
    "application/msword": "DOC",
    "application/vnd.ms-excel": "XLS",
    "application/vnd.ms-powerpoint": "PPT",
    f"{_OFFICE}.wordprocessingml.document": "DOCX",
    f"{_OFFICE}.spreadsheetml.sheet": "XLSX",
    f"{_OFFICE}.presentationml.presentation": "PPTX",
    f"{_OPEN}.text": "ODT",
    f"{_OPEN}.spreadsheet": "ODS",
    f"{_OPEN}.presentation": "ODP",
    "audio/mpeg": "MP3",
    "audio/wav": "WAV",
    "video/mp4": "MP4",
    "video/quicktime": "MOV",
    "video/webm": "WEBM",
}


def limits_for_people(field: Mapping[str, Any]) -> str:
    """Return the types, number and size of a field's files in the current language: "PDF, at most 10 MiB"."""
    count, size = field.get("maxFiles", DEFAULT_FILES), _size(field.get("maxBytes", DEFAULT_FILE_BYTES))
    types = types_for_people(field.get("accept", []))
    values = {"types": capfirst(types), "count": count, "size": size}
    if not types:
        return (
            gettext("One file of at most %(size)s")
            if count == 1
            else ngettext("At most %(count)s file, %(size)s each", "At most %(count)s files, %(size)s each", count)
        ) % values
    if count == 1:
        return gettext("%(types)s, at most %(size)s") % values
    several = ngettext(
        "%(types)s, at most %(count)s file, %(size)s each",
        "%(types)s, at most %(count)s files, %(size)s each",
        count,
    )
    return several % values


def types_for_people(accept: Sequence[str]) -> str:
    """Return entries as a list in the current language: "PDF, DOC or images"; "" for none."""
    names = list(dict.fromkeys(str(NAMES.get(entry) or _name_of(entry)) for entry in accept))
    if len(names) < 2:  # two are joined by a word
        return "".join(names)
    return gettext("%(first)s or %(last)s") % {"first": ", ".join(names[:-1]), "last": names[-1]}


def _name_of(entry: str) -> str:
    return entry[1:].upper() if entry.startswith(".") else entry


def _size(count: int) -> str:
    if count < KIB:
        return ngettext("%(count)s byte", "%(count)s bytes", count) % {"count": count}
    return show_bytes(count)
