"""A submission as every kind of destination sees it: a stored one, or the example of a test event."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext

from config.times import format_time
from webhooks.models import Delivery

CUT = "…"
# Not shown in a line of a chat: controls but the end of a line, and what turns the direction of everything after it.
_CONTROLS, _TURNING = (*range(32), *range(0x7F, 0xA0)), (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = {chr(number): None for number in (*_CONTROLS, *_TURNING)}
_VISIBLE = str.maketrans({**_HIDDEN, "\n": "\n", "\t": " ", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"})
NO_LABEL = "-"


@dataclass(frozen=True, slots=True)
class Submitted:
    """`labels` are those of declared fields. `url` is its page in the dashboard, "" for an example."""

    form_name: str
    id: str
    created_at: str
    data: dict[str, str]
    labels: dict[str, str]
    url: str

    @property
    def title(self) -> str:
        """One line for its head."""
        text = gettext("New submission: %(form)s") if self.url else gettext("Test: new submission to %(form)s")
        return one_line(text % {"form": self.form_name})

    def rows(self) -> list[tuple[str, str]]:
        """
        Return label and value of what has a value, in the order of the form, as a chat shows them.

        A label is one line and not empty: a page may send any name. Neither has controls.
        """
        shown = ((self.labels.get(name) or name, visible(value)) for name, value in self.data.items())
        return [(one_line(label) or NO_LABEL, value) for label, value in shown if value.strip()]


def submitted_of(delivery: Delivery) -> Submitted:
    """Return the submission of a delivery, or the example in its message. No query."""
    row = delivery.submission
    if row is None:
        example = json.loads(delivery.message.body)["data"]
        return Submitted(example["formName"], example["id"], example["createdAt"], example["data"], {}, "")
    labels = {field["name"]: field.get("label", "") for field in row.form.fields}
    url = f"{settings.SUBMISSION_PAGE}{row.public_id}"
    return Submitted(row.form.name, row.public_id, format_time(row.created_at) or "", row.data, labels, url)


def visible(text: str) -> str:
    """Return a text without controls and without marks that turn its direction; its lines stay."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_VISIBLE)


def one_line(text: str) -> str:
    """Return a visible text in one line."""
    return " ".join(visible(text).split())


def indented(value: str) -> str:
    """Return a value whose later lines cannot be taken for those of another field."""
    return value.replace("\n", "\n    ")


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + CUT


def cut_escaped(text: str, most: int, escaped: Callable[[str], str]) -> str:
    """Return the escaped text in at most so many characters, and no escape cut in two."""
    text = cut(text, most)
    while len(found := escaped(text)) > most:
        text = cut(text, max(1, len(text) - max(1, (len(found) - most) // 6)))
    return found
