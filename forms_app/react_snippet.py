"""The snippet for React: a component with the inputs of a form, as docs/recipes.md has it for three fields."""

import json
import re

from forms_app.field_definitions import GENERAL_FIELDS, FieldDefinition
from forms_app.field_kinds import kind_of
from forms_app.file_fields.entries import accept_attribute, has_files, takes_several
from forms_app.models import Form
from forms_app.snippets import post_url

_PLAIN = re.compile(r"[\w .,:;!?()'/@+*#%…-]*")  # stands for itself in JSX text and in a quoted attribute
_COMPONENT = """\
import { useState } from "react";

const ADDRESS = %(address)s;

export default function Form() {
  const [state, setState] = useState("ready");
  const [problems, setProblems] = useState([]);

  async function send(event) {
    event.preventDefault();
    const body = new FormData(event.currentTarget);
    setState("sending");
    setProblems([]);
    try {
      const response = await fetch(ADDRESS, { method: "POST", headers: { Accept: "application/json" }, body });
      const answer = await response.json();
      if (response.ok) {
        setState("sent");
        return;
      }
      setProblems(answer.errors?.map((one) => one.message) ?? [answer.message]);
    } catch {
      setProblems(["Could not send. Check your connection and try again."]);
    }
    setState("ready");
  }

  if (state === "sent") return <p role="status">Thank you.</p>;
  return (
    <form action={ADDRESS} method="post"%(multipart)s onSubmit={send}>
%(rows)s
      {problems.length > 0 && <p role="alert">{problems.join(" ")}</p>}
      <button disabled={state === "sending"}>%(button)s</button>
    </form>
  );
}"""


def react_component(form: Form, test_key: str = "") -> str:
    """Return a component that posts to the hosted page, with a script or without, and shows the service's messages."""
    rows = [line for field in form.fields or GENERAL_FIELDS for line in _row(field)]
    parts = {"address": json.dumps(post_url(form, test_key)), "button": _text(form.button_label or "Send")}
    multipart = ' encType="multipart/form-data"' if has_files(form.fields) else ""  # while its script has not loaded
    return _COMPONENT % {**parts, "multipart": multipart, "rows": "\n".join(f"      {row}" for row in rows)}


def _row(field: FieldDefinition) -> list[str]:
    kind = kind_of(field["type"])
    if kind.control == "hidden":
        return [_input(field)]  # a label would be seen
    if kind.control == "checkbox":
        if field.get("options"):
            boxes = [f"  <label>{_box(field, option)} {_text(option)}</label>" for option in field["options"]]
            return ["<fieldset>", f"  <legend>{_text(field['label'])}</legend>", *boxes, "</fieldset>"]
        return [f"<label>{_input(field)} {_text(field['label'])}</label>"]
    first, *others = _input(field).split("\n")
    return ["<label>", f"  {_text(field['label'])} {first}", *(f"  {line}" for line in others), "</label>"]


def _box(field: FieldDefinition, option: str) -> str:
    return f'<input type="checkbox"{_attributes({"name": field["name"], "value": option})} />'


def _input(field: FieldDefinition) -> str:
    """Return the control, on several lines if it has options."""
    required, kind = " required" if field["required"] else "", kind_of(field["type"])
    name = {"name": field["name"]}
    if kind.control == "textarea":
        return f"<textarea{_attributes(name)}{required} />"
    if kind.control == "select":
        empty = f'  <option value="">{_text(field.get("placeholder") or "Choose…")}</option>'
        options = [f"  <option>{_text(option)}</option>" for option in field["options"]]
        return "\n".join([f"<select{_attributes(name)}{required}>", empty, *options, "</select>"])
    extra = {"checkbox": {"value": kind.example}, "number": {"step": "any"}}.get(kind.input_type, {})
    several = " multiple" if takes_several(field) else ""
    attributes = {"type": kind.input_type, **name, **extra, **accept_attribute(field)}
    return f"<input{_attributes(attributes)}{several}{required} />"


def _attributes(values: dict[str, str]) -> str:
    return "".join(f" {name}={_quoted(value)}" for name, value in values.items())


def _quoted(value: str) -> str:
    return f'"{value}"' if _PLAIN.fullmatch(value) else f"{{{json.dumps(value, ensure_ascii=False)}}}"


def _text(value: str) -> str:
    """Return text between tags. JSX drops blanks at line ends and reads braces and entities: others are strings."""
    if _PLAIN.fullmatch(value) and value == value.strip():
        return value
    return f"{{{json.dumps(value, ensure_ascii=False)}}}"
