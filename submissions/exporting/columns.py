"""`?columns=`: the columns of a CSV export, in their order (docs/contract.md 5.61)."""

import csv

from django.utils.translation import gettext
from rest_framework import serializers

from config.text import clean_name
from submissions.exporting.csv_lines import source_of

MAX_COLUMNS = 1_000  # more than an export without `columns` has
COLUMNS_SCHEMA = {"type": "string", "pattern": r'^[^",\r\n\u0000]+(,[^",\r\n\u0000]+)*$'}


class InvalidColumns(ValueError):
    """The text is no list of columns. The arguments are a message and its code."""


def parse_columns(text: str) -> list[str]:
    """
    Return the names in one line of CSV: `a,b`, and in quotes a name that holds a comma or a line break.

    Raises InvalidColumns.
    """
    try:
        lines = list(csv.reader([text], strict=True))
    except csv.Error:
        raise InvalidColumns('Expected names with commas between them, such as "id,email".', "invalid") from None
    names = [clean_name(name) for line in lines for name in line]
    if not names or not all(names):
        raise InvalidColumns(gettext("A name is empty. Leave it out, with its comma."), "blank")
    if len(names) > MAX_COLUMNS:
        raise InvalidColumns(gettext("Choose at most %(most)s columns.") % {"most": f"{MAX_COLUMNS:,}"}, "too_many")
    if twice := _named_twice(names):
        text = gettext("The column “%(name)s” is named twice. Name it once.")
        raise InvalidColumns(text % {"name": twice[:100]}, "duplicate")
    return names


def _named_twice(names: list[str]) -> str | None:
    """Return a name whose values another one names already, `m` or `data.m`: a row would hold them many times."""
    seen: set[tuple[bool, str]] = set()
    for name in names:
        is_ours, source = source_of(name)
        known = is_ours, source.removeprefix("data.")
        if known in seen:
            return name
        seen.add(known)
    return None


class ColumnsField(serializers.Field[list[str], str, list[str], str]):
    """A list of columns as text; its value is the names."""

    def to_internal_value(self, data: str) -> list[str]:
        try:
            return parse_columns(data)
        except InvalidColumns as error:
            raise serializers.ValidationError(error.args[0], code=error.args[1]) from None
