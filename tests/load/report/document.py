"""`docs/benchmarks.md`, written from the kept results."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.load.report.figures import Result, Row, show_pair
from tests.load.report.kept import Kept
from tests.services.processes import ROOT

FILE = ROOT / "docs" / "benchmarks.md"
FEWEST_ROUNDS = 5  # of a figure that counts
_HEAD = """\
# Benchmarks

`make bench` wrote this document. Do not edit it: figures come from `docs/benchmarks.json`, explanations from
`tests/load/report/notes.py`.

Every figure is the median of rounds, with the lowest and the highest of them. In a round, our service and its rival run
one after the other on the same machine, which also makes the load, so their ratio is what counts: a slow machine slows
both. Durability is on, and each run checks
it: PostgreSQL's `fsync`, `synchronous_commit` and `full_page_writes`, SQLite's `synchronous=FULL`.

```sh
make bench                # every row, 5 rounds, about 25 minutes
make bench ONLY=submit    # one row, or several: ONLY=submit,cpu; the others keep their figures here
make bench ROWS=10M ONLY=list,search,dashboard  # over ten million rows; they get a table here
make bench ROUNDS=9       # more rounds
```

A wrong answer ends a run with an error; a missed mark does not.

How some figures are taken:

- **Lists, searches, exports:** the large form has a million submissions of about 280 bytes of JSON over 30 days, 5 % of
  them spam. A form of another organization in the same database has a thousand. A round asks for each list 20 times.
- **`export-memory`, `serve-memory`, `roles-memory`:** the proportional set size of the processes named and their
  children. Above idle: the highest of ten samples a second, without the memory after small exports by every web
  process, their fork servers included.
- **`bytes`:** the growth of all tables of submissions with their indexes by 10,000 submissions over HTTP, dispatched,
  with a VACUUM after each 2,000. Deliveries are not included: the form has no webhook.
- **`busy`, `latency`:** requests at a fixed rate, 16 clients. A latency begins when the request was due. Only those
  count that were due while the other work ran; a deliverer runs in both halves.
- **`met`:** `aim`, `mark` or `missed`.
"""
_TABLE_HEAD = (
    "| row | figure | against | median | spread | mark | aim | met | ours of rival's | run |\n" + "|---" * 10 + "|"
)


def write_document(kept: Kept, rows: Sequence[Row], notes: Mapping[str, str]) -> None:
    FILE.write_text(render(kept, rows, notes))


def render(kept: Kept, rows: Sequence[Row], notes: Mapping[str, str]) -> str:
    """Return the document: tables, notes on unmet marks and aims, and the conditions of the runs."""
    numbers = {name: str(number) for number, name in enumerate(kept.runs, start=1)}
    parts = [_HEAD]
    for suffix in ("", *kept.suffixes()):
        title = f"Over {suffix[1:]} rows" if suffix else "Figures"
        found = kept.find(rows, suffix)
        parts.append("\n".join([f"## {title}\n", _TABLE_HEAD, *(_line(one, numbers[run]) for one, run in found), ""]))
    results = [result for result, _ in kept.find(rows)]
    parts.append("## Missed marks and aims\n\n" + _explain(results, notes))
    measured = {result.row.name for result in results}
    if missing := [row.name for row in rows if row.name not in measured]:
        parts.append(f"Not measured yet: {', '.join(missing)}.\n")
    parts.append("## Runs\n")
    parts += [_run(number, kept.runs[name]) for name, number in numbers.items()]
    return "\n".join(parts)


def _line(result: Result, run: str) -> str:
    row, (lowest, highest) = result.row, result.spread
    aim = row.show(row.aim) if row.aim is not None else "-"
    short = "" if len(result.rounds) >= FEWEST_ROUNDS else f" (a short run: rounds {len(result.rounds)})"
    spread = f"{row.show(lowest)} to {row.show(highest)}{short}"
    median = f"**{row.show(result.value)}**"
    cells = [f"`{row.name}`", row.title, row.rival or "-", median, spread, row.show(row.mark), aim]
    return f"| {' | '.join([*cells, result.verdict, show_pair(result) or '-', run])} |"


def _explain(results: Sequence[Result], notes: Mapping[str, str]) -> str:
    """Return a line for each row that misses its mark, or has an aim and misses it."""
    lines = []
    for one in results:
        missed = {"missed": "mark", "mark": "aim"}.get(one.verdict)
        if missed == "mark" or (missed == "aim" and one.row.aim is not None):
            lines.append(f"- `{one.row.name}` misses its {missed}. {notes.get(one.row.name, 'Not explained yet.')}")
    return "\n".join(lines or ["None."]) + "\n"


def _run(number: str, run: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    changed = " with changes that were not committed" if run["commit"].endswith("+") else ""
    durability = "; ".join(f"{name}: {settings}" for name, settings in run.get("durability", {}).items())
    return (
        f"{number}. {run['date']}, commit `{run['commit'].rstrip('+')}`{changed}; rounds {run['rounds']}, of "
        f"{run['seconds']:g} seconds where they have a length, and of {run['deliveries']:,} deliveries.\n"
        f"   {run['cores']} cores ({run['cpu']}), {run['memory_gib']:g} GiB of memory; load average before it "
        f"{run['load_before']}.\n   {versions}.\n   {durability}.\n"
    )
