"""Results as lines, and as the Markdown table of docs/delivery.md."""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.faults.case import Result, name_of
from tests.services.processes import ROOT


def line(result: Result) -> str:
    """Return one line, and under it one for each broken promise."""
    figures = [
        f"seed {result.seed}",
        f"kills {result.kills}",
        f"duplicates {result.duplicates}",
        f"recovery {result.recovery:.1f} s",
        f"p99 {1000 * result.p99:.0f} ms",
        f"took {result.seconds:.0f} s",
    ]
    notes = [note for note in result.notes if "\n" not in note]
    word = "pass" if result.passed else "FAIL"
    head = f"{result.fault.id:4}{name_of(result.backend):11}{word:5} {', '.join([*figures, *notes])}"
    return "\n".join([f"{head}; {result.fault.title}", *(f"       {broken}" for broken in result.broken)])


def markdown(results: Sequence[Result]) -> str:
    """Return the table, with its date and commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    rows = [
        f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit.stdout.strip()} by `make faults`, "
        f"seed {results[0].seed if results else 0}.",
        "",
        "| fault | database | result | kills | duplicates | longest recovery | p99 of submit | figures |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        notes = "; ".join(note for note in one.notes if "\n" not in note)
        rows.append(
            f"| {one.fault.id} {one.fault.title} | {name_of(one.backend)} | {'pass' if one.passed else 'FAIL'} "
            f"| {one.kills} | {one.duplicates} | {one.recovery:.1f} s | {1000 * one.p99:.0f} ms | {notes} |"
        )
    return "\n".join(rows)
