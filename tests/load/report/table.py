"""The table that `make bench` prints."""

from collections.abc import Sequence

from tests.load.report.figures import Result, show_pair

HEADINGS = ("row", "median", "lowest to highest", "rounds", "mark", "aim", "met", "ours and the rival's")


def print_table(results: Sequence[Result]) -> str:
    """Return the results as lines in columns."""
    lines = [HEADINGS, *map(_cells, results)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cells(result: Result) -> tuple[str, ...]:
    row, (lowest, highest) = result.row, result.spread
    return (
        row.name,
        row.show(result.value),
        f"{row.show(lowest)} to {row.show(highest)}",
        str(len(result.rounds)),
        row.show(row.mark),
        row.show(row.aim) if row.aim is not None else "-",
        result.verdict,
        show_pair(result),
    )
