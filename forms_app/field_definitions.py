"""
Field definitions: names, limits, reserved names (docs/contract.md 4). Types are in `field_kinds`.

Stored on the form as a list of `{name, label, type, required, options?, placeholder?, help?}`; a File also has
`accept?` (media types such as `image/png` and `image/*`, extensions such as `.pdf`), `maxFiles?`, `maxBytes?`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

from django.utils.text import slugify

from forms_app.field_kinds import FieldType

MAX_FIELDS = 200
MAX_NAME = 128  # characters of a field's name
MAX_LABEL = 200  # characters
MAX_PLACEHOLDER = 500  # characters
MAX_HELP = 300  # characters
MAX_FILES = 10  # of a File field
DEFAULT_FILES = 1
MAX_FILE_BYTES = 25 * 1024 * 1024
DEFAULT_FILE_BYTES = 10 * 1024 * 1024

# Names that control a submission and are never data (docs/contract.md 5).
# `_charset_` is HTML's: the browser fills in the page's charset.
CONTROL_FIELDS = frozenset({"_formId", "_next", "_subject", "_replyto", "_gotcha", "_webhook", "_altcha", "_charset_"})
# The same on pages without our script: the control names of other services' forms (docs/moving.md).
PAGE_CONTROL_FIELDS = CONTROL_FIELDS | {
    *("_redirect", "_captcha", "_template", "_cc", "_autoresponse", "_blacklist", "access_key"),
}
CAPTCHA_FIELDS = frozenset({"g-recaptcha-response", "h-captcha-response", "cf-turnstile-response", "altcha"})

# Tokens and bookkeeping of frameworks, which their forms send with everything else (docs/moving.md).
_FRAMEWORK_FIELDS = frozenset(
    {
        "form-name",  # Netlify
        "csrfmiddlewaretoken",  # Django
        "__RequestVerificationToken",  # ASP.NET
        *("__VIEWSTATE", "__VIEWSTATEGENERATOR", "__EVENTVALIDATION", "__EVENTTARGET", "__EVENTARGUMENT"),
        *("authenticity_token", "utf8"),  # Rails
        *("_token", "_csrf", "_csrf_token"),  # Laravel, Spring and Express, Phoenix and Symfony
        *("_wpnonce", "_wp_http_referer"),  # WordPress
        *("form_build_id", "form_token"),  # Drupal
    }
)


def is_framework_field(name: str) -> bool:
    """Return whether a name is a framework's own: dropped on pages, unless the form declares it."""
    return name in _FRAMEWORK_FIELDS or name.startswith("_wpcf7")  # Contact Form 7


class FieldDefinition(TypedDict):
    """One field of a form, as stored and as in the API."""

    name: str
    label: str
    type: str
    required: bool
    options: NotRequired[list[str]]
    placeholder: NotRequired[str]
    help: NotRequired[str]
    accept: NotRequired[list[str]]
    maxFiles: NotRequired[int]
    maxBytes: NotRequired[int]


# A form without fields accepts any values; its hosted page and its snippets use these.
GENERAL_FIELDS: list[FieldDefinition] = [
    {"name": "email", "label": "Email", "type": FieldType.EMAIL.value, "required": False},
    {"name": "message", "label": "Message", "type": FieldType.TEXTAREA.value, "required": True},
]


def fill_in_names(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the fields with a name each: the given one, else a slug of the label, else `field_N`.

    N is the field's position from 1, or the next free number. Given names take precedence over generated ones.
    """
    taken = {field["name"] for field in fields if field.get("name")}
    named = []
    for place, field in enumerate(fields, start=1):
        name = field.get("name") or _free_name(slugify(field["label"])[:MAX_NAME], place, taken)
        taken.add(name)
        named.append({"name": name, **{key: value for key, value in field.items() if key != "name"}})
    return named


def _free_name(slug: str, place: int, taken: set[str]) -> str:
    if slug and slug not in taken and slug not in CAPTCHA_FIELDS:  # values of captcha fields are not stored
        return slug
    while f"field_{place}" in taken:
        place += 1
    return f"field_{place}"


def first_duplicate(names: Iterable[str]) -> str | None:
    """Return a name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
