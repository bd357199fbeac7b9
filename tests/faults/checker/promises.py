"""
The promises P1 to P5, checked on the evidence of client, receivers and database.

P1 nothing is lost, P2 nothing is invented, P3 duplicates are those of a kill and true copies, P4 nothing is stuck,
P5 the client sees clean answers.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.faults.checker.database import Rows
from tests.faults.checker.poster import Poster, Told
from tests.faults.checker.receiver_process import Arrival, Log

RECORD_SECONDS = 1.5  # after its answer a request may still wait for its result to be recorded; Evidence may say more
FRESH_SECONDS = 20.0  # a message may be sent that long after it was signed: the longest attempt, and slow cores
SHOWN = 3  # examples of what is wrong


@dataclass(frozen=True)
class Disturbance:
    """A kill, or an outage: epoch seconds."""

    start: float
    end: float

    @classmethod
    def kill(cls, at: float) -> "Disturbance":
        return cls(at, at)


@dataclass
class Evidence:
    poster: Poster
    log: Log
    rows: Rows
    prefix: str  # of the fault's paths at the receivers
    paths: dict[str, set[str]]  # healthy endpoints by form: each gets each of the form's submissions
    webhooks: dict[str, str]  # path by webhook id
    disturbances: Sequence[Disturbance] = ()
    p99_seconds: float = 3.0
    record_seconds: float = RECORD_SECONDS
    resends: bool = False  # the fault sends messages again on purpose, such as by a replay
    clocks_differ: bool = False
    except_keys: Collection[str] = ()  # idempotency keys of submissions that must not arrive


@dataclass
class Verdict:
    broken: list[str] = field(default_factory=list)
    duplicates: int = 0
    recovery: float = 0.0  # longest seconds from the end of a disturbance to a delivery that was pending then
    p99: float = 0.0


def judge(evidence: Evidence) -> Verdict:
    """Return which promises are broken, with examples, and the figures."""
    verdict = Verdict(duplicates=duplicates(evidence), recovery=recovery(evidence), p99=p99(evidence.poster.told()))
    for check in (lost, invented, untrue_copies, unexplained_duplicates, stuck, unclean):
        findings = list(check(evidence))
        if findings:
            more = f" and {len(findings) - SHOWN} more" if len(findings) > SHOWN else ""
            verdict.broken.append("; ".join(findings[:SHOWN]) + more)
    return verdict


def lost(evidence: Evidence) -> Iterator[str]:
    """P1: an accepted submission is a row, dispatched, and arrived with a valid signature at each healthy endpoint."""
    arrived = {(one.id, one.path) for one in evidence.log.of(evidence.prefix) if any(one.valid)}
    delivered = {
        (one.message_id, evidence.webhooks.get(one.webhook_id, ""))
        for one in evidence.rows.deliveries
        if one.status == "delivered"
    }
    for message_id, post in evidence.poster.accepted.items():
        if post.key in evidence.except_keys:
            continue
        row = evidence.rows.submissions.get(message_id)
        if row is None:
            yield f"P1: {message_id} was answered 201 and is not stored"
        elif not row.is_dispatched:
            yield f"P1: {message_id} is not dispatched"
        else:
            for path in evidence.paths.get(post.form_id, ()):
                if (message_id, path) not in arrived:
                    yield f"P1: {message_id} did not arrive at {path}"
                elif (message_id, path) not in delivered:
                    yield f"P1: {message_id} arrived at {path} and is not recorded as delivered"


def invented(evidence: Evidence) -> Iterator[str]:
    """P2: each message was posted; a retried request has one row; each row is a post's."""
    for message_id in {one.id for one in evidence.log.of(evidence.prefix)} - set(evidence.rows.submissions):
        yield f"P2: {message_id} arrived and is not stored"
    posts = {post.key: post for post in evidence.poster.posts}
    numbers = Counter(row.number for row in evidence.rows.submissions.values())
    for number, count in numbers.items():
        if number not in posts:
            yield f"P2: row {number} was never posted"
        elif count > 1:
            yield f"P2: {number} is stored {count} times"


