"""
A load at a fixed rate: each client sends at its own times, whether or not the service keeps up.

A latency runs from the time at which the request was due, so a request that waits for an earlier answer on its
connection counts that wait too.
"""

import heapq
import select
import time
from dataclasses import dataclass

from tests.load.client import LONGEST_ANSWER_SECONDS, WrongAnswer, connect, read_answer


@dataclass(frozen=True)
class Timed:
    """When a request was due (time.monotonic) and how long its answer took from then, in seconds."""

    due: float
    latency: float


def drive_at_rate(port: int, request: bytes, *, clients: int, per_second: float, seconds: float) -> list[Timed]:
    """Send so many requests a second for so long. Raises WrongAnswer at the first answer that is no 201."""
    connections, epoll = connect(port, clients), select.epoll()
    for number in connections:
        epoll.register(number, select.EPOLLIN)
    start, interval = time.monotonic(), clients / per_second
    coming = [(start + interval * place / clients, number) for place, number in enumerate(connections)]
    sent: dict[int, float] = {}
    results = []
    while coming or sent:
        while coming and coming[0][0] <= time.monotonic():
            due, number = heapq.heappop(coming)
            sent[number] = due
            connections[number].sendall(request)
        ready = epoll.poll(max(coming[0][0] - time.monotonic(), 0) if coming else LONGEST_ANSWER_SECONDS)
        if not ready and not coming:
            raise WrongAnswer(f"no answer within {LONGEST_ANSWER_SECONDS:.0f} s")
        for number, _ in ready:
            read_answer(connections[number])
            due = sent.pop(number)
            results.append(Timed(due, time.monotonic() - due))
            if due + interval < start + seconds:
                heapq.heappush(coming, (due + interval, number))
    return results
