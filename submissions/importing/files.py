"""
Records of a file of CSV, JSON or NDJSON, read in constant memory.

A file is read through once before its first row is imported, so that a broken one changes nothing.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext

from config.api.errors import InvalidJson
from config.api.parsing import NumberText, parse_object
from config.base.text import clean_text

MAX_RECORD = 2 * 1024 * 1024  # characters
MAX_COLUMNS = 5_000
ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")  # as exports have them; the last one takes any bytes
SEPARATORS = ",;\t|"
PART = 64 * 1024  # characters
FORMATS = ("csv", "json", "ndjson")
_NEXT = re.compile(r"[^, \t\r\n]")  # the start of the next object, or the end of the list
_PLACES = json.JSONDecoder(parse_int=str, parse_float=str)  # of objects only, so no number is too long


class Unreadable(ValueError):
    """The file cannot be read. The message says where, for people."""


def read_records(path: Path, chosen: str = "") -> Iterator[dict[str, Any]]:
    """
    Yield the records of a file, numbers of JSON as NumberText.

    Its format is `chosen`, or that of its name. Raises Unreadable.
    """
    found = chosen or path.suffix.removeprefix(".").lower().replace("jsonl", "ndjson")
    if found not in FORMATS:
        raise Unreadable(gettext("Name the format: csv, json or ndjson."))
    read = {"csv": _csv, "json": _json, "ndjson": _ndjson}[found]
    try:
        with path.open(encoding=_encoding_of(path), newline="") as file:
            yield from read(file)
    except UnicodeDecodeError:  # UTF-16 that is broken behind its first bytes
        raise Unreadable(gettext("The file is no text.")) from None


def count_records(path: Path, chosen: str = "") -> int:
    """Read a file through and return how many records it has. Raises Unreadable."""
    return sum(1 for _ in read_records(path, chosen))


def _encoding_of(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    for encoding in ENCODINGS:
        try:
            with path.open(encoding=encoding, newline="") as file:
                while file.read(PART):
                    pass
        except UnicodeDecodeError:
            continue
        return encoding
    raise Unreadable(gettext("The file is no text."))


def _csv(file: IO[str]) -> Iterator[dict[str, Any]]:
    separator = max(SEPARATORS, key=file.readline(MAX_RECORD).count)
    file.seek(0)
    csv.field_size_limit(MAX_RECORD)
    lines = csv.reader(_lines(file), delimiter=separator, strict=True)
    header, began = None, 1
    try:
        for cells in lines:
            if header is None:
                header = _header(cells)
            elif any(cells):
                yield _record(header, cells, began)
            began = lines.line_num + 1
    except csv.Error as error:
        reason = gettext("a quotation mark is opened and not closed, or is inside a cell")
        is_quote = "end of data" in str(error) or "larger than" in str(error) or "expected after" in str(error)
        raise Unreadable(f"{_line(began)}: {reason if is_quote else error}") from None
    if header is None:
        raise Unreadable(gettext("The file is empty."))


def _lines(file: IO[str]) -> Iterator[str]:
    while line := file.readline(MAX_RECORD):
        if len(line) == MAX_RECORD:
            raise Unreadable(gettext("A line has more than %(most)s characters.") % {"most": f"{MAX_RECORD:,}"})
        yield line.replace("\0", "")


def _header(cells: list[str]) -> list[str]:
    names = [name.strip() for name in cells]
    if len(names) > MAX_COLUMNS:
        raise Unreadable(gettext("The file has more than %(most)s columns.") % {"most": f"{MAX_COLUMNS:,}"})
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice:
        raise Unreadable(gettext("Two columns have the same name: %(name)s") % {"name": twice[:100]})
    return names


def _record(header: list[str], cells: list[str], line: int) -> dict[str, Any]:
    if len(cells) > len(header) and any(cells[len(header) :]):
        raise Unreadable(gettext("line %(line)s: it has more cells than the first line") % {"line": line})
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _ndjson(file: IO[str]) -> Iterator[dict[str, Any]]:
    number = 0
    while line := file.readline(MAX_RECORD):
        number += 1
        if line.strip():
            yield _object(line, _line, number)


def _json(file: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list that a file is, or of the first list of objects in the object that it is."""
    text, number = file.read(PART).lstrip("\ufeff \t\r\n"), 0
    if not text.startswith("["):
        start = next((at for at, sign in enumerate(text) if sign == "[" and text[at + 1 :].lstrip()[:1] == "{"), -1)
        if start < 0:
            raise Unreadable(gettext("The file has no list of objects."))
        text = text[start:]
    at = 1
    while True:
        found = _NEXT.search(text, at)
        at = found.start() if found else len(text)
        if text.startswith("]", at):
            return
        number += 1
        try:
            _, end = _PLACES.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            text, at = text[at:], 0
            more = file.read(max(PART, len(text)))
            if not more or len(text) > MAX_RECORD:
                raise Unreadable(f"{_nth(number)}: {gettext('this is no JSON, or does not end')}") from None
            text, number = text + more, number - 1
            continue
        yield _object(text[at:end], _nth, number)
        at = end


def _line(number: int) -> str:
    return gettext("line %(line)s") % {"line": number}


def _nth(number: int) -> str:
    return gettext("object %(number)s") % {"number": number}


def _object(text: str, place: Callable[[int], str], number: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = _cleaned(parse_object(text.encode("utf-8", "surrogatepass"), numbers_as_text=True))
    except (InvalidJson, UnicodeEncodeError) as error:
        raise Unreadable(f"{place(number)}: {error}") from None
    return found


def _cleaned(value: Any) -> Any:
    """Return a value whose names and texts can be stored, and shown: escapes in JSON can say what no encoding can."""
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_cleaned(member) for member in value]
    return clean_text(value) if isinstance(value, str) and not isinstance(value, NumberText) else value
