"""A submission as every kind of destination sees it: a stored one, or the example of a test event."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext

from config.base.times import format_time
from webhooks.models import Delivery

CUT = "…"
# Not shown in a line of a chat: controls but the end of a line, and what turns the direction of everything after it.
_CONTROLS, _TURNING = (*range(32), *range(0x7F, 0xA0)), (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = {chr(number): None for number in (*_CONTROLS, *_TURNING)}
_VISIBLE = str.maketrans({**_HIDDEN, "\n": "\n", "\t": " ", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"})
NO_LABEL = "-"
NEW_LINE, INDENTED = "\n", "\n    "


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
        text = gettext("New submission: %(form)s") if self.url else gettext("Test: new submission to %(form)s")
        return one_line(text % {"form": self.form_name})

    def rows(self) -> list[tuple[str, str]]:
        """
        Return label and value of what has a value, in the order of the form, as a chat shows them.

        A label is one line and not empty: a page may send any name. Neither has controls.
        """
        shown = ((self.labels.get(name) or name, visible(value)) for name, value in self.data.items())
        return [(one_line(label) or NO_LABEL, value) for label, value in shown if value.strip()]

    def lines(self, label: int, value: int) -> list[str]:
        """Return the rows as lines, cut to so many characters; no later line of a value can pose as another row."""
        cut_rows = ((cut(name, label), cut(text, value)) for name, text in self.rows())
        return [f"{name}: {text.replace(NEW_LINE, INDENTED)}" for name, text in cut_rows]

    def rows_that_fit(
        self, escaped: Callable[[str], str], *, rows: int, label: int, value: int, in_all: int, around: int = 0
    ) -> list[tuple[str, str]]:
        """
        Return the first rows, cut to what a message holds.

        `label`, `value` and `in_all`: characters when they are escaped. `around`: those that a message adds to a row.
        """
        fitting = []
        for name, text in self.rows()[:rows]:
            name = cut_to_fit(name, label, escaped)
            length = len(escaped(name))
            text = cut_to_fit(text, min(value, in_all - length), escaped)
            fitting.append((name, text))
            in_all -= length + len(escaped(text)) + around
            if in_all < label + 100:
                break
        return fitting


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
    return " ".join(visible(text).split())


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + CUT


def cut_encoded(text: str, most: int, encoding: str) -> str:
    """Return a text of at most so many bytes in an encoding."""
    data = text.encode(encoding, "replace")
    end = most - len(CUT.encode(encoding))
    return text if len(data) <= most else data[:end].decode(encoding, "ignore") + CUT


def cut_to_fit(text: str, most: int, escaped: Callable[[str], str]) -> str:
    """Return the part of a text that has at most so many characters when it is escaped."""
    text = cut(text, most)
    while (length := len(escaped(text))) > most:
        text = cut(text, max(1, len(text) - max(1, (length - most) // 6)))
    return text
