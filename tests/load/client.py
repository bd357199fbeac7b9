"""
The load: keep-alive connections that each send one request, read its answer, and send it again.

As cheap as Python does it, because it shares the cores of the service: the request's bytes are made once, each process
has one epoll loop, and of an answer it reads only status and length.
"""

import itertools
import multiprocessing
import select
import socket
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

LONGEST_ANSWER_SECONDS = 30.0
_LENGTH = b"content-length:"


class WrongAnswer(Exception):
    """An answer other than 201: the measurement is not valid."""


@dataclass(frozen=True)
class Load:
    """The result of one round."""

    requests: int
    per_second: float
    latencies: Sequence[float]  # seconds, sorted

    def latency(self, percent: float) -> float:
        """Return the seconds within which this share of the answers came."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * percent / 100))]


def post_bytes(port: int, path: str, key: str, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    named = {"User-Agent": "fieldpost-bench", **(headers or {})}
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"x-access-key: {key}",
        *(f"{name}: {value}" for name, value in named.items()),
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def drive(port: int, request: bytes, *, clients: int, processes: int, seconds: float) -> Load:
    """Keep `clients` requests in flight for so long. Raises WrongAnswer at the first that is no 201."""
    return _drive(port, [[request]] * processes, clients=clients, seconds=seconds)


def drive_each(port: int, requests: Sequence[bytes], *, clients: int, processes: int) -> Load:
    """Send each of these once, `clients` at a time. Raises WrongAnswer at the first that is no 201."""
    return _drive(port, [requests[number::processes] for number in range(processes)], clients=clients, seconds=None)


def _drive(port: int, requests: Sequence[Sequence[bytes]], *, clients: int, seconds: float | None) -> Load:
    """Start a process for each list of requests. Each repeats its list for so long, or sends it once."""
    with ProcessPoolExecutor(len(requests), multiprocessing.get_context("spawn")) as pool:
        each = clients // len(requests)
        parts = [part.result() for part in [pool.submit(_drive_some, port, one, each, seconds) for one in requests]]
    latencies = sorted(latency for part, _ in parts for latency in part)
    per_second = sum(len(part) / elapsed for part, elapsed in parts)
    return Load(len(latencies), per_second, latencies)


def _drive_some(port: int, requests: Sequence[bytes], clients: int, seconds: float | None) -> tuple[list[float], float]:
    """Drive one process. Return latencies, and the seconds from the first request to the last answer."""
    connections, epoll = connect(port, clients), select.epoll()
    coming = iter(requests) if seconds is None else itertools.cycle(requests)
    end = time.perf_counter() + (seconds or float("inf"))
    for number in connections:
        epoll.register(number, select.EPOLLIN)
    latencies: list[float] = []
    sent: dict[int, float] = {}
    start = time.perf_counter()
    for (number, connection), request in zip(connections.items(), coming, strict=False):
        sent[number] = time.perf_counter()
        connection.sendall(request)
    while sent:
        ready = epoll.poll(LONGEST_ANSWER_SECONDS)
        if not ready:
            raise WrongAnswer(f"no answer within {LONGEST_ANSWER_SECONDS:.0f} s")
        for number, _ in ready:
            read_answer(connections[number])
            arrived = time.perf_counter()
            latencies.append(arrived - sent.pop(number))
            if arrived < end and (following := next(coming, None)):
                sent[number] = arrived
                connections[number].sendall(following)
    return latencies, time.perf_counter() - start


def connect(port: int, clients: int) -> dict[int, socket.socket]:
    """Return so many open connections by their file numbers."""
    connections = {}
    for _ in range(clients):
        connection = socket.create_connection(("127.0.0.1", port), LONGEST_ANSWER_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connections[connection.fileno()] = connection
    return connections


def read_answer(connection: socket.socket) -> None:
    """Read one answer. Raises WrongAnswer unless it is a 201."""
    answer = connection.recv(65_536)
    while not _is_whole(answer):
        part = connection.recv(65_536)
        if not part:
            raise WrongAnswer(f"the connection was closed after: {answer!r}")
        answer += part
    if not answer.startswith(b"HTTP/1.1 201 "):
        raise WrongAnswer(answer.decode(errors="replace"))


def _is_whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    lower = head.lower()
    at = lower.find(_LENGTH)
    return at >= 0 and len(body) >= int(lower[at + len(_LENGTH) :].partition(b"\r\n")[0])
