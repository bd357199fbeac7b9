"""Forms as files: `forms list`, `pull`, `plan`, `apply` and `drift`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fieldpost.cli.form_files import KEY, files_of, new_file, read, update, write
from fieldpost.cli.form_files import body_of as body_of_file
from fieldpost.cli.output import CommandError, can_ask, printable, show, table
from fieldpost.cli.plans import Planned, carry_out, document_of, plan_archiving, plan_file, try_out
from fieldpost.cli.seen import Seen
from fieldpost.cli.session import open_session
from fieldpost.client import Client
from fieldpost.errors import APIError

CHANGES = 2  # the exit status
SIGNS = {"create": ("+", "green"), "update": ("~", "yellow"), "archive": ("-", "red")}

FOLDER = click.option(
    "--dir", "folder", type=click.Path(path_type=Path, file_okay=False), default="forms", show_default=True
)
KEYS = click.argument("keys", nargs=-1, metavar="[KEY]...")
PRUNE = click.option("--prune", is_flag=True, help="Archive the forms that have no file, but never the default form.")


@click.group()
def forms() -> None:
    """
    Keep forms as files next to the code of their pages.

    `pull` writes forms/<key>.yaml, `plan` shows what a file would change, `apply` changes it. `drift` exits with 2
    where a form is no longer as its file says.
    """


@forms.command("list")
def list_forms() -> None:
    """List the forms that are not archived."""
    found = list(open_session().client().forms.list())
    rows = [(form["key"], form["name"], form["status"], form["submissionCount"]) for form in found]
    show(found, lambda: table(rows, ["key", "name", "status", "submissions"]))


@forms.command()
@KEYS
@FOLDER
def pull(keys: Sequence[str], folder: Path) -> None:
    """Write forms to their files: all of them, or those with these keys."""
    session = open_session()
    client = session.client()
    chosen = list(keys) or [form["key"] for form in client.forms.list()]
    for key in chosen:  # those of the service too: a key is the name of a file
        _check_key(key)
    folder.mkdir(parents=True, exist_ok=True)
    seen, done = Seen(folder, session.url), []
    for key in chosen:
        found = document_of(client, key)
        if found is None:
            raise CommandError("not_found", f"No form has the key {key}: `fieldpost forms list` shows those there are.")
        path = folder / f"{key}.yaml"
        status = _pull_one(client, path, found[0], f"{session.url}/form.schema.json")
        seen[key] = found[1]
        done.append({"key": key, "path": str(path), "status": status})
    seen.save()
    show({"forms": done}, lambda: "\n".join(f"{one['path']}: {one['status']}" for one in done))


def _pull_one(client: Client, path: Path, document: dict[str, Any], schema: str) -> str:
    if not os.path.lexists(path):
        write(path, new_file(document), schema)
        return "created"
    file = read(path)
    try:
        changes = try_out(client, path.stem, body_of_file(path, file, with_secret=False))
        changed = {change["path"].partition(".")[0] for change in changes}
    except APIError as error:
        if error.status not in (400, 403):
            raise
        # The file says what no form can be, or this key may not ask: take every member.
        changed = {*document, *(name for name in file if name not in ("recipients", "replyTo"))}
    if not changed:
        return "unchanged"
    update(file, document, [name for name in {**document, **file} if name in changed])
    write(path, file, schema)
    return "updated"


@forms.command()
@KEYS
@FOLDER
@PRUNE
def plan(keys: Sequence[str], folder: Path, prune: bool) -> int:
    """Show what `apply` would change. Exits with 2 where that is something."""
    return _show_changes(keys, folder, prune=prune, with_secret=True)


@forms.command()
@KEYS
@FOLDER
def drift(keys: Sequence[str], folder: Path) -> int:
    """Exit with 2 where a form is not as its file says. Needs no secrets."""
    return _show_changes(keys, folder, prune=False, with_secret=False)


@forms.command()
@KEYS
@FOLDER
@PRUNE
@click.option("--yes", is_flag=True, help="Change without a question.")
def apply(keys: Sequence[str], folder: Path, prune: bool, yes: bool) -> None:
    """
    Make the forms as their files say.

    All files are tried before the first change. A form that somebody else has changed since it was last pulled, planned
    or applied stays as it is: look at it with `plan` first.
    """
    session = open_session()
    client, files, seen = session.client(), _chosen(keys, folder), Seen(folder, session.url)
    tried = [plan_file(client, path, seen=seen[path.stem]) for path in files]
    changing = [one for one in tried if one.changes]
    if prune:
        changing += plan_archiving(client, files_of(folder))
    document = {"forms": [one.shown() for one in changing]}
    if changing and not yes:
        if not can_ask():
            raise CommandError("confirmation_required", "Say --yes to make these changes without a question.")
        click.echo(_text(changing))
        if not click.confirm("Make these changes?"):
            raise CommandError("confirmation_required", "Nothing was changed.")
    try:
        for one in changing:
            carry_out(client, one, seen)
    finally:
        seen.save()
    show(document, lambda: _text(changing) + ("\nDone." if changing else ""))


def _show_changes(keys: Sequence[str], folder: Path, *, prune: bool, with_secret: bool) -> int:
    session = open_session()
    client, files, seen = session.client(), _chosen(keys, folder), Seen(folder, session.url)
    planned = [plan_file(client, path, with_secret=with_secret) for path in files]
    for one in planned:
        seen[one.key] = one.etag
    seen.save()
    changing = [one for one in planned if one.changes]
    if prune:
        changing += plan_archiving(client, files_of(folder))
    show({"forms": [one.shown() for one in changing]}, lambda: _text(changing))
    return CHANGES if changing else 0


def _check_key(key: str) -> None:
    if not KEY.fullmatch(key):
        raise CommandError("usage", f"{key!r} is no key of a form: it has a-z, 0-9 and -.")


def _chosen(keys: Sequence[str], folder: Path) -> list[Path]:
    """Return the files of these forms, or all."""
    files = files_of(folder)
    if not files:
        raise CommandError("no_form", f"There is no file of a form in {folder}: `fieldpost forms pull` writes them.")
    for key in keys:
        if key not in files:
            raise CommandError("no_form", f"There is no file {folder / key}.yaml.")
    return [files[key] for key in keys] if keys else list(files.values())


def _text(planned: Sequence[Planned]) -> str:
    """Return a plan as people read it."""
    if not planned:
        return "No changes."
    lines = []
    for one in planned:
        sign, colour = SIGNS[one.action]
        lines.append(click.style(f"{sign} {one.key}", fg=colour, bold=True))
        if one.action == "update":
            lines += [
                f"    {change['path']}: {_value(change['from'])} → {_value(change['to'])}" for change in one.changes
            ]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return "none" if value is None else printable(json.dumps(value, ensure_ascii=False))
