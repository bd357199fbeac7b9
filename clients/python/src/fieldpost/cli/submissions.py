"""Submissions: `submissions list`, `get` and `export`."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click

from fieldpost.cli.output import CommandError, show, table
from fieldpost.cli.session import open_session
from fieldpost.client import PAGE, Client

BRIEF = 80  # characters of the values in a list
Command = TypeVar("Command", bound=Callable[..., Any])
FILTERS = [
    click.option("--form", help="Those of one form, by its key."),
    click.option("--from", "from_", metavar="TIME", help="Those that arrived then or later: 2026-01-31, or a time."),
    click.option("--to", metavar="TIME", help="Those that arrived then or before."),
    click.option("--spam", type=click.Choice(["false", "true", "all"]), help="Without spam, spam only, or all."),
    click.option("--held", type=click.Choice(["false", "true", "all"]), help="Those that wait for release, or all."),
    click.option(
        "--test", flag_value="true", is_flag=True, default=None, help="Test submissions instead of live ones."
    ),
    click.option("--query", metavar="TEXT", help="Those with a value that holds this text."),
]


def filtered(command: Command) -> Command:
    for option in reversed(FILTERS):
        command = option(command)
    return command


@click.group()
def submissions() -> None:
    """Read, export and import submissions."""


@submissions.command("list")
@filtered
@click.option("--limit", type=click.IntRange(1), default=25, show_default=True, help="At most so many, newest first.")
def list_submissions(limit: int, **filters: str | None) -> None:
    """List submissions, newest first."""
    client = open_session().client()
    found = list(islice(_pages(client, _query(client, **filters), min(limit, PAGE)), limit))
    rows = [(one["createdAt"], one["id"], _brief(one["data"])) for one in found]
    show(found, lambda: table(rows, ["created", "id", "data"]))


@submissions.command()
@click.argument("submission_id", metavar="ID")
def get(submission_id: str) -> None:
    """Show one submission."""
    found = open_session().client().submissions.get(submission_id)
    show(found, lambda: table(found["data"].items(), ["name", "value"]))


@submissions.command()
@filtered
@click.option("--format", "format_", type=click.Choice(["csv", "json", "ndjson"]), default="csv", show_default=True)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of standard output.")
def export(format_: str, output: Path | None, **filters: str | None) -> None:
    """Export submissions, oldest first."""
    client = open_session().client()
    query = {**_query(client, **filters), "format": format_}
    with client.transport.stream("/api/submissions/export", query) as parts:
        if output is None:
            for part in parts:
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
            return
        with output.open("wb") as file:
            file.writelines(parts)


def find_form(client: Client, key: str) -> str:
    """Return the id of the form with this key."""
    for form in client.forms.list():
        if form["key"] == key:
            return form["id"]
    raise CommandError("not_found", f"No form has the key {key}: `fieldpost forms list` shows those there are.")


def _brief(data: dict[str, str]) -> str:
    return " ".join(", ".join(f"{name}: {value}" for name, value in data.items()).split())[:BRIEF]


def _query(
    client: Client, form: str | None, from_: str | None, query: str | None, **others: str | None
) -> dict[str, str]:
    form_id = find_form(client, form) if form else None
    named = {"formId": form_id, "from": from_, "q": query, **others}
    return {name: value for name, value in named.items() if value is not None}


def _pages(client: Client, query: dict[str, str], limit: int) -> Iterator[dict[str, Any]]:
    page, pages = 1, 1
    while page <= pages:
        sent = {**query, "page": str(page), "limit": str(limit)}
        found = client.transport.request("GET", "/api/submissions", query=sent).json()
        yield from found["data"]
        page, pages = page + 1, found["pagination"]["pages"]
