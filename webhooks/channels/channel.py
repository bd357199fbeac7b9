"""The interface of a channel. A new channel is one file and one line in `registry.py`."""

import uuid
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from submissions.models import Submission
from webhooks.channels.receiver_status import status_for
from webhooks.enqueue import Target
from webhooks.events import Event
from webhooks.models import Delivery, Receiver
from webhooks.transport.outcome import Outcome

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Rendered = TypeVar("Rendered")
Noted = tuple[Delivery, Outcome]


class Channel(ABC, Generic[Rendered]):
    """
    A way to send messages.

    name: stored with each delivery. label: plural, as the log's filter shows it. uses_body: whether `render` reads the
    message's body; if not, it writes its own text from the submission.
    """

    name: str
    label: "StrOrPromise"
    uses_body = True

    @abstractmethod
    def targets_of(self, event: Event, rows: Sequence[Submission]) -> Mapping[uuid.UUID, Sequence[Target]]:
        """
        Return the targets that want an event, by the id of the submission that caused it.

        Runs in dispatch's transaction with up to 200 submissions, their forms loaded: no query per row.
        """

    def prepare(self, deliveries: Sequence[Delivery]) -> None:
        """Look up what `gate` and `render` need of claimed deliveries: a fixed number of queries for all."""

    @abstractmethod
    def render(self, delivery: Delivery) -> Rendered:
        """
        Return the request for a delivery. Runs in a sender's thread: no query.

        Its message, its receiver, and its submission with form and organization are loaded; for a webhook only the
        first two.
        """

    @abstractmethod
    def send(self, rendered: Rendered) -> Outcome:
        """Send the request of one delivery. No query."""

    def logged(self, delivery: Delivery, rendered: Rendered) -> str:  # noqa: ARG002  # for other channels
        """
        Return the request for the log, as the JSON text of `{method, url, headers, body?}`; "" leaves it out.

        Without signatures and secrets. Without `body` it is that of the message. Runs after `render`: no query.
        """
        return ""

    def gate(self, delivery: Delivery) -> Delivery.Status:
        """
        Return PENDING if the delivery may be sent now, else the status that it gets instead.

        Of a new delivery only its target and receiver, its event, and whether its submission is spam or a test may
        count: dispatch asks once for all that are equal in these.
        """
        if delivery.submission is not None and delivery.submission.spam:
            return Delivery.Status.CANCELED  # marked after dispatch; "not spam" makes it pending again
        return Delivery.Status.PENDING

    def requests_to(self, targets: Collection[str]) -> Mapping[str, int]:  # noqa: ARG002  # for other channels
        """Return how many requests each of these targets may have in flight now; one that is left out has no limit."""
        return {}

    def holds(self, delivery: Delivery, outcome: Outcome, locked: Any) -> bool:  # noqa: ARG002  # for other channels
        """Return whether a failed delivery is held, and not tried again by the schedule. `locked`: see `lock`."""
        return False

    def lock(self, noted: Sequence[Noted]) -> Any:
        """Lock what `note` will change, in key order, before the deliveries are locked; `note` gets what it returns."""

    def note(self, noted: Sequence[Noted], locked: Any) -> None:
        """Take note of outcomes, oldest first, in the transaction that records them."""


class ReceiverChannel(Channel[Rendered]):
    def gate(self, delivery: Delivery) -> Delivery.Status:
        """Return what its receiver's status and mode need, too."""
        status = super().gate(delivery)
        if delivery.submission is not None and not receiver_of(delivery).takes(delivery.submission):
            return Delivery.Status.CANCELED
        return status_for(delivery) if status == Delivery.Status.PENDING else status


def serving(rows: Sequence[Submission], receivers: Iterable[Receiver]) -> dict[uuid.UUID, list[Receiver]]:
    """Return those of its form, then of all forms, that existed when it was accepted or released, and take its mode."""
    by_form: dict[uuid.UUID, list[Receiver]] = defaultdict(list)
    for receiver in receivers:
        by_form[receiver.form_id or receiver.organization_id].append(receiver)
    return {
        row.pk: [
            each
            for each in by_form[row.form_id] + by_form[row.organization_id]
            if each.created_at <= (row.released_at or row.created_at) and each.takes(row)
        ]
        for row in rows
    }


def receiver_of(delivery: Delivery) -> Receiver:
    assert delivery.receiver is not None  # noqa: S101 - a constraint of the table
    return delivery.receiver
