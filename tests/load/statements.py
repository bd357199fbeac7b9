"""
The two statements of one submission, for the references: from PostgreSQL's log and from the row that was stored.

So the references follow the service: they run the look-up that it runs now, and write the row that it writes now.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql

from tests.services.postgresql import PostgreSQL

TABLE = "submissions_submission"
STATEMENTS_VARIABLE = "BENCH_STATEMENTS"  # of the environment: the file that `Statements.write` wrote
# The start of an entry, as PostgreSQL's default `log_line_prefix` makes it: "2026-11-23 17:00:01.123 UTC [42] LOG:  ".
_ENTRY = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] (?=[A-Z]+:  )", re.MULTILINE)
_STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)", re.DOTALL)
_PARAMETERS = re.compile(r"DETAIL:  [Pp]arameters: (.*)", re.DOTALL)
_PARAMETER = re.compile(r"(\$\d+) = ('(?:[^']|'')*'|NULL)")


@dataclass(frozen=True)
class Statements:
    """
    `look_up`: with the values in its text. `digest`: that of the key, as it is in the look-up.

    `columns` and `values`: of the stored row, without those that are NULL. Values are texts that PostgreSQL reads.
    """

    look_up: str
    digest: str
    columns: Sequence[str]
    values: Sequence[str]

    @property
    def pk(self) -> str:
        """The id of the stored row."""
        return self.values[self.columns.index("id")]

    def insert(self) -> str:
        """Return the INSERT with the values in its text."""
        literals = ", ".join(sql.Literal(value).as_string() for value in self.values)
        return f"INSERT INTO {TABLE} ({', '.join(self.columns)}) VALUES ({literals})"

    def write(self, path: Path) -> None:
        """Write them for another process."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return those that `write` wrote."""
        return cls(**json.loads(path.read_text()))


class Logged:
    """Logs every statement of PostgreSQL within a `with` block."""

    def __init__(self, postgresql: PostgreSQL) -> None:
        self._url = postgresql.url
        self._log = postgresql.directory / "log"
        self._start = 0

    def __enter__(self) -> Self:
        self._start = self._log.stat().st_size
        self._set("SET log_statement = 'all'")
        return self

    def __exit__(self, *error: object) -> None:
        self._set("RESET log_statement")

    def _set(self, change: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM {change}".encode())
            connection.execute("SELECT pg_reload_conf()")

    def statements(self) -> list[str]:
        """Return the statements so far, with their values in the text."""
        return parse_log(self._log.read_bytes()[self._start :].decode())


def parse_log(text: str) -> list[str]:
    """Return the statements of a part of PostgreSQL's log, with the values of parameters in their places."""
    found: list[str] = []
    for entry in _ENTRY.split(text):
        if statement := _STATEMENT.match(entry):
            found.append(statement[1].replace("\n\t", "\n").strip())
        elif found and (parameters := _PARAMETERS.match(entry)):
            values = dict(_PARAMETER.findall(parameters[1].replace("\n\t", "\n")))
            found[-1] = re.sub(r"\$\d+", lambda place, values=values: values.get(place[0], place[0]), found[-1])  # type: ignore[misc] # words of re
    return found


def stored_row(url: str) -> tuple[list[str], list[str]]:
    """Return the columns and values of a submission."""
    with psycopg.connect(url, autocommit=True) as connection:
        columns = [one.name for one in connection.execute(f"SELECT * FROM {TABLE} LIMIT 0").description or ()]
        texts = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier(column)) for column in columns)
        row: Any = connection.execute(
            sql.SQL("SELECT {} FROM {} LIMIT 1").format(texts, sql.Identifier(TABLE))
        ).fetchone()
    kept = [(column, value) for column, value in zip(columns, row, strict=True) if value is not None]
    return [column for column, _ in kept], [value for _, value in kept]
