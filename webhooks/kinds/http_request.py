"""Any HTTP endpoint: method, headers, and a JSON body that is a template."""

import re
from typing import Any

from django.utils.translation import gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField
from config.base.text import clean_text
from config.secrets.hints import hint
from forms_app.texts.placeholders import TemplateRefused
from submissions.json_text import dump_json
from webhooks.kinds.addresses import read_url
from webhooks.kinds.http_template import fill, parse_template
from webhooks.kinds.kind import JSON, LINES, USER_AGENT, Config, Input, Kind, Request, indented
from webhooks.kinds.submitted import Submitted
from webhooks.models import MAX_URL

METHODS = ("POST", "PUT", "PATCH")
NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")  # RFC 9110, 5.6.2
VALUE = re.compile(r"[!-~](?:[ -~]{0,2046}[!-~])?")
MOST_HEADERS = 20
# Headers that say where a message ends and whom it is for: http.client writes them.
RESERVED = {
    *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"),
    *("accept-encoding", "proxy-authorization", "proxy-connection"),
}


class HeadersField(serializers.Field[dict[str, str], Any, dict[str, str], Any]):
    default_error_messages = {
        "invalid": gettext_lazy("Must be an object of texts."),
        "too_many": gettext_lazy("Use at most 20 headers."),
        "invalid_name": gettext_lazy("A name has letters, digits and hyphens: “{name}”."),
        "reserved": gettext_lazy("The header “{name}” is set by us. Leave it out."),
        "duplicate": gettext_lazy("The header “{name}” is there twice."),
        "invalid_value": gettext_lazy("The value of “{name}” must be 1 to 2,048 printable ASCII characters."),
    }

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            self.fail("invalid")
        if len(data) > MOST_HEADERS:
            self.fail("too_many")
        seen: set[str] = set()
        for name, value in data.items():
            if not NAME.fullmatch(name):
                self.fail("invalid_name", name=name[:60])
            if name.lower() in RESERVED:
                self.fail("reserved", name=name)
            if name.lower() in seen:
                self.fail("duplicate", name=name)
            if not isinstance(value, str) or not VALUE.fullmatch(value):
                self.fail("invalid_value", name=name)
            seen.add(name.lower())
        return data


class TemplateField(serializers.Field[Any, Any, Any, Any]):
    """JSON as a text, or as an object or a list. A text is kept as it was given, cleaned."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            template = parse_template(data)
        except TemplateRefused as error:
            raise serializers.ValidationError(str(error), code=error.code) from None
        return clean_text(data) if isinstance(data, str) else template


class HttpConfig(StrictSerializer):
    url = TextField(trim_whitespace=False, max_length=MAX_URL)
    method = serializers.ChoiceField(METHODS, default="POST")
    headers = HeadersField(default=dict)
    template = TemplateField()

    def validate_url(self, url: str) -> str:
        read_url(url)
        return url


def headers_in(text: str) -> dict[str, str]:
    """Return the headers of lines `Name: value`. Raises DRF's ValidationError for a name that is there twice."""
    headers: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, value = line.partition(":")
        if name.strip() in headers:
            message = str(HeadersField.default_error_messages["duplicate"]).format(name=name.strip())
            raise serializers.ValidationError(message, code="duplicate")
        headers[name.strip()] = value.strip()
    return headers


def names_of(headers: dict[str, Any]) -> str:
    """Return the lines of headers without their values."""
    return "\n".join(f"{name}: " for name in headers)


def text_of(template: Any) -> str:
    return template if isinstance(template, str) else indented(template)


FIRST_TEMPLATE = {
    "form": "{{ form.name }}",
    "id": "{{ submission.id }}",
    "createdAt": "{{ submission.createdAt }}",
}


class Http(Kind):
    name = "http"
    label = gettext_lazy("HTTP request")
    config_class = HttpConfig
    in_flight = 4
    has_any_host = True
    refused = frozenset({401, 403, 410})
    reason = gettext_noop("The server refused our request (401, 403 or 410). Check the address and the headers.")
    summary = gettext_lazy("A JSON request in any shape, to any API.")
    steps = (
        gettext_lazy("Find the URL for new entries in the documents of the service, and the JSON that it expects."),
        gettext_lazy("Make a key for its API if it needs one, and enter it as a header, such as Authorization."),
        gettext_lazy("Write the JSON, and put placeholders into its texts. They are filled for each submission."),
    )
    inputs = (
        Input("url", gettext_lazy("URL"), placeholder="https://api.example.com/contacts"),
        Input("method", gettext_lazy("Method"), initial="POST", choices=METHODS),
        Input(
            *("headers", gettext_lazy("Headers")),
            gettext_lazy("One per line, such as “Authorization: Bearer …”. Their values are never shown again."),
            LINES,
            reads=headers_in,
            writes=names_of,
            has_secrets=True,
        ),
        Input(
            *("template", gettext_lazy("Template")),
            gettext_lazy("The JSON to send. Placeholders go into texts, between quotation marks."),
            LINES,
            initial=text_of(FIRST_TEMPLATE),
            writes=text_of,
        ),
    )
    example = {"url": "https://example.com/", "method": "POST", "headers": {}, "template": FIRST_TEMPLATE}

    def template_of(self, config: Config) -> Any:
        return parse_template(config["template"])

    def shown(self, config: Config) -> Config:
        """Return the config with a hint in the place of each header's value."""
        return {**config, "headers": {name: hint(value) for name, value in config["headers"].items()}}

    def render(self, submitted: Submitted, config: Config) -> Request:
        body = dump_json(fill(parse_template(config["template"]), submitted)).encode()
        own = {"Content-Type": JSON, "User-Agent": USER_AGENT}
        given = {name.lower() for name in config["headers"]}
        kept = {name: value for name, value in own.items() if name.lower() not in given}
        headers = kept | config["headers"]
        secrets = tuple(config["headers"])
        return Request(config["url"], body, headers, config["url"], config["method"], secret_headers=secrets)
