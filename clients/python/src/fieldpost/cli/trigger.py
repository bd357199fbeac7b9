"""`fieldpost trigger`: one test submission with values that fit the form."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from fieldpost.cli.listen import key_mode
from fieldpost.cli.output import CommandError, show
from fieldpost.cli.session import open_session
from fieldpost.client import Client, FileValue
from fieldpost.records import Field, Form

EXAMPLES = {
    "Text": "Example",
    "Email": "ada@example.com",
    "Textarea": "Hello from fieldpost trigger.",
    "Number": "42",
    "Phone": "+1 555 0100",
    "URL": "https://example.com/",
    "Date": "2026-01-31",
    "Hidden": "example",
}
WITHOUT_FIELDS = {"name": "Ada Lovelace", "email": "ada@example.com", "message": "Hello from fieldpost trigger."}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c63f80f0001010100b138f6140000000049454e44ae426082"
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
FILES: tuple[tuple[str, bytes, tuple[str, ...]], ...] = (
    ("example.pdf", PDF, ("application/pdf", "application/*", ".pdf")),
    ("example.png", PNG, ("image/png", "image/*", ".png")),
    ("example.txt", b"Example\n", ("text/plain", "text/*", ".txt")),
)


@click.command()
@click.argument("event", type=click.Choice(["submission.created"]), expose_value=False)
@click.option("--form", metavar="KEY", help="The form; else the default form.")
@click.option("--override", "overrides", multiple=True, metavar="NAME=VALUE", help="Another value; @path for a file.")
@click.option("--live", is_flag=True, help="A live submission: it is mailed and delivered as any other.")
def trigger(form: str | None, overrides: Iterable[str], live: bool) -> None:
    """
    Send a test submission with example values.

    Nothing of it is mailed. `fieldpost listen` shows it, and so do webhooks for test submissions.
    """
    session = open_session("live" if live else "test")
    given = dict(_override(each) for each in overrides)
    key_mode(session, is_live_fine=live)
    client = session.client()
    chosen = _form(client, form)
    values, files = example_values(chosen["fields"])
    for name, value in given.items():
        values.pop(name, None)
        files.pop(name, None)
        if value.startswith("@"):
            files[name] = Path(value[1:])
        else:
            values[name] = value
    done = client.submit(chosen["id"], values, files=files)
    show(done, lambda: f"Sent {done['id']} to {chosen['key']}:\n{json.dumps(values, indent=2, ensure_ascii=False)}")


def _form(client: Client, key: str | None) -> Form:
    for form in client.forms.list():
        if form["key"] == key or (key is None and form["isDefault"]):
            return form
    raise CommandError("not_found", f"No form has the key {key}: `fieldpost forms list` shows those there are.")


def _override(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise CommandError("usage", f"{text!r} is no override: write name=value.")
    return name, value


def example_values(fields: list[Field]) -> tuple[dict[str, Any], dict[str, FileValue]]:
    """Return an example for each field, and the files of those that must have one."""
    if not fields:
        return dict(WITHOUT_FIELDS), {}
    files: dict[str, FileValue] = {
        field["name"]: _file(field) for field in fields if field["type"] == "File" and field["required"]
    }
    values = {field["name"]: _example(field) for field in fields if field["type"] != "File"}
    return values, files


def _example(field: Field) -> str:
    options = field.get("options") or []
    return options[0] if options else EXAMPLES.get(field["type"], "on" if field["type"] == "Checkbox" else "Example")


def _file(field: Field) -> tuple[str, bytes]:
    accept = field.get("accept") or []
    for name, content, types in FILES:
        if not accept or set(accept) & set(types):
            return name, content
    wanted = ", ".join(accept)
    raise CommandError("usage", f"The field {field['name']} takes {wanted}: say --override {field['name']}=@file.")
