"""
The reference measurement: pgbench with the same look-up and INSERT, the same values, over as many connections.

Protocol `simple`: values are in the statement's text, PostgreSQL plans each one, and each commits by itself.
pgbench leaves out everything that a service adds: HTTP, JSON, the limit, the checks, Python.
"""

import re
import subprocess
from pathlib import Path

from tests.services.packages import program

THREADS = 2
# Decimal digits that read as a time-ordered UUID: a counter in front, so that rows come at an index's end as those of
# UUIDv7 do; then the client and chance, so that no two are the same.
_VARIABLES = r"""
\set counter :counter + 1
\set client 1000 + :client_id
\set chance random(100000000000, 999999999999)
"""
_ID = ":counter-:client-7000-8000-:chance"
FIRST_COUNT = 10_000_000  # eight digits, and so it stays for 89 million rows a client


def make_script(look_up: str, insert: str, pk: str) -> str:
    """Return a pgbench script of these statements with a fresh id in place of `pk`."""
    lines = [" ".join(statement.split("\n")).strip() + ";" for statement in (look_up, insert.replace(pk, _ID))]
    return _VARIABLES.lstrip() + "\n".join(lines) + "\n"


def run_pgbench(url: str, script: Path, *, clients: int, seconds: float) -> tuple[float, int]:
    """Return transactions a second, and how many there were: one is one look-up and one INSERT."""
    command: list[str | Path] = [
        program("pgbench"),
        "--no-vacuum",
        f"--client={clients}",
        f"--jobs={THREADS}",
        f"--time={seconds:.0f}",
    ]
    command += ["--protocol=simple", f"--define=counter={FIRST_COUNT}", f"--file={script}", url]
    result = subprocess.run(command, capture_output=True, text=True)
    rate = re.search(r"^tps = ([\d.]+)", result.stdout, re.MULTILINE)
    count = re.search(r"^number of transactions actually processed: (\d+)", result.stdout, re.MULTILINE)
    if result.returncode or not rate or not count:
        raise RuntimeError(f"pgbench failed:\n{result.stdout}{result.stderr}")
    return float(rate[1]), int(count[1])
