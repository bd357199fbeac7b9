"""The interface of a kind of destination. A new kind is one file and one line in `registry.py`."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.translation import gettext, gettext_lazy

from config.api.errors import Detail
from config.api.serializers import StrictSerializer, flatten, validate
from config.secrets.hints import HIDDEN, hint
from submissions.json_text import dump_json
from submissions.models import Submission
from webhooks.kinds.addresses import check_address, without_secret
from webhooks.kinds.submitted import Submitted, submitted_of
from webhooks.models import Delivery
from webhooks.transport import http
from webhooks.transport.outcome import EXCERPT_BYTES, Outcome

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

JSON = "application/json"
USER_AGENT = "Fieldpost/1.0"
Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """
    One request. `shown_url` is the URL for the log, without secrets; `secret_headers` are left out there.

    `config` and `submitted` are for a kind that sends more than this one request. Its `repr` shows neither secrets nor
    submitted values: it may be in a log of errors.
    """

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    shown_url: str
    method: str = "POST"
    secret_headers: tuple[str, ...] = ()
    config: Mapping[str, Any] | None = field(default=None, repr=False)
    submitted: Submitted | None = field(default=None, repr=False)

    def logged(self) -> str:
        """Return the JSON text of `{method, url, headers, body}` for the log; of a long body its first 4 KiB."""
        headers = {name: HIDDEN if name in self.secret_headers else value for name, value in self.headers.items()}
        body = self.body[:EXCERPT_BYTES].decode("utf-8", "ignore")
        return dump_json({"method": self.method, "url": self.shown_url, "headers": headers, "body": body})


LINE, LINES, SECRET, SECRET_LINES = "line", "lines", "secret", "secret lines"


@dataclass(frozen=True, slots=True)
class Input:
    """
    The input of one member of `config` on the screens of the dashboard.

    look: LINE or LINES of text, or those that are masked, for secrets. has_secrets: it holds some, and is not masked.
    choices: the input is one of these. reads: the value of the member from the typed text; may raise DRF's
    ValidationError. writes: the text from the value as `shown` has it, unless it is masked.
    """

    name: str
    label: "StrOrPromise"
    help: "StrOrPromise" = ""
    look: str = LINE
    placeholder: str = ""
    initial: str = ""
    choices: tuple[str, ...] = ()
    reads: Callable[[str], Any] = str
    writes: Callable[[Any], str] = str
    has_secrets: bool = False

    @property
    def is_masked(self) -> bool:
        return self.look in (SECRET, SECRET_LINES)

    @property
    def is_secret(self) -> bool:
        """Whether it is entered again for every change."""
        return self.is_masked or self.has_secrets


@dataclass(frozen=True, slots=True)
class Preview:
    """
    A message as its readers see it: the parts that it has.

    rows: labels and values. link: the text of a link. code: JSON. cells: headers of a sheet and the cells of its row.
    """

    title: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    text: str = ""
    link: str = ""
    code: str = ""
    cells: tuple[tuple[str, str], ...] = ()


class Kind(ABC):
    """
    A kind of destination.

    name: in the API. config_class: reads `config` and checks it, without any look-up. secrets: members of `config` that
    are never shown. in_flight: requests at the same time. pace: seconds between two requests, at most 2. refused:
    statuses by which the receiver says that it does not accept our credentials; `reason` is the sentence for that.
    has_any_host: its config has a `url` of any host, and not of one service.

    For the screens: summary: one sentence for the card. steps: how to get the values of `inputs` in the service.
    example: a config as `read` returns it, for the preview while inputs are empty.
    """

    name: str
    label: "StrOrPromise"
    config_class: type[StrictSerializer]
    secrets: ClassVar[tuple[str, ...]] = ()
    in_flight = 1
    pace = 0.0
    has_any_host = False
    refused: ClassVar[frozenset[int]] = frozenset({401, 403})
    reason: str
    summary: "StrOrPromise"
    steps: "ClassVar[tuple[StrOrPromise, ...]]"
    inputs: ClassVar[tuple[Input, ...]]
    example: ClassVar[Config]

    def read(self, config: Any) -> Config:
        """Return the checked config. Raises ValidationFailed with `config` or `config.<member>` as the field."""
        return validate(self.config_class(data=config), "config")

    def read_part(self, config: Config) -> tuple[Config, list[Detail]]:
        """Return those of the given members that are right, and what is wrong with the others."""
        details: dict[str, Detail] = {}
        while not (serializer := self.config_class(data=config, partial=True)).is_valid():
            found = {
                each.field.split(".")[1]: each for each in flatten(serializer.errors, "config") if "." in each.field
            }
            if not found.keys() & config.keys():
                return {}, list(details.values())
            details = found | details
            config = {name: value for name, value in config.items() if name not in found}
        return dict(serializer.validated_data), list(details.values())

    def check_addresses(self, config: Config) -> None:
        """Check the host of the config, if it may name any. Raises ValidationFailed."""
        if self.has_any_host:
            check_address(config["url"], "config.url")

    def template_of(self, config: Config) -> Any:  # noqa: ARG002  # for the kind that has one
        """Return the template whose names a form must declare, None without one."""
        return None

    def shown(self, config: Config) -> Config:
        """Return the config as the API shows it: `{hint}` in the place of each secret."""
        return {name: hint(value) if name in self.secrets else value for name, value in config.items()}

    def remarks(self, config: Config) -> list[str]:  # noqa: ARG002  # for the kind that has some
        """Return what people have to know about this config, besides the steps."""
        return []

    def previewed(self, request: Request, submitted: Submitted) -> Preview:  # noqa: ARG002  # for other kinds
        """Return the message of a rendered request, by default its JSON."""
        return Preview(code=indented(json.loads(request.body)))

    @abstractmethod
    def render(self, submitted: Submitted, config: Config) -> Request:
        """Return the request for a submission. No query."""

    def preview(self, submission: Submission, config: Config) -> tuple[Request, Preview]:
        """Return the request for a stored submission, or for an example, and its message."""
        submitted = submitted_of(Delivery(submission=submission))
        request = self.render(submitted, config)
        return request, self.previewed(request, submitted)

    def send(self, request: Request, endpoint: str) -> Outcome:
        """Send it. `endpoint` names the destination whose requests may share a connection."""
        outcome = http.post(request.url, request.body, request.headers, endpoint=endpoint, method=request.method)
        return self.judge(outcome)

    def judge(self, outcome: Outcome) -> Outcome:
        """Return the outcome with what this service means by its answer. A destination is never `gone`."""
        refused = self.reason if outcome.status in self.refused else ""
        return replace(outcome, gone=False, refused=refused)


class Chat(Kind):
    """A kind whose message has a title, a label and a value for each row, and a link. Its `url` is a secret."""

    secrets = ("url",)

    @abstractmethod
    def parts(self, submitted: Submitted) -> tuple[str, list[tuple[str, str]]]:
        """Return the title and the rows as readers see them, within the bounds of the service."""

    @abstractmethod
    def message(self, submitted: Submitted, title: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the JSON of a message with these parts."""

    def render(self, submitted: Submitted, config: Config) -> Request:
        message = self.message(submitted, *self.parts(submitted))
        return post_json(config["url"], message, shown_url=without_secret(config["url"]))

    def previewed(self, request: Request, submitted: Submitted) -> Preview:  # noqa: ARG002  # the interface of kinds
        title, rows = self.parts(submitted)
        return Preview(title=title, rows=tuple(rows), link=gettext("Open the submission") if submitted.url else "")


def answer_of(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON object in an answer, {} if there is none."""
    try:
        answer = json.loads(outcome.response_excerpt)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def with_wait(outcome: Outcome, seconds: Any) -> Outcome:
    """Return the outcome of a 429 with the wait that its answer asks for, 0 to 24 hours, if that is a number."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds == seconds  # no NaN
    if outcome.status != 429 or not is_number:
        return outcome
    return replace(outcome, retry_after_seconds=float(max(0, min(seconds, http.MAX_RETRY_AFTER_SECONDS))))


def post_json(url: str, value: Any, *, shown_url: str, secrets: Mapping[str, str] = MappingProxyType({})) -> Request:
    """Return a POST of a JSON value. `secrets`: headers that are not logged."""
    headers = {"Content-Type": JSON, "User-Agent": USER_AGENT, **secrets}
    return Request(url, dump_json(value).encode(), headers, shown_url, secret_headers=tuple(secrets))


def indented(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def secret_address(placeholder: str, help_text: "StrOrPromise") -> Input:
    return Input("url", gettext_lazy("Address"), help_text, SECRET, placeholder)
