"""The points of the service that F0, F2, F12 and F13 share: none of them does anything until it is used."""

from pathlib import Path

from tests.faults.checker.receivers import HOST, TRAP_HOST
from tests.faults.points import Point, exists, point

CLAIM = next(
    name for name in ("webhooks.outbox.claim.Claimer.claim", "webhooks.outbox.claim.claim_due") if exists(name)
)
# Where a process exits, and how many copies of the one message may arrive after it.
EXITS = {
    "after commit": ("submissions.receiving.insert.store", "exit after", 0),
    "before the nudge": ("config.base.nudge.nudge", "exit before", 0),
    "after claim": (CLAIM, "exit after", 0),
    "after POST": ("webhooks.transport.http.post", "exit after", 1),
    "before record": ("webhooks.outbox.record.record", "exit before", 1),  # after the POST as well
}
MARK_FIRST = "mark first"
MARKER = "poison-6f1d"  # in the values of a submission whose rendering raises
DELAYS = "webhooks.outbox.retry_schedule.DELAYS"
PROBE_EVERY = "webhooks.channels.webhook.PROBE_EVERY"
QUICK_DELAYS = [0.2] * 10  # seconds, instead of the schedule
QUICK_PROBES = 1.0  # seconds, instead of 30: the eleventh attempt at an endpoint that always fails is a probe
RENDER = "webhooks.channels.webhook.WebhookChannel.render"
# The trap's port is the same on both addresses, but only the trap listens on it: no such delivery can succeed.
NAMES = {
    "changing.example": [[HOST], [TRAP_HOST]],
    "mixed.example": [[HOST, TRAP_HOST]],
    "mixed-first.example": [[TRAP_HOST, HOST]],
    "mapped.example": [[f"::ffff:{TRAP_HOST}"]],
    "private.example": [[TRAP_HOST]],
}
LOOKED_UP = "looked-up"  # the file with the names that were looked up


def standard_points(directory: Path) -> dict[str, Point]:
    """Return the points by title; their files are in this directory."""
    points = {title: point(name, do, directory / title) for title, (name, do, _) in EXITS.items()}
    points[MARK_FIRST] = point("webhooks.outbox.dispatch._dispatch", "mark first", directory / MARK_FIRST)
    points["render"] = point(RENDER, "on marked", marker=MARKER)
    points["delays"] = point(DELAYS, "set", value=QUICK_DELAYS)
    points["probes"] = point(PROBE_EVERY, "set seconds", value=QUICK_PROBES)
    points["names"] = point("socket.getaddrinfo", "resolve", names=NAMES, seen=str(directory / LOOKED_UP))
    return points
