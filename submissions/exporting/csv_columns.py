"""`?columns=`: the columns of a CSV export, in their order (docs/contract.md 5.61)."""

import csv

from django.utils.translation import gettext, gettext_lazy
from rest_framework import serializers

from config.base.text import clean_name
from submissions.exporting.csv_lines import source_of

MAX_COLUMNS = 1_000  # more than an export without `columns` has
COLUMNS_SCHEMA = {"type": "string", "pattern": r'^[^",\r\n\u0000]+(,[^",\r\n\u0000]+)*$'}


class ColumnsField(serializers.Field[list[str], str, list[str], str]):
    """Names in one line of CSV: `a,b`, and in quotes a name that holds a comma or a line break."""

    default_error_messages = {
        "invalid": 'Expected names with commas between them, such as "id,email".',
        "blank": gettext_lazy("A name is empty. Leave it out, with its comma."),
    }

    def to_internal_value(self, data: str) -> list[str]:
        try:
            lines = list(csv.reader([data], strict=True))
        except csv.Error:
            self.fail("invalid")
        names = [clean_name(name) for line in lines for name in line]
        if not names or not all(names):
            self.fail("blank")
        if len(names) > MAX_COLUMNS:
            text = gettext("Choose at most %(most)s columns.") % {"most": f"{MAX_COLUMNS:,}"}
            raise serializers.ValidationError(text, code="too_many")
        if twice := _named_twice(names):
            text = gettext("The column “%(name)s” is named twice. Name it once.") % {"name": twice[:100]}
            raise serializers.ValidationError(text, code="duplicate")
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
