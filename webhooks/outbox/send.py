"""Sending claimed deliveries through their channel. Touches no database: it runs in the deliverer's threads."""

import dataclasses
import datetime as dt
import logging
import time

from config.base.times import now
from webhooks.channels.registry import CHANNELS
from webhooks.models import Delivery, ErrorClass
from webhooks.outbox.claim import Claim
from webhooks.transport.outcome import Outcome

CANCELED = Outcome(succeeded=False, status=None, duration_ms=0, error=ErrorClass.CANCELED.value)

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A claim, the outcome of its attempt, when the attempt began, and its request for the log."""

    claim: Claim
    outcome: Outcome
    started_at: dt.datetime
    request: str = ""


def send(claim: Claim) -> Result:
    """Send a claimed delivery. Never raises: a poison row fails like any other attempt."""
    delivery, started_at, clock = claim.delivery, now(), time.monotonic()
    outcome, logged = CANCELED, ""  # unless it may be sent now
    try:
        channel = CHANNELS[delivery.channel]
        if channel.gate(delivery) == Delivery.Status.PENDING:
            rendered = channel.render(delivery)
            logged = channel.logged(delivery, rendered)
            outcome = channel.send(rendered)
    except Exception:
        logger.exception("delivery %s failed because of an internal error", delivery.pk)
        spent = int((time.monotonic() - clock) * 1000)
        outcome = Outcome(succeeded=False, status=None, duration_ms=spent, error=ErrorClass.INTERNAL_ERROR.value)
    return Result(claim, outcome, started_at, logged)
