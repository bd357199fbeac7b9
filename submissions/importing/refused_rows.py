"""Refused rows as lines of CSV: what is wrong, then the row as it came (once), to correct and import it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from submissions.exporting.csv_lines import csv_line
from submissions.importing.rows import Problem


class RefusedRows:
    """Collects lines. Their columns are those of the first record, or `names`."""

    OWN: ClassVar[tuple[str, ...]] = ("_row", "_field", "_code", "_message")

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.names = names
        self._last = -1
        self.lines: list[str] = []

    def add(self, problem: Problem, record: Mapping[str, Any]) -> None:
        """Keep a problem with its record. Rows count from 1, as people count."""
        if self.names is None:
            self.names = [*record]
        told = [str(problem.row + 1), problem.field, problem.code, problem.message]
        # A row with ten problems is there once: a file of large ones would become ten times as large.
        cells = (
            [""] * len(self.names) if problem.row == self._last else [_cell(record.get(name)) for name in self.names]
        )
        self._last = problem.row
        self.lines.append(csv_line([*told, *cells]))


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
