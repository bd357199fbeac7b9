"""From records of other services' exports to the rows of an import (docs/contract.md 5.80)."""

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

OWN = ("createdAt", "sourceId", "spam")  # names of a row, besides those of values
TRUE = frozenset({"true", "yes", "1", "spam"})
WITH_OFFSET = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)", re.ASCII | re.IGNORECASE)
WITHOUT_OFFSET = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
GMT = re.compile(r" GMT([+-])(\d{1,2})$", re.ASCII)
# The `'` that our CSV has before what a spreadsheet would run, and the characters that spreadsheets skip before it.
_SKIPPED = " \u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff\u00ad\"'\u2018-\u201f"
MARK = re.compile(f"(?:\\A|(?<=[;\t|\r\n]))'(?=[{_SKIPPED}]*[=+\\-@\uff1d\uff0b\uff0d\uff20\u2212\t\r\n])")
MORE = "_more"  # a column of our CSV: JSON of the names that have none


@cache
def presets() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("presets.json").read_text())
    return found


@dataclass(frozen=True)
class Columns:
    """How the columns of a file become rows: a preset, and what somebody chose besides; a name of "" drops a column."""

    preset: Mapping[str, Any] = field(default_factory=dict)
    chosen: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[str, ...] = ()
    zone: dt.tzinfo = dt.timezone.utc

    def has_time(self, record: Mapping[str, Any]) -> bool:
        """Return whether a column of the record is its time."""
        return self._column(record, "createdAt") is not None

    def row(self, record: Mapping[str, Any]) -> dict[str, Any] | str:
        """Return the row of a record, or what is wrong with its time."""
        columns = {own: self._column(record, own) for own in OWN}
        given = record.get(columns["createdAt"] or "", "")
        created_at = self._time("" if given is None else str(given).strip())
        if created_at is None:
            return f"createdAt: {given!r} is no time. Say its format with --date-format, such as %d.%m.%Y %H:%M."
        values = self._values(record, {column for column in columns.values() if column})
        row: dict[str, Any] = {"createdAt": created_at, "data": values}
        source_id, spam = record.get(columns["sourceId"] or ""), record.get(columns["spam"] or "")
        if source_id not in (None, ""):
            row["sourceId"] = str(source_id)
        if spam is not None:
            row["spam"] = str(spam).strip().casefold() in TRUE
        return row

    def _column(self, record: Mapping[str, Any], own: str) -> str | None:
        named = [column for column, name in self.chosen.items() if name == own]
        known = self.preset.get(own, ()) if self.preset else (own,)
        return next((column for column in (*named, *known) if column in record), None)

    def _values(self, record: Mapping[str, Any], used: set[str]) -> dict[str, Any]:
        inner = record.get(self.preset.get("values", ""))
        values = inner if isinstance(inner, Mapping) else {name: record[name] for name in record if name not in used}
        if self.preset.get("hasMarks") and values is not inner:
            values = _unmarked(values)
        known = {**dict.fromkeys(self.preset.get("dropped", ()), ""), **self.preset.get("renamed", {})}
        found: dict[str, Any] = {}
        for column, value in values.items():
            name = self.chosen.get(column, known.get(column, column))
            if name and value not in ("", None) and (name == column or name not in found):
                found[name] = _without_files(value)
        return found

    def _time(self, text: str) -> str | None:
        if WITH_OFFSET.fullmatch(text):
            return text.replace(" ", "T", 1)
        text = GMT.sub(lambda match: f" {match[1]}{int(match[2]):02}00", text).removesuffix(" UTC")
        for form in (*self.formats, *self.preset.get("formats", ()), *WITHOUT_OFFSET):
            with suppress(ValueError, re.error):  # the second for `%d %d`
                moment = dt.datetime.strptime(text, form)
                return (moment if moment.tzinfo else moment.replace(tzinfo=self.zone)).isoformat()
        return None


def _without_files(value: Any) -> Any:
    """Return a value in which each file, an object with a `url`, is the address that it has there."""
    if isinstance(value, list):
        return [_without_files(one) for one in value]
    return value["url"] if isinstance(value, Mapping) and isinstance(value.get("url"), str) else value


def zone_named(name: str) -> dt.tzinfo:
    """Return a zone of the IANA database. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError(f"{name!r} is no time zone, such as Europe/Berlin.") from None


def batches(records: Iterator[dict[str, Any]], most: int, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yield records in lists of at most `most`, with about `size` characters."""
    batch: list[dict[str, Any]] = []
    waiting = 0
    for record in records:
        batch.append(record)
        waiting += sum(len(str(value)) for value in record.values())
        if len(batch) == most or waiting >= size:
            yield batch
            batch, waiting = [], 0
    if batch:
        yield batch


def _unmarked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of our CSV as they were stored: columns by their names, formulas without their marks."""
    found = {name.removeprefix("data."): _bare(value) for name, value in values.items() if name != MORE}
    with suppress(ValueError, TypeError):
        more = json.loads(_bare(values.get(MORE) or "{}"))
        found |= more if isinstance(more, dict) else {}
    return found


def _bare(value: Any) -> Any:
    return MARK.sub("", value) if isinstance(value, str) else value
