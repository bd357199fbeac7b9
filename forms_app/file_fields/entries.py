"""
The entries of a File field's `accept`, and the attributes of its input (docs/contract.md 4.11).

An entry is a media type (`application/pdf`, `image/*`) or an extension (`.pdf`), in lower case.
"""

import mimetypes
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext

from forms_app.field_definitions import DEFAULT_FILES
from forms_app.field_kinds import kind_of
from forms_app.file_fields.refused import REFUSED

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
