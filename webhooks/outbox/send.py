"""Sending claimed deliveries through their channel. Touches no database: it runs in the deliverer's threads."""

import dataclasses
import datetime as dt
import itertools
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from config.times import now
from webhooks.channels.base import Channel
from webhooks.channels.outcome import Outcome
from webhooks.channels.registry import CHANNELS, channel_of
from webhooks.models import Delivery, ErrorClass
from webhooks.outbox.claim import Claim

CANCELED = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.CANCELED.value)

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A claim, the outcome of its attempt, when the attempt began, and its request for the log."""

    claim: Claim
    outcome: Outcome
    started_at: dt.datetime
    request: str = ""


def requests_of(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """Group claims by the request that carries them: most channels send one delivery in each."""

    def place(claim: Claim) -> tuple[str, str]:
        return claim.delivery.channel, claim.delivery.target

    for (channel, _), group in itertools.groupby(sorted(claims, key=place), place):
        together, size = list(group), CHANNELS[channel].batch if channel in CHANNELS else 1
        yield from (together[start : start + size] for start in range(0, len(together), size))


def send(claims: Sequence[Claim]) -> list[Result]:
    """Send the claims of one request. Never raises: a poison row fails like any other attempt."""
    started_at, clock = now(), time.monotonic()
    outcomes: list[Outcome | None] = []
    ready: list[Any] = []
    logged: dict[uuid.UUID, str] = {}
    for claim in claims:
        try:
            rendered = _rendered(claim.delivery)
            if rendered is not None:
                logged[claim.delivery.pk] = channel_of(claim.delivery).logged(claim.delivery, rendered)
            outcomes.append(CANCELED if rendered is None else None)
            ready += [] if rendered is None else [rendered]
        except Exception:
            logger.exception("delivery %s failed because of an internal error", claim.delivery.pk)
            outcomes.append(_fault(clock))
    sent = _send(channel_of(claims[0].delivery), ready, clock) if ready else CANCELED
    return [
        Result(claim, outcome or sent, started_at, logged.get(claim.delivery.pk, ""))
        for claim, outcome in zip(claims, outcomes, strict=True)
    ]


def _rendered(delivery: Delivery) -> Any:
    """Return what the channel sends; None for a delivery that must not be sent now."""
    channel = channel_of(delivery)
    return channel.render(delivery) if channel.gate(delivery) == Delivery.Status.PENDING else None


def _send(channel: Channel[Any], rendered: Sequence[Any], clock: float) -> Outcome:
    try:
        return channel.send(rendered)
    except Exception:
        logger.exception("a request of channel %s failed because of an internal error", channel.name)
        return _fault(clock)


def _fault(clock: float) -> Outcome:
    spent = int((time.monotonic() - clock) * 1000)
    return Outcome(succeeded=False, status=None, duration_ms=spent, error=ErrorClass.INTERNAL_ERROR.value)
