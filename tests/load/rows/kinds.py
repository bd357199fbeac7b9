"""The one interface of all measurements."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.load.report.figures import Round, Row
from tests.load.running import Options

OneRound = Callable[[], dict[str, Round]]


@dataclass(frozen=True)
class Kind:
    """
    A measurement of one or more rows.

    `running(place, options)` prepares it and warms up. It yields what runs one round: ours and the rivals' in turn, as
    the figures of each row by its name. `place`: a name of `PLACES` in `tests/load/rows/every.py`.
    """

    rows: tuple[Row, ...]
    place: str
    running: Callable[[Any, Options], AbstractContextManager[OneRound]]
    depends_on_stored_rows: bool = False
