"""The limits of a File field as the builder enters them: ticked kinds of files and other types, a number, MiB."""

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy, pgettext_lazy

from forms_app.field_definitions import DEFAULT_FILE_BYTES, DEFAULT_FILES, MAX_FILE_BYTES, MAX_FILES
from forms_app.file_fields.entries import InvalidEntry, entry_of
from keys.plans import MIB

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# By its name in the page: what a user calls it, and its entries of `accept`.
PRESETS: Mapping[str, tuple["StrOrPromise", tuple[str, ...]]] = {
    "images": (pgettext_lazy("a kind of files", "Images"), ("image/*",)),
    "pdf": ("PDF", ("application/pdf",)),
    "documents": (pgettext_lazy("a kind of files", "Documents"), (".doc", ".docx", ".odt", ".rtf", ".txt")),
    "spreadsheets": (pgettext_lazy("a kind of files", "Spreadsheets"), (".xls", ".xlsx", ".ods", ".csv")),
    "audio": (pgettext_lazy("a kind of files", "Audio"), ("audio/*",)),
    "video": (pgettext_lazy("a kind of files", "Video"), ("video/*",)),
}
CHOICES = [(name, label) for name, (label, _) in PRESETS.items()]
_BETWEEN = re.compile(r"[\s,;]+")
# The names of the inputs for members of the definition.
INPUTS = {"accept": "other_types", "maxFiles": "max_files", "maxBytes": "max_size"}
MESSAGES: Mapping[str, "StrOrPromise"] = {
    "maxFiles": gettext_lazy("Enter a number of files from 1 to 10."),
    "maxBytes": gettext_lazy("Enter a size of more than 0 and at most 25 MiB."),
}


def values_of(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the inputs for a saved field."""
    accept = field.get("accept", [])
    ticked = [name for name, (_, entries) in PRESETS.items() if set(entries) <= set(accept)]
    covered = {entry for name in ticked for entry in PRESETS[name][1]}
    return {
        "accept": ticked,
        "other_types": ", ".join(entry for entry in accept if entry not in covered),
        "max_files": str(field.get("maxFiles", DEFAULT_FILES)),
        "max_size": f"{field.get('maxBytes', DEFAULT_FILE_BYTES) / MIB:.10g}",
    }


def definition_of(accept: Sequence[str], other_types: str, max_files: str, max_size: str) -> dict[str, Any]:
    """Return the members of the definition. Texts that are no numbers stay texts, which the API refuses."""
    entries = [entry for name in PRESETS if name in accept for entry in PRESETS[name][1]]
    entries += [entry for entry in _BETWEEN.split(other_types) if entry]
    found: dict[str, Any] = {"accept": entries} if entries else {}
    if max_files.strip():
        found["maxFiles"] = _number(max_files, 1)
    if max_size.strip():
        found["maxBytes"] = _number(max_size, MIB)
    return found


def drawable(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return members that can be drawn while a user types: those that the API would refuse are replaced."""
    files, size = definition.get("maxFiles"), definition.get("maxBytes")
    return {
        "accept": _entries(definition.get("accept", [])),
        "maxFiles": files if isinstance(files, int) and 0 < files <= MAX_FILES else DEFAULT_FILES,
        "maxBytes": size if isinstance(size, int) and 0 < size <= MAX_FILE_BYTES else DEFAULT_FILE_BYTES,
    }


def _entries(texts: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        with contextlib.suppress(InvalidEntry):
            found.append(entry_of(text))
    return found


def _number(text: str, unit: int) -> int | str:
    try:
        number = float(text.strip().replace(",", ".")) * unit
    except ValueError:
        return text
    is_whole = unit > 1 or number.is_integer()
    return round(number) if math.isfinite(number) and is_whole else text
