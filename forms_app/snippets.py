"""What a site owner pastes: ready to use, with a publishable key, never with a secret one (CONTRACT section 3)."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils.html import format_html

from forms_app.browser_script import current_builds
from forms_app.field_definitions import FieldType
from forms_app.models import Form
from keys.models import AccessKey, Organization

GENERAL_FIELDS: Sequence[dict[str, Any]] = (  # of a form that takes any values
    {"name": "email", "label": "Email", "type": FieldType.EMAIL, "required": True},
    {"name": "message", "label": "Message", "type": FieldType.TEXTAREA, "required": True},
)
EXAMPLES = {FieldType.EMAIL: "ada@example.com", FieldType.NUMBER: "7", FieldType.DATE: "2026-01-31"}


def publishable_key(organization: Organization) -> str:
    """Return the oldest publishable key in use, or "" when there is none."""
    keys = AccessKey.objects.usable().filter(organization=organization, kind=AccessKey.Kind.PUBLISHABLE)
    key = keys.order_by("id").first()
    return key.publishable_token if key else ""


def script_tag(form: Form, key: str, *, pinned: bool = False) -> str:
    """Return the script tag; `pinned` to this very version, which the browser then checks by its hash (SRI)."""
    build = current_builds()["forms.js"]
    return str(
        format_html(
            '<script src="{}/{}"{} data-key="{}" data-form-id="{}"></script>',
            settings.PUBLIC_URL,
            build["file"] if pinned else "forms.js",
            format_html(' integrity="{}" crossorigin="anonymous"', build["integrity"]) if pinned else "",
            key,
            form.public_id,
        )
    )


def plain_html(form: Form) -> str:
    """Return a form that posts to its hosted address, without any script or key."""
    rows = [_html_field(field) for field in form.fields or GENERAL_FIELDS]
    opening = format_html('<form action="{}" method="post">', form.url)
    return "\n".join([str(opening), *rows, "  <button>Send</button>", "</form>"])


def _html_field(field: dict[str, Any]) -> str:
    required = " required" if field["required"] else ""
    if field["type"] == FieldType.TEXTAREA:
        return str(
            format_html(
                '  <label>{} <textarea name="{}"{}></textarea></label>', field["label"], field["name"], required
            )
        )
    kind = {FieldType.EMAIL: "email", FieldType.NUMBER: "number", FieldType.DATE: "date", FieldType.URL: "url"}
    if field["type"] == FieldType.SELECT:
        options = "".join(str(format_html("<option>{}</option>", option)) for option in field.get("options", []))
        return (
            str(format_html('  <label>{} <select name="{}"{}>', field["label"], field["name"], required))
            + options
            + "</select></label>"
        )
    input_type = "checkbox" if field["type"] == FieldType.CHECKBOX else kind.get(field["type"], "text")
    return str(
        format_html(
            '  <label>{} <input type="{}" name="{}"{}></label>', field["label"], input_type, field["name"], required
        )
    )


def fetch_call(form: Form, key: str) -> str:
    """Return JavaScript that submits."""
    body = json.dumps(example_values(form), ensure_ascii=False)
    return (
        f'await fetch("{settings.PUBLIC_URL}/api/submit?formId={form.public_id}", {{\n'
        '  method: "POST",\n'
        f'  headers: {{ "Content-Type": "application/json", "x-access-key": "{key}" }},\n'
        f"  body: JSON.stringify({body}),\n"
        "});"
    )


def curl_command(form: Form, key: str) -> str:
    """Return one line for a shell."""
    body = json.dumps(example_values(form), ensure_ascii=False).replace("'", "'\\''")
    return (
        f"curl '{settings.PUBLIC_URL}/api/submit?formId={form.public_id}'"
        f" -H 'x-access-key: {key}' -H 'Content-Type: application/json' -d '{body}'"
    )


def example_values(form: Form) -> dict[str, str]:
    """Return values that the form would take."""
    values = {}
    for field in form.fields or GENERAL_FIELDS:
        options = field.get("options") or [EXAMPLES.get(field["type"], "Hello")]
        values[field["name"]] = options[0]
    return values
