"""From a record of a file to a row of an import."""

import dataclasses
import datetime as dt
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext

from config.base.text import clean_text
from config.base.times import format_time
from submissions.exporting.csv_lines import MORE, safe_cell
from submissions.importing.presets import Preset

TRUE = frozenset({"true", "yes", "1", "spam"})
LONGEST_TIME = 64  # characters
IN_WORDS = ("%b %d, %Y %I:%M %p", "%b %d, %Y %H:%M:%S", "%d %b %Y %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z")
_MARK = re.compile(r"(?<=[;\t|\r\n])'")
_GMT = re.compile(r" GMT([+-])([0-9]{1,2})(:?[0-9]{2})?$", re.ASCII)
_EPOCH = re.compile(r"[0-9]{9,13}", re.ASCII)
# A day, its month and year in numbers: without a format it can be read in two ways.
_AMBIGUOUS = re.compile(r"[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{2,4}", re.ASCII)


class NoTime(ValueError):
    """The text is no time, or one that can be read in several ways. The message is for people."""


@dataclasses.dataclass(frozen=True, slots=True)
class Columns:
    """
    A preset with what somebody chose besides.

    `renamed`: names of values by column; "" leaves a column out. `zone`: of times without an offset.
    """

    preset: Preset
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    formats: tuple[str, ...] = ()
    zone: dt.tzinfo = dt.UTC

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a record, as the API takes it. Raises NoTime."""
        preset = self.preset
        own = (*preset.time, *preset.id, *preset.spam)
        row: dict[str, Any] = {"createdAt": self._time(_first(record, preset.time)), "data": self._values(record, own)}
        spam, source_id = _first(record, preset.spam), _first(record, preset.id)
        if spam is not None:
            row["spam"] = str(spam).strip().casefold() in TRUE
        if source_id is not None and str(source_id).strip():
            row["sourceId"] = clean_text(str(source_id)).strip()
        return row

    def _values(self, record: Mapping[str, Any], own: tuple[str, ...]) -> dict[str, Any]:
        inner = record.get(self.preset.values) if self.preset.values else None
        is_nested = isinstance(inner, Mapping)
        values = dict(inner) if isinstance(inner, Mapping) else {k: v for k, v in record.items() if k not in own}
        if self.preset.has_marks and not is_nested:
            values = _unmarked(values)
        known = {**dict.fromkeys(self.preset.dropped, ""), **self.preset.renamed}
        found: dict[str, Any] = {}
        for name, value in values.items():
            wanted = self.renamed.get(name, known.get(name, name))
            is_free = wanted == name or wanted not in found
            if wanted and is_free and value not in ("", None):  # an empty cell of a table is no value
                found[wanted] = _without_files(value)
        return found

    def _time(self, value: Any) -> str:
        if value is None or not str(value).strip():
            raise NoTime(gettext("There is no time."))
        moment = read_time(str(value).strip(), (*self.formats, *self.preset.formats), self.zone)
        return format_time(moment) or ""


def read_time(text: str, formats: tuple[str, ...], zone: dt.tzinfo) -> dt.datetime:
    """Return the time that a text says: in one of the formats, ISO 8601, RFC 2822 or Unix seconds. Raises NoTime."""
    if len(text) > LONGEST_TIME:
        raise NoTime(gettext("This is no time: %(text)s") % {"text": clean_text(text[:LONGEST_TIME])})
    text = _GMT.sub(lambda found: f" {found[1]}{int(found[2]):02}{(found[3] or '00')[-2:]}", text)
    for form in formats:
        with suppress(ValueError, OverflowError, re.error):  # the last for `%d %d`
            return _in_zone(dt.datetime.strptime(text, form), zone)
    if _AMBIGUOUS.match(text):
        message = gettext("Say in which format this time is, such as %%d.%%m.%%Y %%H:%%M: %(text)s")
        raise NoTime(message % {"text": clean_text(text)})
    with suppress(ValueError, OverflowError):
        return _in_zone(dt.datetime.fromisoformat(text.removesuffix(" UTC")), dt.UTC if text.endswith("UTC") else zone)
    with suppress(ValueError, OverflowError, OSError):
        if _EPOCH.fullmatch(text):
            return dt.datetime.fromtimestamp(int(text) / (1000 if len(text) > 11 else 1), dt.UTC)
    for form in IN_WORDS:
        with suppress(ValueError, OverflowError):
            return _in_zone(dt.datetime.strptime(text, form), zone)
    raise NoTime(gettext("This is no time: %(text)s") % {"text": clean_text(text)})


def zone_named(name: str) -> dt.tzinfo:
    """Return a zone of the IANA database. Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError(gettext("There is no time zone of this name.")) from None


def _in_zone(moment: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """Return the moment in UTC. Raises OverflowError: there it may lie before the year 1."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(dt.UTC)


def _without_files(value: Any) -> Any:
    """Return a value in which each file, an object with a `url`, is the address that it has there."""
    if isinstance(value, list):
        return [_without_files(one) for one in value]
    return value["url"] if isinstance(value, Mapping) and isinstance(value.get("url"), str) else value


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if name in record), None)


def _unmarked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of an exported CSV as they were stored: columns by their names, formulas without their marks."""
    found = {name.removeprefix("data."): _plain(value) for name, value in values.items() if name != MORE}
    with suppress(ValueError, TypeError):
        more = json.loads(_plain(values[MORE])) if values.get(MORE) else {}
        found |= more if isinstance(more, dict) else {}
    return found


def _plain(value: Any) -> Any:
    """Return a cell without the marks of `safe_cell`, if it has them."""
    if not isinstance(value, str) or "'" not in value:
        return value
    bare = _MARK.sub("", value.removeprefix("'"))
    return bare if safe_cell(bare) == value else value
