"""Output: text for people at a terminal, one JSON document for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from fieldpost.errors import APIError, Error


class CommandError(Error):
    """An error of the command line: its code first, as programs read it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code)


def is_for_people() -> bool:
    return sys.stdout.isatty()


def can_ask() -> bool:
    """Return whether somebody can answer a question."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def show(document: Any, text: Callable[[], str]) -> None:
    """Print the document as JSON, or the text where a person reads."""
    click.echo(text() if is_for_people() else json.dumps(document, ensure_ascii=False))


def show_error(error: Error) -> None:
    """Print an error as the last line of standard error."""
    if is_for_people():
        click.echo(click.style("Error: ", fg="red", bold=True) + printable(sentence(error)), err=True)
    else:
        click.echo(json.dumps({"error": {"code": error.code, "message": sentence(error)}}), err=True)


def sentence(error: Error) -> str:
    """Return the message, with every wrong value of an answer."""
    details = error.details if isinstance(error, APIError) else []
    return "; ".join(one["message"] for one in details) or error.message


def printable(text: str) -> str:
    """Return a text of strangers without what a terminal would obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def table(rows: Iterable[Sequence[object]], heads: Sequence[str]) -> str:
    """Return rows in columns, below their heads."""
    lines = [[str(head) for head in heads], *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    joined = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([click.style(joined[0], bold=True), *joined[1:]])
