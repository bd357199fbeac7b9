"""Tables whose rows take the same way through the database: the first run on both, the others only on SQLite."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_on_both(rows: Iterable[Any], on_both: int = 1) -> list[Any]:
    """
    Return the rows for `parametrize`, all but the first `on_both` with the mark `on_sqlite`.

    A tuple is a row of several arguments, anything else the only argument.
    """
    return [row if number < on_both else _marked(row) for number, row in enumerate(rows)]


def _marked(row: Any) -> Any:
    values = row if isinstance(row, tuple) else (row,)
    return pytest.param(*values, marks=pytest.mark.on_sqlite)
