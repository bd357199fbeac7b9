"""The limits of a File field as a sentence for visitors, in the current language: "PDF, at most 10 MiB"."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext

from forms_app.field_definitions import DEFAULT_FILE_BYTES, DEFAULT_FILES
from keys.plans import show_bytes

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

KIB = 1024
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
