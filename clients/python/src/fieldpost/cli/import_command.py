"""`fieldpost submissions import`: old submissions from elsewhere, from a file."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from fieldpost.cli.import_rows import Columns, batches, presets, zone_named
from fieldpost.cli.output import CommandError, printable, show
from fieldpost.cli.record_files import read_records
from fieldpost.cli.session import open_session
from fieldpost.cli.submissions import find_form
from fieldpost.client import Client

MOST_ROWS = 500  # of one call
MOST_CHARACTERS = 2_000_000  # of its values, so that a call stays below 8 MiB
SHOWN = 20  # problems, to people


@dataclass
class Imported:
    """The outcome so far; rows are counted over the whole file, from 0."""

    import_id: str | None = None
    rows: int = 0
    imported: int = 0
    skipped: int = 0
    problems: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        counts = {"imported": self.imported, "skipped": self.skipped}
        return {"importId": self.import_id, **counts, "problems": self.problems}


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--form", "key", required=True, metavar="KEY", help="The form that takes them.")
@click.option("--preset", type=click.Choice([*presets()]), help="Where the file is from, which names its columns.")
@click.option("--source", metavar="NAME", help="Where they are from, by which rows are known again; else the preset.")
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="COLUMN=NAME",
    help="The name of a value; createdAt, sourceId or spam for what a column says besides; none to leave it out.",
)
@click.option("--date-format", "formats", multiple=True, metavar="FORMAT", help="Of times, such as %d.%m.%Y %H:%M.")
@click.option("--zone", default="UTC", show_default=True, help="Of times without an offset, such as Europe/Berlin.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
def import_(
    file: Path,
    key: str,
    preset: str | None,
    source: str | None,
    mapped: Iterable[str],
    formats: tuple[str, ...],
    zone: str,
    dry_run: bool,
) -> int:
    """
    Import old submissions from a file.

    It is of CSV, JSON or NDJSON. Submissions keep the times that they have there, and nothing of them is mailed or
    delivered. Each row comes in once: run it again after it was stopped.
    """
    try:
        columns = Columns(presets()[preset] if preset else {}, dict(_mapped(mapped)), formats, zone_named(zone))
    except ValueError as error:
        raise CommandError("usage", str(error)) from None
    _read_through(file, columns)
    client = open_session().client()
    form_id, done = find_form(client, key), Imported()
    for batch in batches(read_records(file), MOST_ROWS, MOST_CHARACTERS):
        _import_batch(client, form_id, source or preset or file.stem[:40], batch, columns, done, is_dry=dry_run)
        if sys.stderr.isatty():
            click.echo(f"\r{done.rows:,} rows", nl=False, err=True)
    if sys.stderr.isatty():
        click.echo("\r\033[K", nl=False, err=True)  # clears the line of the progress
    show(done.shown(), lambda: _text(done, is_dry=dry_run))
    return 1 if done.problems else 0


def _read_through(file: Path, columns: Columns) -> None:
    """Read a file to its end: one that cannot be read, or of which no column is the time, changes nothing."""
    names, has_time = list[str](), False
    for record in read_records(file):
        names, has_time = names or [*record], has_time or columns.has_time(record)
    if names and not has_time:
        shown = ", ".join(printable(name) for name in names[:SHOWN])
        raise CommandError(
            "no_time",
            f'Say which column is the time, by --map "COLUMN=createdAt" or a --preset. The file has: {shown}.',
        )


def _mapped(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        column, equals, name = text.rpartition("=")
        if not equals:
            raise ValueError(f"{text!r} is no mapping: write COLUMN=NAME.")
        yield column, name


def _import_batch(
    client: Client,
    form_id: str,
    source: str,
    batch: list[dict[str, Any]],
    columns: Columns,
    done: Imported,
    *,
    is_dry: bool,
) -> None:
    rows, places, problems = [], [], list[dict[str, Any]]()
    for place, record in enumerate(batch, done.rows):
        row = columns.row(record)
        if isinstance(row, str):
            problems.append({"row": place, "field": "createdAt", "code": "invalid", "message": row})
        else:
            rows.append(row)
            places.append(place)
    if rows:
        body = {"source": source, "rows": rows, "dryRun": is_dry}
        if done.import_id:
            body["importId"] = done.import_id
        answer = client.transport.request(
            "POST", "/api/submissions/import", query={"formId": form_id}, json_body=body
        ).data
        done.import_id = answer["importId"]
        done.imported += answer["imported"]
        done.skipped += answer["skipped"]
        problems += [{**one, "row": places[one["row"]]} for one in answer["problems"]]
    done.problems += sorted(problems, key=lambda one: int(one["row"]))
    done.rows += len(batch)


def _text(done: Imported, *, is_dry: bool) -> str:
    lines = [f"row {one['row'] + 1:,}: {printable(one['message'])}" for one in done.problems[:SHOWN]]
    if len(done.problems) > SHOWN:
        lines.append(f"… and {len(done.problems) - SHOWN:,} more problems")
    refused = len({one["row"] for one in done.problems})
    counts = f"{done.imported:,} imported, {done.skipped:,} known already, {refused:,} refused"
    if is_dry:
        return "\n".join([*lines, f"It would be: {counts}."])
    undo = [f"To undo {done.import_id} within a day: Import a file, on the form's page."] if done.import_id else []
    return "\n".join([*lines, counts, *undo])
