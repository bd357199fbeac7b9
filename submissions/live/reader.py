"""
Reads the messages of the live stream from the database.

A message is short, and its submission may have 256 KiB. So rows are read without their values, and values of new rows
a few at a time. Polls overlap by `hub.READ_AGAIN`: most rows of one were read by the one before.
"""

import uuid
from collections.abc import Iterator, Sequence

from submissions.live.tokens import submission_event
from submissions.models import Submission

MOST_READ = 1_000  # rows per poll
ROWS_A_BATCH = 8  # whose values, of up to 256 KiB each, are in memory at the same time

Message = tuple[uuid.UUID, uuid.UUID, uuid.UUID, bytes]  # submission, organization, form, bytes to send
Shown = tuple[uuid.UUID, str, str]  # submission, why it is held, name of the form: a change is another message


class Reader:
    """Reads messages, in one thread. Keeps those of its last poll."""

    def __init__(self) -> None:
        self._known: dict[Shown, Message] = {}

    def read(self, organizations: list[uuid.UUID], since: uuid.UUID) -> list[Message]:
        """Return the newest messages of these organizations after an id, without spam, oldest first."""
        rows = Submission.objects.filter(organization__in=organizations, id__gt=since, spam=False, imported_in=None)
        rows = rows.listed().select_related("form")
        rows = rows.only("id", "organization", "form__name", "created_at", "spam", "held")
        newest = {(row.pk, row.held, row.form.name): row for row in reversed(rows.order_by("-id")[:MOST_READ])}
        new = [row for shown, row in newest.items() if shown not in self._known]
        found = self._known | dict(_made(new))
        self._known = {shown: found[shown] for shown in newest if shown in found}  # others are deleted meanwhile
        return list(self._known.values())


def _made(rows: Sequence[Submission]) -> Iterator[tuple[Shown, Message]]:
    for start in range(0, len(rows), ROWS_A_BATCH):
        some = {row.pk: row for row in rows[start : start + ROWS_A_BATCH]}
        for pk, values in Submission.objects.filter(pk__in=some).values_list("pk", "data"):
            row = some[pk]
            message = submission_event(row, row.form.name, values)
            yield (pk, row.held, row.form.name), (pk, row.organization_id, row.form_id, message)
