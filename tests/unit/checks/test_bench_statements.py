"""The statements of the references of `make bench`: from a log of PostgreSQL, into a script of pgbench."""

from pathlib import Path

from tests.load.pgbench import make_script
from tests.load.statements import Statements, parse_log

PK = "019a0000-0000-7000-8000-000000000001"
LOG = f"""\
2026-11-23 17:00:00.001 UTC [41] LOG:  received SIGHUP, reloading configuration files
2026-11-23 17:00:00.002 UTC [42] LOG:  statement: SELECT k.id
\tFROM keys k
\tWHERE k.digest = 'abc'
2026-11-23 17:00:00.003 UTC [43] LOG:  execute _pg3_0: INSERT INTO t (id, name, held, price)
\tVALUES ($1, $2, $3, '$4')
2026-11-23 17:00:00.003 UTC [43] DETAIL:  parameters: $1 = '{PK}', $2 = 'O''Neill, $1 = ''x''', $3 = NULL
2026-11-23 17:00:00.004 UTC [43] LOG:  execute <unnamed>: SELECT $1
2026-11-23 17:00:00.004 UTC [43] DETAIL:  Parameters: $1 = '2026-11-23 17:00:00+00'
"""


def test_log__of_both_protocols__is_read_as_statements_with_their_values() -> None:
    assert parse_log(LOG) == [
        "SELECT k.id\nFROM keys k\nWHERE k.digest = 'abc'",
        f"INSERT INTO t (id, name, held, price)\nVALUES ('{PK}', 'O''Neill, $1 = ''x''', NULL, '$4')",
        "SELECT '2026-11-23 17:00:00+00'",
    ]


def test_insert__of_a_stored_row__quotes_values_and_gets_a_fresh_id_in_pgbench(tmp_path: Path) -> None:
    statements = Statements("SELECT 1\nFROM t", "abc", ["id", "data"], [PK, '{"name":"O\'Neill"}'])
    assert statements.insert() == (
        f"INSERT INTO submissions_submission (id, data) VALUES ('{PK}', '{{\"name\":\"O''Neill\"}}')"
    )
    script = make_script(statements.look_up, statements.insert(), statements.pk)
    assert "\nSELECT 1 FROM t;\n" in script
    assert "VALUES (':counter-:client-7000-8000-:chance', " in script
    assert PK not in script
    statements.write(tmp_path / "statements.json")
    assert Statements.read(tmp_path / "statements.json") == statements
