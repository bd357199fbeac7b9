"""A submission as every kind of destination sees it: a stored one, or the example of a test event."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext

from config.times import format_time
from webhooks.models import Delivery

CUT = "…"


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
        return " ".join((text % {"form": self.form_name}).split())

    def rows(self) -> list[tuple[str, str]]:
        """Return label and value of what has a value, in the order of the form."""
        return [(self.labels.get(name) or name, value) for name, value in self.data.items() if value.strip()]


def submitted_of(delivery: Delivery) -> Submitted:
    """Return the submission of a delivery, or the example in its message. No query."""
    row = delivery.submission
    if row is None:
        example = json.loads(delivery.message.body)["data"]
        return Submitted(example["formName"], example["id"], example["createdAt"], example["data"], {}, "")
    labels = {field["name"]: field.get("label", "") for field in row.form.fields}
    url = f"{settings.SUBMISSION_PAGE}{row.public_id}"
    return Submitted(row.form.name, row.public_id, format_time(row.created_at) or "", row.data, labels, url)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + CUT


def cut_escaped(text: str, most: int, escaped: Callable[[str], str]) -> str:
    """Return the escaped text in at most so many characters, and no escape cut in two."""
    text = cut(text, most)
    while len(found := escaped(text)) > most:
        text = cut(text, max(1, len(text) - max(1, (len(found) - most) // 6)))
    return found
