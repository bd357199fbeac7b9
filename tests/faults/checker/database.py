"""The database as it is at the end, read with plain SQL on either database."""

import json
import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # of the 26 characters of an id (https://github.com/jetify-com/typeid)
SUBMISSIONS = "SELECT id, data, dispatched_at IS NOT NULL FROM submissions_submission WHERE form_id IN ({forms})"
DELIVERIES = """
SELECT d.submission_id, d.receiver_id, d.status, d.attempt_count,
    COALESCE(d.lease_until < {earlier}, {false}), COALESCE(d.next_attempt_at < {earlier}, {false})
FROM webhooks_delivery d JOIN submissions_submission s ON s.id = d.submission_id
WHERE s.form_id IN ({forms}) AND d.channel = 'webhook'
"""


@dataclass(frozen=True)
class Submission:
    number: str  # of the client
    is_dispatched: bool


@dataclass(frozen=True)
class Delivery:
    message_id: str
    webhook_id: str  # public
    status: str
    attempts: int
    has_stale_lease: bool  # which ended so many seconds ago
    is_overdue: bool  # due, that many seconds ago


@dataclass(frozen=True)
class Rows:
    """The rows of some forms. `submissions` are by the id of their message."""

    submissions: dict[str, Submission]
    deliveries: list[Delivery]

    @property
    def unfinished(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.status == "pending"]


def encode(prefix: str, value: Any) -> str:
    """Return the public id of a UUID: 128 bits in 26 digits of base 32."""
    number = value.int if isinstance(value, uuid.UUID) else uuid.UUID(str(value)).int
    return f"{prefix}_" + "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def decode(public_id: str) -> uuid.UUID:
    number = 0
    for character in public_id.partition("_")[2]:
        number = number << 5 | ALPHABET.index(character)
    return uuid.UUID(int=number)


class Database:
    """A database by its URL, read over a fresh connection each time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self.path = urlsplit(url).path

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows."""
        if self.is_sqlite:
            with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=20)) as connection:
                return connection.execute(sql).fetchall()
        with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
            return connection.execute(sql.encode()).fetchall()

    def rows(self, form_ids: list[str], late_seconds: float) -> Rows:
        """Return the submissions of these forms and their deliveries; `late_seconds` says what is stale and overdue."""
        forms = ", ".join(f"'{decode(form).hex if self.is_sqlite else decode(form)}'" for form in form_ids)
        sqlite_earlier = f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{late_seconds} seconds')"
        earlier = sqlite_earlier if self.is_sqlite else f"now() - interval '{late_seconds} seconds'"
        submissions = {
            encode("msg", pk): Submission(_number(data), bool(done))
            for pk, data, done in self.query(SUBMISSIONS.format(forms=forms))
        }
        sql = DELIVERIES.format(forms=forms, earlier=earlier, false="0" if self.is_sqlite else "false")
        deliveries = [
            Delivery(encode("msg", pk), encode("whk", webhook), status, attempts, bool(stale), bool(overdue))
            for pk, webhook, status, attempts, stale, overdue in self.query(sql)
        ]
        return Rows(submissions, deliveries)


def _number(data: Any) -> str:
    values = json.loads(data) if isinstance(data, str) else data
    return str(values["number"])
