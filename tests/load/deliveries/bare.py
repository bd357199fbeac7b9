"""
The reference of a drain: urllib3's pool with 32 threads and connections that are kept alive, without everything else.

It posts the same number of messages of the same size, with the same headers, to the same URLs. It leaves out claims,
leases, signatures, the address guard and the record of each attempt.

    python -m tests.load.deliveries.bare    reads a `Posts` as JSON, prints the seconds
"""

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import urllib3

from tests.services.processes import ROOT

THREADS = 32


@dataclass(frozen=True)
class Posts:
    """Messages to post: `count` times this body, to the URLs in turn, each with another `webhook-id`."""

    urls: Sequence[str]
    headers: Mapping[str, str]
    body: str
    count: int


def bare_seconds(posts: Posts) -> float:
    """Post in a new process. Return the seconds from the first request to the last answer."""
    command = [sys.executable, "-m", __name__]
    result = subprocess.run(command, input=json.dumps(asdict(posts)), capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise RuntimeError(f"the bare pool failed:\n{result.stderr}")
    return float(result.stdout)


def main() -> None:
    posts = Posts(**json.load(sys.stdin))
    numbers, body = itertools.count(), posts.body.encode()
    manager = urllib3.PoolManager(maxsize=THREADS, block=True)
    at_the_line = threading.Barrier(THREADS + 1)

    def work(_: int) -> None:
        at_the_line.wait()
        while (number := next(numbers)) < posts.count:
            headers = {**posts.headers, "webhook-id": f"msg_{number:026}"}
            answer = manager.request("POST", posts.urls[number % len(posts.urls)], body=body, headers=headers)
            assert answer.status == 201, answer.status

    with ThreadPoolExecutor(THREADS) as pool:
        results = pool.map(work, range(THREADS))
        at_the_line.wait()
        start = time.monotonic()
        list(results)
        print(time.monotonic() - start)


if __name__ == "__main__":
    main()
