"""Exports of the large form, next to psql's copy of the same columns; and the memory that they take."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.load.downloads import downloading
from tests.load.memory import MIB, have_all_exported, tree_bytes
from tests.load.report.figures import Round, Row
from tests.load.rounds import Bench
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place
from tests.load.statements import TABLE
from tests.services.packages import program
from tests.services.waiting import eventually, let_pass

SAMPLE_SECONDS = 0.1
SETTLE_SECONDS = 2.0
CSV = Row(
    "export-csv",
    "Export of the large form as CSV: rows a second",
    "psql's `\\copy` of id, form, time and data to CSV, in the same order",
    "a second",
    mark=0.3,
    aim=0.7,
    higher_is_better=True,
)
NDJSON = Row(
    "export-ndjson",
    "The same as NDJSON",
    "psql's `\\copy` of every column that a record shows",
    "a second",
    mark=0.5,
    aim=0.7,
    higher_is_better=True,
)
MEMORY = Row("export-memory", "Export: peak memory of the web role (PSS) above idle", "", "MiB", mark=40, aim=20)
CSV_COLUMNS = ("id", "form_id", "created_at", "data")
# Those of them that exist: the schema may change.
NDJSON_COLUMNS = (*CSV_COLUMNS, "files_size", "spam", "spam_reasons", "held", "meta")


@contextmanager
def running(place: Place, _options: Options) -> Iterator[OneRound]:
    """Yield a round of both formats and of both copies."""
    bench, small, large = place.bench, place.archive["small"], place.archive["large"]
    web = bench.application.processes["web"].popen.pid

    def export_small() -> bool:
        for kind in ("csv", "ndjson"):
            _export(bench, small, kind)
        return have_all_exported(web)

    eventually(export_small, because="every web process has exported")
    let_pass(SETTLE_SECONDS)
    idle = tree_bytes(web)

    def one_round() -> dict[str, Round]:
        figures = {}
        for row, kind, columns in ((CSV, "csv", CSV_COLUMNS), (NDJSON, "ndjson", NDJSON_COLUMNS)):
            ours, _ = _export(bench, large, kind)
            figures[row.name] = Round(large["count"] / ours, large["count"] / _copy(bench, large, columns))
        # By themselves: reading the pages of a process stops it for milliseconds.
        peak = max(_export(bench, large, kind, watched=web)[1] for kind in ("csv", "ndjson"))
        return {**figures, MEMORY.name: Round((peak - idle) / MIB)}

    yield one_round


def export_path(form_id: str, kind: str) -> str:
    """Return the path of the export of every submission of a form, spam too."""
    return f"/api/submissions/export?formId={form_id}&format={kind}&spam=all"


def _export(bench: Bench, form: dict[str, str], kind: str, watched: int = 0) -> tuple[float, int]:
    """Return the seconds of an export, and the most bytes of memory of a process and its children meanwhile."""
    peak = 0
    with downloading(bench.application.port, export_path(form["form_id"], kind), form["key"]) as download:
        while not download.done():
            peak = max(peak, tree_bytes(watched)) if watched else 0
            let_pass(SAMPLE_SECONDS)
        result = download.result()
    expected = int(form["count"]) + (kind == "csv")
    assert result.lines == expected, f"{kind}: {result.lines} lines of {expected}"
    return result.seconds, peak


def _copy(bench: Bench, form: dict[str, str], columns: Sequence[str]) -> float:
    """Return the seconds of psql's copy of these columns of a form, oldest first."""
    (names,) = bench.query(
        f"SELECT array_agg(column_name::text) FROM information_schema.columns WHERE table_name = '{TABLE}'"
    )
    shown = ", ".join(column for column in columns if column in names)
    query = f"SELECT {shown} FROM {TABLE} WHERE form_id = '{form['form']}' ORDER BY id"
    command = [str(program("psql")), bench.url, "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
    start = time.monotonic()
    copied = subprocess.run(
        [*command, "--command", f"\\copy ({query}) TO '/dev/null' WITH (FORMAT csv)"], capture_output=True, text=True
    )
    seconds = time.monotonic() - start
    assert copied.stdout.strip() == f"COPY {form['count']}", copied.stdout + copied.stderr
    return seconds


KIND = Kind((CSV, NDJSON, MEMORY), "archive", running, depends_on_stored_rows=True)
