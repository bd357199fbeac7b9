"""The benchmarks of deliveries by name."""

import os
from collections.abc import Sequence
from typing import Any

from tests.load.client import drive
from tests.load.deliveries.dispatching import measure_dispatch
from tests.load.deliveries.drain import measure_drain
from tests.load.deliveries.latency import measure_latency
from tests.load.deliveries.receiver import Receiver, running_receiver
from tests.load.deliveries.report import Comparison, tell_progress
from tests.load.rounds import Bench

CEILING_SECONDS = 2.0
CEILING_CLIENTS = 32
PROCESSES = {"deliver16": (1, 2), "deliver1": (1,)}
ENDPOINTS = {"deliver16": 16, "deliver1": 1}
_POST = b"POST /ceiling HTTP/1.1\r\nHost: 127.0.0.1\r\nwebhook-id: msg_0\r\nContent-Length: 500\r\n\r\n" + 500 * b"x"


def measure_deliveries(
    bench: Bench, names: Sequence[str], seconds: float, rounds: int, deliveries: int
) -> dict[str, Any]:
    """Print a line for each figure, and return them."""
    with running_receiver() as receiver:
        ceiling = _ceiling(receiver)
        print(
            f"\n{deliveries:,} deliveries, {rounds} rounds of each kind in turn, {os.cpu_count()} cores. Rates are a "
            f"second.\nThe receiver takes {ceiling:,.0f} requests a second at most, from a client on the same cores.",
            flush=True,
        )
        figures: dict[str, Any] = {"receiver_per_second": ceiling}
        for name in names:
            figures[name] = _measure(bench, receiver, name, seconds, rounds, deliveries)
        return figures


def _measure(bench: Bench, receiver: Receiver, name: str, seconds: float, rounds: int, deliveries: int) -> Any:
    if name == "latency":
        latencies = measure_latency(bench, receiver, deliveries=deliveries, seconds=seconds, rounds=rounds)
        print(latencies.line(), flush=True)
        return latencies.plain()
    found: list[Comparison]
    if name == "dispatch":
        found = measure_dispatch(bench, receiver, submissions=deliveries, rounds=rounds)
    else:
        found = measure_drain(
            bench,
            receiver,
            name=name,
            endpoints=ENDPOINTS[name],
            processes=PROCESSES[name],
            deliveries=deliveries,
            rounds=rounds,
        )
    for one in found:
        print(one.line(), flush=True)
    return {one.title: one.plain() for one in found}


def _ceiling(receiver: Receiver) -> float:
    """Return the requests a second that the receiver takes."""
    tell_progress("how fast the receiver is")
    load = drive(receiver.port, _POST, clients=CEILING_CLIENTS, processes=1, seconds=CEILING_SECONDS)
    receiver.forget()
    return load.per_second
