"""Records of a file of CSV, JSON or NDJSON, one after the other."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fieldpost.cli.output import CommandError

MAX_RECORD = 2 * 1024 * 1024  # characters
PART = 65_536
SEPARATORS = ",;\t|"
DECODER = json.JSONDecoder(parse_float=str)  # 1.50 stays so
ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")  # as exports have them; the last one takes any bytes


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, whose name says its format. Raises CommandError `invalid_file` with the place."""
    readers = {".csv": _csv, ".json": _json, ".ndjson": _ndjson, ".jsonl": _ndjson}
    read = readers.get(path.suffix.lower())
    if read is None:
        raise _unreadable(path, "its name must end with .csv, .json, .ndjson or .jsonl")
    with path.open(encoding=_encoding_of(path), newline="") as file:
        yield from read(path, file)


def _encoding_of(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    for encoding in ENCODINGS:
        try:
            with path.open(encoding=encoding, newline="") as text:
                while text.read(PART):
                    pass
        except UnicodeDecodeError:
            continue
        return encoding
    raise AssertionError("the last encoding takes any bytes")


def _csv(path: Path, file: IO[str]) -> Iterator[dict[str, Any]]:
    separator = max(SEPARATORS, key=file.readline(MAX_RECORD).count)
    file.seek(0)
    csv.field_size_limit(MAX_RECORD)
    lines, began = csv.reader(file, delimiter=separator, strict=True), 1
    try:
        header = [name.strip() for name in next(lines, [])]
        if not any(header) or len({*header}) < len(header):
            raise _unreadable(path, "its first line has no names of columns, or one of them twice")
        began = lines.line_num + 1
        for cells in lines:
            if any(cells[len(header) :]):
                raise _unreadable(path, f"line {began} has more cells than the first line")
            if any(cells):
                yield {name: cell for name, cell in zip(header, cells, strict=False) if name}
            began = lines.line_num + 1
    except csv.Error as error:
        reason = "a quotation mark is not closed, or is within a cell"
        raise _unreadable(path, f"line {began}: {error if 'NUL' in str(error) else reason}") from None
    except UnicodeError as error:
        raise _unreadable(path, f"after line {began}: {error}") from None


def _ndjson(path: Path, file: IO[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                record = DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                raise _unreadable(path, f"line {number}: {error}") from None
            yield _object(path, f"line {number}", record)


def _json(path: Path, file: IO[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list that the file is, or of the first list of objects in the object that it is."""
    text, number = file.read(PART).lstrip(), 1
    start = text.find("[") if text.startswith("[") else _list_of_objects(text)
    if start < 0:
        raise _unreadable(path, "it has no list of objects")
    text = text[start + 1 :]
    while not (text := text.lstrip(", \t\r\n")).startswith("]"):
        found = _first_value(text)
        if found:
            yield _object(path, f"object {number}", found[0])
            text, number = text[found[1] :], number + 1
            continue
        more = file.read(max(PART, len(text)))  # each part as long as what waits: a long record is read quickly
        if not more or len(text) > MAX_RECORD:
            raise _unreadable(path, f"object {number} is no JSON, or does not end")
        text += more


def _list_of_objects(text: str) -> int:
    """Return where the first list of objects begins, else the first list, or -1."""
    starts = (at for at, sign in enumerate(text) if sign == "[")
    return next((at for at in starts if text[at + 1 : at + 100].lstrip()[:1] == "{"), text.find("["))


def _first_value(text: str) -> tuple[Any, int] | None:
    """Return the JSON at the start of a text and where it ends, or None where it is not whole."""
    try:
        return DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None


def _object(path: Path, place: str, record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise _unreadable(path, f"{place} is no object")
    return record


def _unreadable(path: Path, reason: str) -> CommandError:
    return CommandError("invalid_file", f"{path}: {reason}.")
