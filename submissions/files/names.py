"""Names of uploaded files: any text of a stranger -> a name that every system can store, show and unpack."""

import itertools
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

MAX_CHARACTERS = 200
MAX_BYTES = 240  # in UTF-8: file systems of Linux take 255, and a number in brackets may follow
MAX_EXTENSION = 20  # characters, with its dot; what follows the last dot of a sentence is no extension
NOTHING_LEFT = "file"
_READ = 4 * MAX_CHARACTERS  # characters that are kept for normalization, whose cost is not linear
_RESERVED = str.maketrans(dict.fromkeys('<>:"|?*/\\', "_"))  # by Windows, in names of files
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})  # Unicode categories: right-to-left marks are Cf
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"]
)  # a file of such a name, with any extension, is a device of Windows
_UNQUOTED = frozenset("!#$&+-.^_`|~")  # attr-char of RFC 8187 besides letters and digits


def clean_file_name(raw: str, *, nameless: str = NOTHING_LEFT) -> str:
    """
    Return the last component of a path as a safe name: NFC, at most 200 characters, its extension kept.

    `nameless`: the name where nothing is left of it.

    Without control, format and bidirectional characters, which disguise names; without dots and blanks at its ends;
    reserved characters and names of Windows are replaced. A clean name stays as it is.
    """
    last = raw.replace("\\", "/").rstrip("/").rpartition("/")[2]
    visible = _trimmed("".join(map(_visible, last)))
    name = unicodedata.normalize("NFC", _shortened(visible, _READ)).translate(_RESERVED)
    name = _trimmed(name)
    return _cut(_without_device(name)) or nameless


def extension_of(name: str) -> str:
    """Return the extension of a clean name in lower case, with its dot; empty if there is none."""
    stem, dot, extension = name.rpartition(".")
    is_one = stem and dot and extension and len(extension) < MAX_EXTENSION and " " not in extension
    return f".{extension.lower()}" if is_one else ""


def content_disposition(name: str) -> str:
    """
    Return the header that makes a browser save a response under this name (RFC 6266, RFC 8187).

    Django's `content_disposition_header` gives either form of the name; clients that do not read `filename*` need both.
    """
    name = clean_file_name(name)
    decomposed = unicodedata.normalize("NFKD", name)
    plain = "".join(one for one in decomposed if not unicodedata.combining(one))
    fallback = clean_file_name("".join(one if one.isascii() and one != "%" else "_" for one in plain))
    header = f'attachment; filename="{fallback}"'
    safe = "".join(_UNQUOTED)
    return header if fallback == name else f"{header}; filename*=UTF-8''{quote(name, safe=safe)}"


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names, repetitions numbered: `a.pdf`, `a (2).pdf`. Upper and lower case are the same name."""
    taken: set[str] = set()
    next_number: dict[str, int] = {}
    found = []
    for name in names:
        unique = name
        if _folded(name) in taken:
            extension = name[len(name) - len(extension_of(name)) :]
            stem = name.removesuffix(extension)
            for number in itertools.count(next_number.get(_folded(name), 2)):
                unique = f"{stem} ({number}){extension}"
                if _folded(unique) not in taken:
                    next_number[_folded(name)] = number + 1
                    break
        taken.add(_folded(unique))
        found.append(unique)
    return found


def _folded(name: str) -> str:
    """Return what two names have in common that are one file on Windows or macOS."""
    return unicodedata.normalize("NFC", name.casefold())


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in _INVISIBLE else character


def _trimmed(name: str) -> str:
    """Return a name without dots and blanks at its ends; many blanks in the middle push an extension out of sight."""
    return " ".join(name.split()).strip(". ")


def _without_device(name: str) -> str:
    stem = name.partition(".")[0].rstrip(" ")
    return f"_{name}" if stem.lower() in _DEVICES else name


def _shortened(name: str, size: int) -> str:
    """Return at most `size` characters of a name, and its end if that may be an extension."""
    if len(name) <= size:
        return name
    extension = extension_of(name[-MAX_EXTENSION - 1 :])
    kept = name[len(name) - len(extension) :]
    return name[: size - len(kept)] + kept


def _cut(name: str) -> str:
    extension = name[len(name) - len(extension_of(name)) :]
    stem = name.removesuffix(extension)[: MAX_CHARACTERS - len(extension)]
    room = MAX_BYTES - len(extension.encode())
    stem = stem.encode()[:room].decode(errors="ignore").rstrip(". ")
    return stem + extension
