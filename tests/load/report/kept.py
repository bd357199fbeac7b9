"""
`docs/benchmarks.json`: the figures behind `docs/benchmarks.md`, so that a run of some rows keeps the others.

    {"runs": {"2026-11-23T17:05Z 0b20795": {…}},
     "rows": {"submit": {"run": …, "ours": […], "rival": […]}, "list@10M": …}}

A row that depends on the number of stored rows has it behind an `@`, unless it is the usual million.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.load.report.figures import Result, Row
from tests.services.processes import ROOT

FILE = ROOT / "docs" / "benchmarks.json"
MILLION = 1_000_000


@dataclass
class Kept:
    """Results by key, and the conditions of the runs that they come from."""

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = FILE) -> "Kept":
        """Return the kept results; none if there is no file."""
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def write(self, path: Path = FILE) -> None:
        """Write them, without the runs that no row needs any more. A list of figures is one line."""
        needed = {row["run"] for row in self.rows.values()}
        self.runs = {name: run for name, run in self.runs.items() if name in needed}
        parts = [
            f'"{title}": {{\n' + ",\n".join(f'    "{name}": {json.dumps(one)}' for name, one in part.items()) + "\n  }"
            for title, part in (("runs", self.runs), ("rows", self.rows))
        ]
        path.write_text("{\n  " + ",\n  ".join(parts) + "\n}\n")

    def put(self, result: Result, *, run: str, stored_rows: int | None = None) -> None:
        """Replace the result of this row."""
        self.rows[key_of(result.row, stored_rows)] = {"run": run, **result.plain()}

    def find(self, rows: Sequence[Row], suffix: str = "") -> list[tuple[Result, str]]:
        """Return the results of those rows that have one, with the names of their runs, in the order of `rows`."""
        found = [(row, self.rows.get(row.name + suffix)) for row in rows]
        return [(Result.from_plain(row, kept), kept["run"]) for row, kept in found if kept]

    def suffixes(self) -> list[str]:
        """Return the other numbers of stored rows, as the keys have them: `@10M`."""
        return sorted({f"@{key.partition('@')[2]}" for key in self.rows if "@" in key})


def key_of(row: Row, stored_rows: int | None = None) -> str:
    """Return the key of a row: `list`, or `list@10M` for another number of stored rows than a million."""
    return row.name if stored_rows in (None, MILLION) else f"{row.name}@{short_number(stored_rows)}"


def short_number(number: int | None) -> str:
    """Return 10M for 10,000,000 and 100k for 100,000."""
    if number and number % MILLION == 0:
        return f"{number // MILLION}M"
    return f"{number // 1000}k" if number and number % 1000 == 0 else str(number)


def read_number(text: str) -> int:
    """Return the number that `short_number` wrote, or plain digits. Raises ValueError."""
    scale = {"k": 1000, "M": MILLION}.get(text[-1:], 1)
    return int(text.rstrip("kM")) * scale
