"""
The field types and everything that depends on one: how it is drawn, checked and filled with examples.

To add a type, add a member to `FieldType` and its row to `KINDS`; every other module looks it up here.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from django.db import models
from django.utils.translation import gettext_lazy, pgettext_lazy

from forms_app.formats import is_date, is_email, is_number, is_url

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class FieldType(models.TextChoices):
    """The names of the types on the wire (docs/contract.md 4)."""

    TEXT = "Text"
    EMAIL = "Email"
    TEXTAREA = "Textarea"
    NUMBER = "Number"
    PHONE = "Phone"
    URL = "URL"
    DATE = "Date"
    SELECT = "Select"
    CHECKBOX = "Checkbox"
    HIDDEN = "Hidden"
    FILE = "File"


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """The format of a value: the error `code`, its message with a place for the `label`, and the test of one value."""

    code: str
    message: "StrOrPromise"
    passes: Callable[[str], bool]


@dataclasses.dataclass(frozen=True, slots=True)
class FieldKind:
    """
    Everything about the field type `name`, which people read as `label`.

    `control` and `input_type`: how it is drawn; `input_type` is the `type` of an `<input>`, "" for other elements.
    `direction`: the `dir` of its input; "" leaves the page's.
    `html_types`: other types of inputs in pasted HTML that become it, besides its own; `select`, `textarea` as well.
    `takes_options`: a definition may have a list of options; `needs_options`: it must, and a value must be one of them.
    `takes_files`: its values are files; in JSON their ids.
    `check`: the format of its values; None: any text.
    `new_label`: the label of a new field in the builder.
    `example`: a value in the snippets; `test_value`: the value in a webhook's test event. Both pass `check`.
    """

    name: str
    label: "StrOrPromise"
    new_label: "StrOrPromise"
    control: Literal["input", "textarea", "select", "checkbox", "hidden", "file"] = "input"
    input_type: str = "text"
    direction: Literal["", "auto", "ltr"] = ""
    html_types: tuple[str, ...] = ()
    takes_options: bool = False
    needs_options: bool = False
    takes_files: bool = False
    check: Check | None = None
    example: str = "Hello"
    test_value: str = "Test"


_EMAIL = Check("invalid_email", gettext_lazy("%(label)s must be an email address."), is_email)
_NUMBER = Check("invalid_number", gettext_lazy("%(label)s must be a number."), is_number)
_URL = Check("invalid_url", gettext_lazy("%(label)s must be a URL that begins with http:// or https://."), is_url)
_DATE = Check("invalid_date", gettext_lazy("%(label)s must be a date in the form YYYY-MM-DD."), is_date)
_ADDRESS, _SITE, _DAY = "ada@example.com", "https://example.com", "2026-01-31"
_ROWS = [
    FieldKind(
        FieldType.TEXT.value,
        pgettext_lazy("a type of field", "Text"),
        gettext_lazy("Text"),
        direction="auto",
        html_types=("search",),
    ),
    FieldKind(
        FieldType.EMAIL.value,
        pgettext_lazy("a type of field", "Email"),
        gettext_lazy("Email"),
        input_type="email",
        direction="ltr",
        check=_EMAIL,
        example=_ADDRESS,
        test_value=_ADDRESS,
    ),
    FieldKind(
        FieldType.TEXTAREA.value,
        pgettext_lazy("a type of field", "Textarea"),
        gettext_lazy("Message"),
        control="textarea",
        input_type="",
    ),
    FieldKind(
        FieldType.NUMBER.value,
        pgettext_lazy("a type of field", "Number"),
        gettext_lazy("Number"),
        input_type="number",
        direction="ltr",
        html_types=("range",),
        check=_NUMBER,
        example="42",
        test_value="42",
    ),
    FieldKind(
        FieldType.PHONE.value,
        pgettext_lazy("a type of field", "Phone"),
        gettext_lazy("Phone"),
        input_type="tel",
        direction="ltr",
        example="+44 20 7946 0000",
    ),
    FieldKind(
        FieldType.URL.value,
        pgettext_lazy("a type of field", "URL"),
        gettext_lazy("Website"),
        input_type="url",
        direction="ltr",
        check=_URL,
        example=_SITE,
        test_value=_SITE,
    ),
    FieldKind(
        FieldType.DATE.value,
        pgettext_lazy("a type of field", "Date"),
        gettext_lazy("Date"),
        input_type="date",
        check=_DATE,
        example=_DAY,
        test_value=_DAY,
    ),
    FieldKind(
        FieldType.SELECT.value,
        pgettext_lazy("a type of field", "Select"),
        gettext_lazy("Choose one"),
        control="select",
        input_type="",
        html_types=("radio",),
        takes_options=True,
        needs_options=True,
    ),
    FieldKind(
        FieldType.CHECKBOX.value,
        pgettext_lazy("a type of field", "Checkbox"),
        gettext_lazy("I agree"),
        control="checkbox",
        input_type="checkbox",
        html_types=("select-multiple",),
        takes_options=True,
        example="yes",  # as the hosted page sends it
        test_value="yes",
    ),
    FieldKind(
        FieldType.HIDDEN.value,
        pgettext_lazy("a type of field", "Hidden"),
        gettext_lazy("Source"),
        control="hidden",
        input_type="hidden",
    ),
    FieldKind(
        FieldType.FILE.value,
        pgettext_lazy("a type of field", "File"),
        gettext_lazy("File"),
        control="file",
        input_type="file",
        takes_files=True,
        example="upl_01ja0000000000000000000000",  # the id of a file that was uploaded before
        test_value="example.pdf",
    ),
]
KINDS: dict[str, FieldKind] = {row.name: row for row in _ROWS}


def kinds_by_html_type() -> dict[str, FieldKind]:
    """Return the kind that an input of pasted HTML becomes, by the input's type; `select` and `textarea` as well."""
    found = {kind.input_type or kind.control: kind for kind in reversed(KINDS.values())}  # of two, the first
    return found | {other: kind for kind in KINDS.values() for other in kind.html_types}


def kind_of(type_name: str) -> FieldKind:
    """Return the row of a type. Raises KeyError: stored definitions hold only known types."""
    return KINDS[type_name]


def find_kind(text: str) -> FieldKind | None:
    """Return the row of a type in any case, or None."""
    return next((kind for name, kind in KINDS.items() if name.lower() == text.lower()), None)
