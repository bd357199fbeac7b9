"""`import_submissions FILE --form FORM_ID [--preset NAME] [--source S] [--map COLUMN=NAME] [--dry-run] …`."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from config.api.errors import ApiError
from config.base.ids import InvalidId, Prefix, decode_id, encode_id
from forms_app.models import Form
from keys.management.operator_command import OperatorCommand
from submissions.exporting.csv_lines import BOM, csv_line
from submissions.importing.files import FORMATS, Unreadable, count_records, read_records
from submissions.importing.mapping import Columns, zone_named
from submissions.importing.presets import PRESETS, Preset
from submissions.importing.refused_rows import RefusedRows
from submissions.importing.rows import MAX_ROWS, MAX_SOURCE, Problem
from submissions.importing.whole_file import Progress, import_records
from submissions.models import Import

SHOWN = 20  # problems, on standard error


class Command(OperatorCommand):
    help = "Import old submissions from a file of CSV, JSON or NDJSON. Run again, it goes on where it was stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--form", required=True, metavar="FORM_ID", help="the form that takes them: frm_01jd…")
        parser.add_argument("--preset", choices=[*PRESETS], help="where the file is from: names its columns")
        parser.add_argument("--format", choices=FORMATS, default="", help="by the name of the file without it")
        parser.add_argument("--source", metavar="S", help="where they are from, in the trail; the preset without it")
        parser.add_argument("--time", metavar="COLUMN", help="the column with the time")
        parser.add_argument("--id", metavar="COLUMN", help="the column with the id there")
        parser.add_argument("--spam", metavar="COLUMN", help="the column that says whether it is spam")
        parser.add_argument(
            "--map", action="append", default=[], metavar="COLUMN=NAME", help="the name of a value; none drops it"
        )
        parser.add_argument("--date-format", action="append", default=[], metavar="F", help="such as %%d.%%m.%%Y")
        parser.add_argument("--zone", default="UTC", help="of times without an offset, such as Europe/Berlin")
        parser.add_argument("--refused", type=Path, metavar="FILE", help="write the refused rows there, as CSV")
        parser.add_argument("--import", metavar="IMPORT_ID", help="an earlier import to go on with, as it was printed")
        parser.add_argument("--dry-run", action="store_true", help="only say what would happen")

    def handle(self, *args: Any, **options: Any) -> None:
        form, columns = _form(options["form"]), _columns(options)
        path, source = options["file"], options["source"] or options["preset"] or options["file"].stem
        progress = Progress()
        refused = _Refused(options["refused"], self.stderr)
        try:
            total = count_records(path, options["format"])
            records = read_records(path, options["format"])
            for progress in import_records(
                form,
                records,
                columns,
                source=source[:MAX_SOURCE],
                refused=refused,
                earlier=_earlier(options["import"], form),
                is_dry=options["dry_run"],
            ):
                self._show(progress, total)
        except (OSError, Unreadable) as error:
            raise CommandError(str(error)) from None
        except ApiError as error:
            raise CommandError(
                f"{error.message} Stopped after {progress.read:,} rows; run it again to go on."
            ) from None
        finally:
            refused.close()
        self.stdout.write(json.dumps(_result(progress)))
        if progress.refused:
            raise CommandError(f"{progress.refused:,} of {progress.read:,} rows were refused.")

    def _show(self, progress: Progress, total: int) -> None:
        """Show the import's id after the first rows, because the command may be stopped, and how far it is."""
        if progress.read <= MAX_ROWS and progress.import_id:
            self.stderr.write(f"Import {encode_id(Prefix.IMPORT, progress.import_id)}")
        if sys.stderr.isatty():
            self.stderr.write(f"\r{progress.read:,} of {total:,}", ending="")


def _result(progress: Progress) -> dict[str, Any]:
    import_id = encode_id(Prefix.IMPORT, progress.import_id) if progress.import_id else None
    counts = {name: getattr(progress, name) for name in ("read", "imported", "skipped", "refused")}
    return {"importId": import_id, **counts}


def _form(text: str) -> Form:
    try:
        form = Form.objects.filter(pk=decode_id(Prefix.FORM, text)).first()
    except InvalidId as error:
        raise CommandError(str(error)) from None
    if form is None:
        raise CommandError("There is no form with this id.")
    return form


def _earlier(text: str | None, form: Form) -> Import | None:
    if text is None:
        return None
    try:
        return Import.objects.get(pk=decode_id(Prefix.IMPORT, text), form=form)
    except (InvalidId, Import.DoesNotExist):
        raise CommandError("There is no import with this id into this form.") from None


def _columns(options: dict[str, Any]) -> Columns:
    preset = PRESETS[options["preset"]] if options["preset"] else Preset(time=())
    named: dict[str, Any] = {name: (options[name],) for name in ("time", "id", "spam") if options[name]}
    preset = dataclasses.replace(preset, **named)
    if not preset.time:
        raise CommandError("Name the column with the time: --time COLUMN, or a --preset.")
    if wrong := [one for one in options["map"] if "=" not in one]:
        raise CommandError(f"Write --map as COLUMN=NAME, not {wrong[0]!r}.")
    renamed = dict(one.split("=", 1) for one in options["map"])
    try:
        return Columns(preset, renamed, tuple(options["date_format"]), zone_named(options["zone"]))
    except ValueError as error:
        raise CommandError(str(error)) from None


class _Refused:
    """Shows the first problems, and writes all of them with their rows to a file, if there is one."""

    def __init__(self, path: Path | None, shown: Any) -> None:
        self._file: IO[str] | None = path.open("w", newline="", encoding="utf-8") if path else None
        self._shown, self._number = shown, 0
        self._rows = RefusedRows()

    def __call__(self, problem: Problem, record: Mapping[str, Any]) -> None:
        self._number += 1
        if self._number <= SHOWN:
            self._shown.write(f"row {problem.row + 1:,}: {problem.message}")
        if self._file:
            if self._rows.names is None:
                self._file.write(BOM + csv_line([*RefusedRows.OWN, *record]))
            self._rows.add(problem, record)
            self._file.write(self._rows.lines.pop())

    def close(self) -> None:
        if self._file:
            self._file.close()
