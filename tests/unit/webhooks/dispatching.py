"""Dispatching to the end, as the deliverer's loop does round by round."""

from webhooks.outbox import dispatch


def dispatch_all() -> int:
    """Dispatch until nothing is owed; return how many submissions there were."""
    dispatched = 0
    while batch := dispatch.dispatch_batch():
        dispatched += batch
    return dispatched
