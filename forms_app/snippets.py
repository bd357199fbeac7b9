"""
Snippets for the owner of a site: ready to paste, with a publishable key, never a secret one (docs/contract.md 3).

The component for React is in `forms_app.react_snippet`.
"""

import json
from html import escape

from django.conf import settings

from forms_app.field_definitions import GENERAL_FIELDS, FieldDefinition
from forms_app.field_kinds import kind_of
from forms_app.file_fields.entries import accept_attribute, example_file, has_files, takes_several
from forms_app.models import Form
from forms_app.script.view import current_builds
from keys.models import AccessKey, Organization


def publishable_key(organization: Organization, mode: str = AccessKey.Mode.LIVE) -> str:
    """Return the oldest usable publishable key of a mode, or an empty string."""
    keys = AccessKey.objects.usable().filter(organization=organization, kind=AccessKey.Kind.PUBLISHABLE, mode=mode)
    key = keys.order_by("id").first()
    return key.publishable_token if key else ""


def script_tag(form: Form, key: str, *, pinned: bool = False) -> str:
    """Return the script tag; with `pinned`, of exactly this version, which the browser checks by its hash (SRI)."""
    build = current_builds()["forms.js"]
    attributes = {"src": f"{settings.PAGES_URL or settings.PUBLIC_URL}/{build['file'] if pinned else 'forms.js'}"}
    if pinned:
        attributes |= {"integrity": build["integrity"], "crossorigin": "anonymous"}
    return f"<script{_attributes({**attributes, 'data-key': key, 'data-form-id': form.public_id})}></script>"


def post_url(form: Form, test_key: str) -> str:
    """Return where a page posts, which needs no key; with a publishable test key, what it sends is test data."""
    return f"{form.url}?test={test_key}" if test_key else form.url


def plain_html(form: Form, test_key: str = "") -> str:
    """Return an HTML form that posts to the hosted page, without a script."""
    multipart = {"enctype": "multipart/form-data"} if has_files(form.fields) else {}
    return _html(form, {"action": post_url(form, test_key), "method": "post", **multipart})


def scripted_html(form: Form) -> str:
    """Return an HTML form for a page with the script tag, which sends it."""
    return _html(form, {})


def _html(form: Form, attributes: dict[str, str]) -> str:
    rows = [_row(field) for field in form.fields or GENERAL_FIELDS]
    button = f"  <button>{escape(form.button_label or 'Send')}</button>"
    return "\n".join([f"<form{_attributes(attributes)}>", *rows, button, "</form>"])


def _row(field: FieldDefinition) -> str:
    if kind_of(field["type"]).control == "hidden":
        return f"  {_input(field)}"  # a label would be seen
    if kind_of(field["type"]).control == "checkbox" and field.get("options"):
        boxes = "".join(
            f"\n    <label><input{_attributes({'type': 'checkbox', 'name': field['name'], 'value': option})}>"
            f" {escape(option)}</label>"
            for option in field["options"]
        )
        return f"  <fieldset>\n    <legend>{escape(field['label'])}</legend>{boxes}\n  </fieldset>"
    return f"  <label>{escape(field['label'])} {_input(field)}</label>"


def _input(field: FieldDefinition) -> str:
    required, kind = " required" if field["required"] else "", kind_of(field["type"])
    if kind.control == "textarea":
        return f"<textarea{_attributes({'name': field['name']})}{required}></textarea>"
    if kind.control == "select":
        # Without the empty option, visitors who choose nothing would send the first one.
        empty = f'<option value="">{escape(field.get("placeholder") or "Choose…")}</option>'
        options = empty + "".join(f"<option>{escape(option)}</option>" for option in field["options"])
        return f"<select{_attributes({'name': field['name']})}{required}>{options}</select>"
    extra = {"checkbox": {"value": kind.example}, "number": {"step": "any"}}.get(kind.input_type, {})
    several = " multiple" if takes_several(field) else ""
    attributes = {"type": kind.input_type, "name": field["name"], **extra, **accept_attribute(field)}
    return f"<input{_attributes(attributes)}{several}{required}>"


def _attributes(values: dict[str, str]) -> str:
    """
    Return HTML attributes, as plain text.

    Not Django's `format_html`: its result is marked as safe, so a page that shows a snippet would run it.
    """
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def fetch_call(form: Form, key: str) -> str:
    """Return JavaScript that submits example values; with files those of a form of the page (`key`: of tests)."""
    if has_files(form.fields):
        return (
            'const form = document.querySelector("form");\n'
            f'await fetch("{post_url(form, key)}", {{\n'
            '  method: "POST",\n'
            '  headers: { Accept: "application/json" },\n'
            "  body: new FormData(form),\n"
            "});"
        )
    body = json.dumps(example_values(form), ensure_ascii=False)
    return (
        f'await fetch("{settings.PUBLIC_URL}/api/submit?formId={form.public_id}", {{\n'
        '  method: "POST",\n'
        f'  headers: {{ "Content-Type": "application/json", "x-access-key": "{key}" }},\n'
        f"  body: JSON.stringify({body}),\n"
        "});"
    )


def curl_command(form: Form, key: str) -> str:
    """Return a shell command, in one line, that submits example values; with files as a page does (`key`: of tests)."""
    if has_files(form.fields):
        parts = "".join(f" {_curl_part(field)}" for field in form.fields)
        return f"curl '{post_url(form, key)}' -H 'Accept: application/json'{parts}"
    body = _in_quotes(json.dumps(example_values(form), ensure_ascii=False))
    return (
        f"curl '{settings.PUBLIC_URL}/api/submit?formId={form.public_id}'"
        f" -H 'x-access-key: {key}' -H 'Content-Type: application/json' -d {body}"
    )


def _curl_part(field: FieldDefinition) -> str:
    """Return an option for a part of multipart. `--form-string`, since `-F` reads files for values with `@` or `<`."""
    if kind_of(field["type"]).takes_files:
        return f"-F {_in_quotes(field['name'] + '=@' + example_file(field))}"
    return f"--form-string {_in_quotes(field['name'] + '=' + _example_value(field))}"


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def example_values(form: Form) -> dict[str, str]:
    """Return an example value for each field, which the form accepts."""
    return {field["name"]: _example_value(field) for field in form.fields or GENERAL_FIELDS}


def _example_value(field: FieldDefinition) -> str:
    return (field.get("options") or [kind_of(field["type"]).example])[0]


def test_values(form: Form) -> dict[str, str]:
    """Return a value for each field, which the form accepts and people recognize as a test."""
    values = {}
    for field in form.fields:
        kind = kind_of(field["type"])
        options = field.get("options") or [example_file(field) if kind.takes_files else kind.test_value]
        values[field["name"]] = options[0]
    return values or {"message": "This is a test."}


def environment_line(token: str) -> str:
    """Return the line for an `.env` file, which keeps a secret key out of the code."""
    return f"FIELDPOST_ACCESS_KEY={token}"
