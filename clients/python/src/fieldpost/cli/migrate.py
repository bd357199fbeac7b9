"""`fieldpost migrate`: a form of a page moves here from another service."""

import re
import secrets
from pathlib import Path
from typing import Any

import click

from fieldpost.cli.moving import ADDRESS, Moved, fields_of, new_tag, service_of
from fieldpost.cli.output import CommandError, printable, show
from fieldpost.cli.page_forms import PageForm, forms_of
from fieldpost.cli.pages import fetch_page, read_page
from fieldpost.cli.react_source import as_html, is_react_source, moved_of, moved_source
from fieldpost.cli.session import open_session
from fieldpost.client import Client
from fieldpost.errors import APIError

MAX_TITLE = 200  # characters
NO_FORM = (
    "The page has no form with inputs. If a script makes it, save the page then, or give the source of the component "
    "that uses @formspree/react."
)
NO_ID = "The file has no id in it, or several: put the address of the form into the call yourself."
ADDRESS_TAKEN = "The id there cannot be the address here: it is taken, or a word of the service."


@click.command()
@click.argument("page", metavar="URL|FILE")
@click.option("--nth", type=click.IntRange(1), help="Which form of the page, counted from 1.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option("--write", is_flag=True, help="Change the file.")
def migrate(page: str, nth: int | None, dry_run: bool, write: bool) -> None:
    """
    Make the form of a page here, and show what changes in it.

    A page is HTML, or the source of a component that uses @formspree/react. It knows forms of Formspree, Netlify,
    Web3Forms, Basin, Google Forms, Getform, Formcarry and FormSubmit; of others it takes the inputs. `fieldpost
    submissions import` brings the old submissions.
    """
    is_url = page.startswith(("http://", "https://"))
    if write and (is_url or dry_run):
        raise CommandError("usage", "--write changes a file, and not with --dry-run.")
    # What is no UTF-8 is written back as it was.
    text = (fetch_page(page).body if is_url else read_page(Path(page))).decode("utf-8", "surrogateescape")
    is_react = is_react_source(text)
    form = _chosen(forms_of(as_html(text) if is_react else text), nth)
    was = moved_of(text) if is_react else service_of(form)
    fields, left = fields_of(form)
    session = open_session()
    if form.attributes.get("action", "").startswith(f"{session.url}/"):
        raise CommandError("moved_already", f"The form in line {form.line} posts to {session.url} already.")
    document = {"name": _title(form), "status": "published", "fields": fields}
    made, is_taken = _make(session.client(), document, was, is_dry=dry_run)
    left += [{"name": "address", "reason": ADDRESS_TAKEN}] if is_taken else []
    left += [{"name": "useForm", "reason": NO_ID}] if is_react and was is None else []
    address = f"{session.url}/f/{made.get('address') or made.get('id') or 'frm_…'}"
    changed, changes = moved_source(text, address) if is_react else _rewritten(text, form, was, address)
    if write:
        Path(page).write_bytes(changed.encode("utf-8", "surrogateescape"))
    result = {"form": made, "changes": changes, "notCarriedOver": left}
    show(result, lambda: "\n".join([*_text(result, address), *_next_steps(made, is_react=is_react, is_dry=dry_run)]))


def _chosen(forms: list[PageForm], nth: int | None) -> PageForm:
    """Return the form that is meant: the nth, else the one of a known service, else the only one."""
    if nth is not None:
        if nth > len(forms):
            raise CommandError("no_form", f"The page has {len(forms)} forms with inputs.")
        return forms[nth - 1]
    known = [form for form in forms if service_of(form)]
    candidates = known or forms
    if len(candidates) > 1:
        lines = ", ".join(f"{forms.index(form) + 1} in line {form.line}" for form in candidates)
        raise CommandError("several_forms", f"The page has several forms: say --nth with one of {lines}.")
    if not candidates:
        raise CommandError("no_form", NO_FORM)
    return candidates[0]


def _title(form: PageForm) -> str:
    return (form.title or form.attributes.get("name") or "Contact").strip()[:MAX_TITLE] or "Contact"


def _make(client: Client, document: dict[str, Any], was: Moved | None, *, is_dry: bool) -> tuple[dict[str, Any], bool]:
    """Return the new form, or the document of a dry run, and whether it could not have the old id as its address."""
    if was is None or not ADDRESS.fullmatch(was.id):
        return _send(client, document, is_dry=is_dry), False
    try:
        return _send(client, {**document, "address": was.id}, is_dry=is_dry), False
    except APIError as error:
        is_address = error.status == 409 or [one["field"] for one in error.details] == ["address"]
        if not is_address:
            raise
        return _send(client, document, is_dry=is_dry), True


def _send(client: Client, document: dict[str, Any], *, is_dry: bool) -> dict[str, Any]:
    if is_dry:
        path, query = f"/api/forms/by-key/{secrets.token_hex(16)}", {"dryRun": "true"}
        answer = client.transport.request("PUT", path, query=query, json_body=document)
        tried: dict[str, Any] = answer.data["document"]
        return {name: value for name, value in tried.items() if name != "key"}
    made: dict[str, Any] = client.transport.request("POST", "/api/forms", json_body=document).data
    return made


def _rewritten(text: str, form: PageForm, was: Moved | None, address: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the page with its new tag, also where scripts name the old endpoint, and the changes by line."""
    tag, end = new_tag(form, address), form.start + len(form.tag)
    changes = [{"line": form.line, "before": form.tag, "after": tag}]
    before, after = text[: form.start], text[end:]
    if was and was.endpoint and was.id:  # it is of this form only
        endpoint = re.compile(re.escape(was.endpoint) + r"(?![\w-])")
        for part, first in ((before, 1), (after, form.line + form.tag.count("\n"))):
            changes += [
                {"line": number, "before": line.strip(), "after": endpoint.sub(address, line).strip()}
                for number, line in enumerate(part.split("\n"), first)
                if endpoint.search(line)
            ]
        before, after = endpoint.sub(address, before), endpoint.sub(address, after)
    return before + tag + after, sorted(changes, key=lambda one: int(str(one["line"])))


def _text(result: dict[str, Any], address: str) -> list[str]:
    fields = ", ".join(f"{one['name']} ({one['type']})" for one in result["form"]["fields"])
    lines = [printable(f"The form {result['form']['name']}: {address}"), printable(f"Fields: {fields}")]
    for change in result["changes"]:
        lines += [
            f"line {change['line']}",
            click.style(f"- {printable(change['before'])}", fg="red"),
            click.style(f"+ {printable(change['after'])}", fg="green"),
        ]
    left = [printable(f"Not carried over: {one['name']}. {one['reason']}") for one in result["notCarriedOver"]]
    return [*lines, *left]


def _next_steps(form: dict[str, Any], *, is_react: bool, is_dry: bool) -> list[str]:
    """Return what the page had and the form has not, to be done by hand."""
    if is_dry:
        return ["Nothing is made or changed yet."]
    packages = ["Then: npm install @fieldpost/react, and npm uninstall @formspree/react."] if is_react else []
    return [
        *packages,
        "Mails: nobody gets any yet. Add addresses in the form's notifications.",
        f"Old submissions: fieldpost submissions import FILE --form {form['key']}",
    ]
