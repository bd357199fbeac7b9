"""The fields that pasted HTML becomes, and the reasons for inputs that become none."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from django.utils.translation import gettext

from config.api.errors import ValidationFailed
from config.api.serializers import validate
from dashboard.pages.new_forms.pasted_html import FoundInput, PastedPage, words_of
from forms_app.document.fields import MAX_OPTIONS, FieldDefinitionSerializer
from forms_app.field_definitions import (
    CAPTCHA_FIELDS,
    MAX_FIELDS,
    MAX_FILES,
    MAX_NAME,
    MAX_PLACEHOLDER,
    PAGE_CONTROL_FIELDS,
    is_framework_field,
)
from forms_app.field_kinds import FieldKind, FieldType, kind_of, kinds_by_html_type
from forms_app.file_fields.entries import MAX_ACCEPT, InvalidEntry, entry_of

SECRETS = ("cc-", "one-time-code")  # autocomplete; forms.js never sends them (docs/pages.md)
MAX_SHOWN = 50  # inputs that are left out


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """Why an input of the page becomes no field, or another than it was."""

    name: str
    text: str


@dataclasses.dataclass(slots=True)
class FoundFields:
    """Field definitions, the inputs that are left out, and remarks on those that change."""

    fields: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    left_out: list[Reason] = dataclasses.field(default_factory=list)
    remarks: list[Reason] = dataclasses.field(default_factory=list)

    @property
    def more_left_out(self) -> int:
        return max(0, len(self.left_out) - MAX_SHOWN)

    @property
    def shown_left_out(self) -> list[Reason]:
        return self.left_out[:MAX_SHOWN]


def fields_from(page: PastedPage, *, taken: Collection[str] = (), may_require: bool = True) -> FoundFields:
    """
    Return the fields for the inputs of a page, in its order, under the names that the page sends.

    `taken`: the names that the form has. `may_require`: whether its fields can be required.
    """
    by_hand = gettext("A custom element: add its field by hand.")
    found = FoundFields(left_out=[Reason(name, by_hand) for name in page.custom])
    by_name: dict[str, list[FoundInput]] = {}
    for one in page.inputs:
        by_name.setdefault(one.name, []).append(one)
    nameless = by_name.pop("", [])
    for name, inputs in by_name.items():
        reason = _reason_against(name, inputs, taken)
        if not reason and len(taken) + len(found.fields) >= MAX_FIELDS:
            reason = gettext("A form has at most %(number)s fields.") % {"number": MAX_FIELDS}
        if reason:
            found.left_out.append(Reason(name[:MAX_NAME], reason))
        else:
            _add(found, name, inputs, may_require=may_require)
    unsent = gettext("Without a name, browsers do not send it.")
    found.left_out += [Reason(one.label or one.type, unsent) for one in nameless]
    return found


def _reason_against(name: str, inputs: Sequence[FoundInput], taken: Collection[str]) -> str:
    """Return why inputs become no field; "" if they may."""
    first = inputs[0]
    is_control = name in PAGE_CONTROL_FIELDS or name in CAPTCHA_FIELDS
    reasons = [
        (gettext("A form must not ask for passwords."), first.type == "password"),
        (gettext("Disabled inputs are not sent."), all(one.disabled for one in inputs)),
        (gettext("Card numbers and one-time codes are never sent."), first.autocomplete.startswith(SECRETS)),
        (gettext("A control field: it is used, and not stored."), is_control),
        (gettext("A token of a framework."), is_framework_field(name)),
        (gettext("The form has a field with this name."), name in taken),
    ]
    return next((reason for reason, holds in reasons if holds), "")


def _add(found: FoundFields, name: str, inputs: Sequence[FoundInput], *, may_require: bool) -> None:
    kind = kinds_by_html_type().get(inputs[0].type)
    field, remark = _choice(name, inputs, kind) if kind and kind.takes_options else _single(name, inputs, kind)
    field["required"] = any(one.required for one in inputs)
    if field["required"] and not may_require:
        field["required"] = False
        remark = gettext("Optional, because the default form cannot require a field.")
    try:
        found.fields.append(dict(validate(FieldDefinitionSerializer(data=field))))
    except ValidationFailed as failure:
        text = failure.details[0].sentence if failure.details else failure.message
        found.left_out.append(Reason(name[:MAX_NAME], text))
        return
    if remark:
        found.remarks.append(Reason(field["label"], remark))


def _single(name: str, inputs: Sequence[FoundInput], kind: FieldKind | None) -> tuple[dict[str, Any], str]:
    one = inputs[0]
    field = {"name": name, "label": one.label or words_of(name) or name, "type": (kind or kind_of(FieldType.TEXT)).name}
    if one.placeholder and one.placeholder != one.label and kind_of(field["type"]).control in ("input", "textarea"):
        field["placeholder"] = one.placeholder[:MAX_PLACEHOLDER]
    if kind and kind.takes_files:
        return _file(field, inputs)
    if kind:
        return field, ""
    return field, gettext("Text, because there is no field type for “%(type)s”.") % {"type": one.type[:30]}


def _file(field: dict[str, Any], inputs: Sequence[FoundInput]) -> tuple[dict[str, Any], str]:
    """Return a File with the types of the page's input, as far as files of them are ever taken."""
    wanted = [entry.strip() for entry in inputs[0].accept.split(",", MAX_ACCEPT)[:MAX_ACCEPT] if entry.strip()]
    accept, refused = [], []
    for text in wanted:
        try:
            accept.append(entry_of(text))
        except InvalidEntry:
            refused.append(text)
    several = len(inputs) > 1 or inputs[0].multiple
    found = {**field, **({"accept": accept} if accept else {}), **({"maxFiles": MAX_FILES} if several else {})}
    if not refused or refused == ["*/*"]:  # which is every type
        return found, ""
    return found, gettext("Without the type %(type)s, which no form accepts.") % {"type": refused[0][:30]}


def _choice(name: str, inputs: Sequence[FoundInput], kind: FieldKind) -> tuple[dict[str, Any], str]:
    """Return a Select or Checkbox. Its options are the values that the page sends."""
    first = inputs[0]
    is_select = first.type.startswith("select")
    if first.type == "checkbox" and len(inputs) == 1:
        return {"name": name, "label": first.label or words_of(name), "type": kind.name}, ""
    label = first.label if is_select else first.group or words_of(name)
    pairs = first.options if is_select else [(one.value, one.label) for one in inputs if one.type == first.type]
    options = list(dict.fromkeys(value for value, _ in pairs if value))
    field: dict[str, Any] = {"name": name, "label": label or name, "type": kind.name}
    if len(options) > MAX_OPTIONS:
        remark = gettext("Text, because it has %(number)s options and a %(type)s has at most %(most)s.")
        numbers = {"number": len(options), "type": kind.label, "most": MAX_OPTIONS}
        return {**field, "type": FieldType.TEXT.value}, remark % numbers
    if options:
        field["options"] = options
    blank = next((text for value, text in pairs if not value and text), "")
    if blank and kind.needs_options and is_select:
        field["placeholder"] = blank[:MAX_PLACEHOLDER]
    differ = any(value and text and value != text for value, text in pairs)
    return field, gettext("Its options are the values that your page sends, not their texts.") if differ else ""