def untrue_copies(evidence: Evidence) -> Iterator[str]:
    """P3: all copies of a message have the same body, a valid signature and a fresh timestamp."""
    bodies: dict[str, str] = {}
    for one in evidence.log.of(evidence.prefix):
        if bodies.setdefault(one.id, one.sha256) != one.sha256:
            yield f"P3: {one.id} came with two bodies"
        if not any(one.valid):
            yield f"P3: {one.id} at {one.path} has no valid signature"
        elif not evidence.clocks_differ and abs(one.arrived - int(one.timestamp)) > FRESH_SECONDS:
            yield f"P3: {one.id} at {one.path} arrived {one.arrived - int(one.timestamp):.0f} s after its timestamp"


def _healthy(evidence: Evidence) -> dict[tuple[str, str], list[Arrival]]:
    """Return the arrivals at healthy endpoints; the others are retried on the schedule."""
    healthy = set().union(*evidence.paths.values())
    found = evidence.log.by_message_and_path(evidence.prefix)
    return {key: arrivals for key, arrivals in found.items() if key[1] in healthy}


def duplicates(evidence: Evidence) -> int:
    """Return the copies, not counting retries."""
    if evidence.resends:
        return 0
    return sum(len(arrivals) - 1 for arrivals in _healthy(evidence).values())


def unexplained_duplicates(evidence: Evidence) -> Iterator[str]:
    """P3: a message comes again only if it was in flight at a kill, and once for each such kill."""
    if evidence.resends:
        return
    for (message_id, path), arrivals in _healthy(evidence).items():
        for earlier, later in pairwise(arrivals):
            end = None if earlier.answered is None else earlier.answered + evidence.record_seconds
            if not any(
                earlier.arrived <= one.end + evidence.record_seconds and (end is None or end >= one.start)
                for one in evidence.disturbances
            ):
                took = (
                    "no answer"
                    if earlier.answered is None
                    else f"answer after {earlier.answered - earlier.arrived:.1f} s"
                )
                after = f"{later.arrived - earlier.arrived:.1f} s after its first arrival ({took})"
                yield f"P3: {message_id} came to {path} again {after}, in flight at no kill"


def recovery(evidence: Evidence) -> float:
    """Return the longest time from the end of a disturbance to the answer of a delivery that was pending then."""
    accepted, longest = evidence.poster.accepted, 0.0
    for (message_id, _), arrivals in _healthy(evidence).items():
        done = arrivals[-1].answered
        if done is None or message_id not in accepted:
            continue
        before = [one.end for one in evidence.disturbances if one.end <= done]
        if before and accepted[message_id].accepted <= before[-1]:
            longest = max(longest, done - before[-1])
    return longest


def stuck(evidence: Evidence) -> Iterator[str]:
    """
    P4: no lease is past its end, and no delivery to a healthy endpoint overdue, for longer than `Database.rows` was
    asked about. Those to others wait for their turn.
    """
    healthy = set().union(*evidence.paths.values())
    for one in evidence.rows.unfinished:
        where = evidence.webhooks.get(one.webhook_id, one.webhook_id)
        if one.has_stale_lease:
            yield f"P4: {one.message_id} to {where} has a lease that has ended"
        elif one.is_overdue and where in healthy:
            yield f"P4: {one.message_id} to {where} is overdue"


def unclean(evidence: Evidence) -> Iterator[str]:
    """P5: 201, or 503 with Retry-After, or no answer; and within the stated time."""
    told = evidence.poster.told()
    for status, count in Counter(one.status for one in told if one.status not in (0, 201, 503)).items():
        yield f"P5: {status} was answered {count} times"
    if bare := sum(1 for one in told if one.status == 503 and not one.has_retry_after):
        yield f"P5: {bare} answers 503 without Retry-After"
    if p99(told) > evidence.p99_seconds:
        yield f"P5: p99 of submit was {p99(told):.2f} s, at most {evidence.p99_seconds:g}"


def p99(told: Sequence[Told]) -> float:
    """Return the 99th percentile of the times to an answer."""
    seconds = sorted(one.seconds for one in told if one.status)
    return seconds[min(len(seconds) - 1, len(seconds) * 99 // 100)] if seconds else 0.0
