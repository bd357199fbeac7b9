"""
The addresses of other form services, and the examples of their documentation (docs/moving.md).

Only the address is ours: a form id or a publishable key in the place of theirs.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

FETCH_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclasses.dataclass(frozen=True)
class Example:
    """
    One documented post. `sent`: "urlencoded", "multipart" or "JSON". `stored`: the data that must result.

    `{form}` and `{key}` in the path and in values are the form's id and the organization's publishable key. `moved`:
    where the page goes next, as a path of the site at https://shop.example; "" for the thank-you page.
    """

    vendor: str
    path: str
    values: Mapping[str, Any]
    stored: Mapping[str, str]
    sent: str = "urlencoded"
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    moved: str = ""
    to_default_form: bool = False

    def __str__(self) -> str:
        return f"{self.vendor} {self.path} {self.sent}"


CONTACT = {"name": "John Doe", "email": "john@example.com", "message": "Hello, I would like to get in touch."}
JSON: dict[str, Any] = {"sent": "JSON", "headers": FETCH_JSON}
KEYED: dict[str, Any] = {"path": "/submit", "to_default_form": True}

EXAMPLES = [
    Example("Formspree", "/f/{form}", CONTACT, CONTACT),
    Example("Formspree", "/p/1234567890/f/{form}", CONTACT, CONTACT, **JSON),
    Example(
        "Web3Forms",
        values={"access_key": "{key}", **CONTACT, "botcheck": "", "redirect": "https://shop.example/thanks"},
        stored={**CONTACT, "botcheck": "", "redirect": "https://shop.example/thanks"},
        moved="/thanks",
        **KEYED,
    ),
    Example("Web3Forms", values={"access_key": "{key}", **CONTACT}, stored=CONTACT, **KEYED, **JSON),
    Example("StaticForms", values={"apiKey": "{key}", **CONTACT}, stored=CONTACT, **KEYED),
    Example("StaticForms", values={"accessKey": "{key}", **CONTACT}, stored=CONTACT, **KEYED, **JSON),
    Example("Getform", "/f/{form}", {**CONTACT, "_gotcha": ""}, CONTACT),
    Example("Getform", "/{form}", CONTACT, CONTACT, sent="multipart"),
    Example("Basin", "/f/{form}", {**CONTACT, "_redirect": "/thanks", "_gotcha": ""}, CONTACT, moved="/thanks"),
    Example("Basin", "/f/{form}.json", CONTACT, CONTACT, headers={"Accept": "*/*"}),
    Example("FormKeep", "/f/{form}", {"utf8": "✓", **CONTACT}, CONTACT),
    Example("Formcarry", "/s/{form}", {**CONTACT, "_gotcha": ""}, CONTACT),
    Example("Formcarry", "/s/{form}", CONTACT, CONTACT, **JSON),
    Example(
        "FormSubmit",
        "/{form}",
        {
            **CONTACT,
            "_next": "https://shop.example/thanks.html",
            "_subject": "New submission!",
            "_captcha": "false",
            "_template": "table",
            "_cc": "another@example.com",
            "_autoresponse": "your custom message",
            "_blacklist": "spammy pattern, banned term",
            "_honey": "",
        },
        {**CONTACT, "_honey": ""},
        moved="/thanks.html",
    ),
    Example(
        "FormSubmit",
        "/ajax/{form}",
        {"name": "FormSubmit", "message": "Hi"},
        {"name": "FormSubmit", "message": "Hi"},
        **JSON,
    ),
    Example("Netlify", "/f/{form}", {"form-name": "contact", "bot-field": "", **CONTACT}, {"bot-field": "", **CONTACT}),
    Example(
        "Contact Form 7",
        "/f/{form}",
        {"_wpcf7": "6", "_wpcf7_version": "5.9", "_wpcf7_unit_tag": "wpcf7-f6-o1", "your-name": "John Doe"},
        {"your-name": "John Doe"},
        sent="multipart",
    ),
]

# Every address by its name in `submissions.hosted.moved_urls`.
ADDRESSES = {
    "moved-key": "/submit",
    "moved-formcarry": "/s/{form}",
    "moved-project": "/p/project/f/{form}",
    "moved-ajax": "/ajax/{form}",
    "moved-id": "/{form}",
    "moved-lost": "/you@example.com",
    "root": "/",
}
