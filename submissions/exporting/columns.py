"""`?columns=`: the columns of a CSV export, in their order (docs/contract.md 5.61)."""

import csv

from django.utils.translation import gettext
from rest_framework import serializers

from config.text import clean_name

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
    return names


class ColumnsField(serializers.Field[list[str], str, list[str], str]):
    """A list of columns as text; its value is the names."""

    def to_internal_value(self, data: str) -> list[str]:
        try:
            return parse_columns(data)
        except InvalidColumns as error:
            raise serializers.ValidationError(error.args[0], code=error.args[1]) from None
