"""
`make bench`: every row of `docs/benchmarks.md`, each next to a rival in the same run, or compared with a bound.

    python -m tests.load.bench [--only NAME[,NAME]] [--rounds 5] [--seconds 5] [--rows 1M] [--deliveries 10000]
                               [--print-only]

A round runs ours and the rival in turn on throw-away servers with their default durability, which is checked, so a slow
or noisy machine slows both and the ratio is what counts. The load is made on the cores that it measures. The table is
printed at the end; the figures replace those of the same rows in `docs/benchmarks.json`, from which
`docs/benchmarks.md` is written. A missed mark does not fail the run; a wrong answer does.

`--only submit,search`: some rows; `search` is `search-percent` too, and `deliver` every row whose name begins so.

To see where a process spends its time, run `py-spy record --pid` on it meanwhile; py-spy is not among our requirements.
"""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence

from tests.load.report.document import write_document
from tests.load.report.figures import Result, Round, Row
from tests.load.report.kept import Kept, read_number
from tests.load.report.machine import describe_run
from tests.load.report.notes import NOTES
from tests.load.report.table import print_table
from tests.load.rows.every import KINDS, PLACES, ROWS
from tests.load.rows.kinds import Kind
from tests.load.running import Options
from tests.services.packages import ensure


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.bench", description="Measure; see tests/load/bench.py.")
    parser.add_argument("--only", type=chosen, default=ROWS, metavar="NAMES", help="some rows, such as submit,cpu")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each row (5)")
    parser.add_argument("--seconds", type=float, default=5, help="length of a round of submitting (5)")
    parser.add_argument("--rows", type=read_number, default="1M", help="submissions of the large form (1M)")
    parser.add_argument("--deliveries", type=int, default=10_000, help="deliveries of a round (10,000)")
    parser.add_argument("--print-only", action="store_true", help="keep no figure and write no document")
    named = parser.parse_args(arguments)
    options = Options(named.rounds, named.seconds, named.rows, named.deliveries)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: stops everything that it started
    ensure(["postgres", "redis-server"])
    run = describe_run(rounds=options.rounds, seconds=options.seconds, deliveries=options.deliveries)
    kept, name, results = Kept.read(), f"{run['date']} {run['commit']}", list[Result]()
    for kind, durability, found in measure(named.only, options):
        results += found
        kept.runs[name] = run
        run.setdefault("durability", {}).update(durability)
        for result in found:
            kept.put(result, run=name, stored_rows=options.stored_rows if kind.depends_on_stored_rows else None)
        if not named.print_only:  # after each, so that a run that ends early keeps the rows so far
            kept.write()
            write_document(kept, ROWS, NOTES)
    print(print_table([one for row in ROWS for one in results if one.row == row]), flush=True)


def chosen(text: str) -> tuple[Row, ...]:
    """Return the rows of `submit,export`, in the table's order; all of them for an empty text."""
    names = list(filter(None, text.split(",")))
    found = {name: [row for row in ROWS if f"{row.name}-".startswith(f"{name}-")] for name in names}
    found |= {name: [row for row in ROWS if row.name.startswith(name)] for name in names if not found[name]}
    if unknown := [name for name in names if not found[name]]:
        known = ", ".join(row.name for row in ROWS)
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {known}")
    return tuple(row for row in ROWS if any(row in rows for rows in found.values())) or ROWS


def measure(rows: Sequence[Row], options: Options) -> Iterator[tuple[Kind, dict[str, str], list[Result]]]:
    """Yield each measurement that has one of these rows, with its place's durability and the results of its rows."""
    for name, start in PLACES.items():
        kinds = [kind for kind in KINDS if kind.place == name and set(kind.rows) & set(rows)]
        if not kinds:
            continue
        _tell(f"starting: {name}")
        with start(options) as place:
            _tell(f"durability: {place.durability}")
            for kind in kinds:
                rounds = _run(kind, place, options)
                results = [Result(row, tuple(one[row.name] for one in rounds)) for row in kind.rows if row in rows]
                yield kind, {name: place.durability}, results


def _run(kind: Kind, place: object, options: Options) -> list[dict[str, Round]]:
    title = ", ".join(row.name for row in kind.rows)
    _tell(f"preparing: {title}")
    with kind.running(place, options) as one_round:
        rounds = []
        for number in range(1, options.rounds + 1):
            rounds.append(one_round())
            shown = ", ".join(f"{row.name} {row.show(rounds[-1][row.name].value)}" for row in kind.rows)
            _tell(f"round {number} of {options.rounds}: {shown}")
    return rounds


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
