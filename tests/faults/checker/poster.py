"""The client: posts with an idempotency key, and keeps every answer."""

import json
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import urllib3

from tests.services.client import Client

UNKNOWN = 0  # no answer: the request may have been stored, or not
RETRY_SECONDS = 0.2
PADDING_FIELD = 9_000  # characters of a field; one may have 65,536


@dataclass(frozen=True)
class Told:
    """One answer, or none."""

    status: int
    at: float  # epoch seconds at which it was there
    seconds: float  # since the request
    has_retry_after: bool = False


@dataclass
class Post:
    """One submission: every request for it has the same key and body."""

    key: str
    form_id: str
    body: bytes
    told: list[Told] = field(default_factory=list)
    id: str = ""  # after a 201

    @property
    def message_id(self) -> str:
        return "msg_" + self.id.removeprefix("sub_")

    @property
    def accepted(self) -> float:
        """Return when the first 201 came."""
        return next(told.at for told in self.told if told.status == 201)


class Poster:
    """Posts to the forms in turn, from its own threads, at `rate` a second, until it is stopped or done."""

    def __init__(
        self, port: int, key: str, form_ids: Sequence[str], rng: random.Random, *, padding: int = 0, timeout: float = 30
    ) -> None:
        self._client = Client(port)
        self._client._pool.timeout = urllib3.Timeout(timeout)
        self._key, self._form_ids, self._padding = key, form_ids, padding
        self._run_id = f"{rng.getrandbits(48):012x}"
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._next, self._end, self._start, self._rate = 0, 0, 0.0, 1.0
        self.posts: list[Post] = []
        self.open = 0  # requests without an answer yet

    def close(self) -> None:
        self.stop()
        self._client.__exit__()

    def post(self, text: str = "") -> Post:
        """Post one new submission, once."""
        return self.send(self._new(text))

    def send_to(self, form_id: str) -> Post:
        """Post one new submission to this form, once."""
        return self.send(self._new("", form_id))

    def _new(self, text: str, form_id: str = "") -> Post:
        with self._lock:
            number = len(self.posts)
            values = {"number": f"{self._run_id}-{number}", "text": text}
            for start in range(0, self._padding, PADDING_FIELD):
                values[f"padding{start}"] = "x" * min(PADDING_FIELD, self._padding - start)
            body = json.dumps(values).encode()
            post = Post(f"{self._run_id}-{number}", form_id or self._form_ids[number % len(self._form_ids)], body)
            self.posts.append(post)
        return post

    def send(self, post: Post) -> Post:
        """Send a request for it, and keep the answer."""
        with self._lock:
            self.open += 1
        try:
            return self._send(post)
        finally:
            with self._lock:
                self.open -= 1

    def _send(self, post: Post) -> Post:
        start = time.time()
        headers = {"Idempotency-Key": post.key, "Content-Type": "application/json"}
        try:
            answer = self._client.post(f"/api/submit?formId={post.form_id}", self._key, data=post.body, headers=headers)
        except (urllib3.exceptions.HTTPError, OSError):
            post.told.append(Told(UNKNOWN, time.time(), time.time() - start))
            return post
        if answer.status == 201 and not post.id:
            post.id = answer.json()["data"]["id"]
        now = time.time()
        post.told.append(Told(answer.status, now, now - start, int(answer.headers.get("Retry-After", 0)) > 0))
        return post

    def start(self, count: int = 1_000_000, *, rate: float, threads: int = 8) -> None:
        """Post so many in the background."""
        self._stop.clear()
        self._next, self._end, self._start, self._rate = 0, count, time.monotonic(), rate
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                number, self._next = self._next, self._next + 1
            if number >= self._end or self._stop.wait(max(0, self._start + number / self._rate - time.monotonic())):
                return
            self.post()

    def join(self) -> None:
        """Wait until all were posted."""
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        self._stop.set()
        self.join()

    def settle(self, seconds: float = 60, threads: int = 8) -> list[Post]:
        """Retry each submission without a 201 until it has one. Return those that have none after so long."""
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda post: self._retry(post, end), [post for post in self.posts if not post.id]))
        return [post for post in self.posts if not post.id]

    def _retry(self, post: Post, end: float) -> None:
        pause = threading.Event()
        while not self.send(post).id and not 400 <= post.told[-1].status < 500 and time.monotonic() < end:
            pause.wait(RETRY_SECONDS)

    @property
    def accepted(self) -> dict[str, Post]:
        """Return the submissions answered 201 by the id of their message."""
        return {post.message_id: post for post in self.posts if post.id}

    def told(self) -> list[Told]:
        return [told for post in self.posts for told in post.told]
