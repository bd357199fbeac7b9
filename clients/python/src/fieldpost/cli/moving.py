"""Moving a form of a page from another service: its fields, its new tag, and what is not carried over."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from fieldpost.cli.page_forms import Input, PageForm

# Addresses of other services with the id of a form, where they have one.
SERVICES = {
    name: re.compile(r"https?://" + pattern, re.ASCII)
    for name, pattern in {
        "Formspree": r"(?:www\.)?formspree\.io/(?:f|p/[\w-]+/f)/(?P<id>[\w-]+)",
        "Basin": r"(?:www\.)?usebasin\.com/f/(?P<id>[\w-]+)(?:\.json)?",
        "Web3Forms": r"api\.web3forms\.com/submit",
        "Google Forms": r"docs\.google\.com/forms/(?:u/\d+/)?d/e/(?P<id>[\w-]+)/formResponse",
        "Getform": r"(?:getform\.io/f|forms\.getform\.com)/(?P<id>[\w-]+)",
        "Formcarry": r"formcarry\.com/s/(?P<id>[\w-]+)",
        "FormSubmit": r"formsubmit\.co/(?:ajax/)?[\w.@%+-]+",
    }.items()
}
NETLIFY = ("netlify", "data-netlify")
NETLIFY_OWN = (*NETLIFY, "netlify-honeypot", "data-netlify-honeypot", "data-netlify-recaptcha")
ADDRESS = re.compile(r"[a-z0-9-]{3,64}")
HONEYPOTS = frozenset({"_gotcha", "_honey", "botcheck", "bot-field", "honeypot"})
# Hidden inputs that go on working where the service has the same, or do nothing.
CONTROLS = frozenset(
    {
        *("_next", "_redirect", "redirect", "redirectTo", "_subject", "subject", "_replyto", "replyto", "replyTo"),
        *("_webhook", "access_key", "accessKey", "apiKey", "apikey", "form-name", "_charset_", "_language", "_format"),
        *("fvv", "partialResponse", "pageHistory", "fbzx", "submissionTimestamp"),  # of Google Forms
    }
)
NOT_CARRIED = {
    "_cc": "A page mails nobody: add the address to the recipients of the form.",
    "ccemail": "A page mails nobody: add the address to the recipients of the form.",
    "_autoresponse": "A page writes no mails: set the reply of the form.",
    "_template": "Mails have one design.",
    "_captcha": "The form says which checks it has: see its spam settings.",
    "_blacklist": "Set the blocked words in the form's spam settings.",
    "from_name": "It is stored as a value: set the sender name of the form.",
    "webhook": "It is stored as a value: add a webhook of the form.",
}
CAPTCHA = "The form has no captcha yet: set its site key and secret in the form's spam settings."
TYPES = {
    "email": "Email",
    "tel": "Phone",
    "number": "Number",
    "range": "Number",
    "url": "URL",
    "date": "Date",
    "textarea": "Textarea",
    "select": "Select",
    "select-multiple": "Checkbox",
    "radio": "Select",
    "checkbox": "Checkbox",
    "hidden": "Hidden",
    "file": "File",
}
NO_FIELDS = frozenset({"submit", "button", "reset", "image"})
MAX_LABEL, MAX_NAME, MAX_PLACEHOLDER = 200, 128, 500
MAX_FILES = 10
_ATTRIBUTE = re.compile(r"""\s+([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")


@dataclass(frozen=True)
class Moved:
    """Where a form was: the service, its endpoint, and the form's id there."""

    service: str
    endpoint: str = ""
    id: str = ""


def service_of(form: PageForm) -> Moved | None:
    """Return where a form is sent to now, or None if that is no service that is known."""
    action = form.attributes.get("action", "")
    for name, pattern in SERVICES.items():
        if match := pattern.match(action):
            return Moved(name, match[0], match.groupdict().get("id") or "")
    return Moved("Netlify") if any(name in form.attributes for name in NETLIFY) else None


def fields_of(form: PageForm) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the fields of a form, and what is not carried over, `{name, reason}`."""
    fields: dict[str, dict[str, Any]] = {}
    left = dict.fromkeys(form.captchas, CAPTCHA)
    honeypot = form.attributes.get("netlify-honeypot") or form.attributes.get("data-netlify-honeypot")
    for one in form.inputs:
        name = one.name.strip()
        if name in NOT_CARRIED and one.type == "hidden":
            left[name] = NOT_CARRIED[name]
        elif one.type == "password":
            left[name] = "Passwords are not collected: a form has no field for them."
        elif not name or one.type in NO_FIELDS or name in HONEYPOTS or name == honeypot:
            continue
        elif len(name) > MAX_NAME:
            left[name[:MAX_NAME]] = "The name has more than 128 characters."
        elif name.startswith("_") or (one.type == "hidden" and name in CONTROLS):
            continue
        else:
            _add(fields, name, one)
    if honeypot and honeypot not in HONEYPOTS:
        left[honeypot] = "It is no honeypot here: rename the input to _gotcha."
    made = [_finished(one) for one in fields.values()]
    return made, [{"name": name, "reason": reason} for name, reason in left.items()]


def _add(fields: dict[str, dict[str, Any]], name: str, one: Input) -> None:
    options = [value for value, _ in one.options if value.strip()]
    if one.type in ("checkbox", "radio"):
        options = [one.attributes.get("value", "on")]
    if name in fields:  # another box or button of a group, or the name of several inputs
        fields[name].setdefault("options", []).extend(options)
        fields[name]["label"] = one.group[:MAX_LABEL] or fields[name]["label"]
        return
    label = one.label or one.attributes.get("aria-label") or _caption(one) or _words(name)
    made: dict[str, Any] = {
        "name": name,
        "label": label.rstrip(" *:")[:MAX_LABEL] or name,
        "type": TYPES.get(one.type, "Text"),
    }
    made["required"] = "required" in one.attributes and one.type != "hidden"
    if placeholder := one.attributes.get("placeholder"):
        made["placeholder"] = placeholder[:MAX_PLACEHOLDER]
    if options:
        made["options"] = options
    if one.type == "file":
        made |= {"maxFiles": MAX_FILES} if "multiple" in one.attributes else {}
        accept = [part.strip() for part in one.attributes.get("accept", "").split(",") if part.strip()]
        made |= {"accept": accept} if accept else {}
    fields[name] = made


def _finished(made: dict[str, Any]) -> dict[str, Any]:
    """Return a field as the service takes it."""
    options = list(dict.fromkeys(made.pop("options", [])))
    if made["type"] in ("Select", "Checkbox") and options and options != ["on"]:
        return {**made, "options": options}
    return {**made, "type": "Text"} if made["type"] == "Select" else made


def new_tag(form: PageForm, address: str) -> str:
    """Return the start tag with the new address; a thank-you page of Netlify becomes an input `_next`."""
    has_files = any(one.type == "file" for one in form.inputs)
    wanted = {"action": address, "method": "post", **({"enctype": "multipart/form-data"} if has_files else {})}
    inner = form.tag[: -2 if form.tag.endswith("/>") else -1]
    kept = "".join(_attributes(inner, wanted))
    tag = f"{kept}{''.join(_written(name, value) for name, value in wanted.items() if name not in _names(inner))}>"
    was = service_of(form)
    thanks = form.attributes.get("action", "") if was and was.service == "Netlify" else ""
    return tag + (f'<input type="hidden" name="_next" value="{escape(thanks)}">' if thanks else "")


def _attributes(inner: str, wanted: dict[str, str]) -> Iterator[str]:
    yield inner[: len("<form")]
    for match in _ATTRIBUTE.finditer(inner):
        name = match[1].lower()
        if name in wanted:
            space = match[0][: len(match[0]) - len(match[0].lstrip())]
            yield space + _written(name, wanted[name]).lstrip()
        elif name not in NETLIFY_OWN:
            yield match[0]


def _names(inner: str) -> set[str]:
    return {match[1].lower() for match in _ATTRIBUTE.finditer(inner)}


def _written(name: str, value: str) -> str:
    return f' {name}="{escape(value)}"'


def _caption(one: Input) -> str:
    """Return the placeholder of an input, if it names the value: `you@example.com` and `+1 555` are examples of one."""
    placeholder = one.attributes.get("placeholder", "")
    return "" if any(char.isdigit() or char in "@/" for char in placeholder) else placeholder


def _words(name: str) -> str:
    words = " ".join(re.sub(r"[^\w]|_", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).split()).lower()
    return words[:1].upper() + words[1:]
