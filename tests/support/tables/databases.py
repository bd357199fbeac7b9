"""Which rows of a table of tests run on both databases (CONTRIBUTING.md, "Tests")."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_on_both(rows: Iterable[Any], count: int = 1) -> list[Any]:
    """
    Return the values of `parametrize`, all but the first `count` with the mark `on_sqlite`.

    For rows that send the database the same, and differ in checks before or in texts after.
    """
    return [row if place < count else _on_sqlite(row) for place, row in enumerate(rows)]


def _on_sqlite(row: Any) -> Any:
    if hasattr(row, "marks"):  # a `pytest.param`
        return pytest.param(*row.values, marks=[*row.marks, pytest.mark.on_sqlite], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.on_sqlite)
