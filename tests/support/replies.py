"""Replies of the API as literals: envelopes, refusals word for word, and patterns for ids and times."""

import re
from typing import Any

from config.base.ids import encode_id, new_id
from tests.services.client import Answer


class Like:
    """Equal to every string that matches the whole pattern, so that records are compared as a whole."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self._pattern.fullmatch(other) is not None

    def __hash__(self) -> int:
        return hash(self._pattern)

    def __repr__(self) -> str:
        return f"Like({self._pattern.pattern!r})"


Text = str | Like

TIME = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SECONDS = Like(r"[1-9]\d*")
REQUEST_ID = Like(r"[A-Za-z0-9._-]{1,64}")
SENTENCE = Like(r"\S.*")  # where docs/contract.md leaves the words to the service

ALL_SIX = [
    "forms:read",
    "forms:write",
    "submissions:read",
    "submissions:export",
    "webhooks:write",
    "analytics:read",
]


def an_id(prefix: str) -> Like:
    """Match any id of one kind: the prefix and a UUIDv7 in Crockford's base32."""
    return Like(rf"{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}")


def unknown_id(prefix: str) -> str:
    """Return a well-formed id that no object has."""
    return encode_id(prefix, new_id())


def success(data: Any, message: Text = SENTENCE) -> dict[str, Any]:
    return {"success": True, "data": data, "message": message}


def failure(error: str, message: Text = SENTENCE) -> dict[str, Any]:
    return {"success": False, "error": error, "message": message}


def invalid(*details: tuple[str, str, str]) -> dict[str, Any]:
    """Return a validation error with `(field, code, message)` for each wrong value; the first message is repeated."""
    shown = [dict(zip(("field", "code", "message"), detail, strict=True)) for detail in details]
    return {**failure("validation_error", details[0][2]), "details": shown}


INVALID_ACCESS_KEY = failure("invalid_access_key", "Invalid or missing access key")
FORBIDDEN = failure("forbidden", "Forbidden")
UNAUTHORIZED = failure("unauthorized", "Unauthorized")
NOT_FOUND = failure("not_found", "There is nothing here. Check the path and the id.")


def invalid_id(prefix: str, field: str = "id") -> dict[str, Any]:
    message = f"Expected an id that begins with {prefix}_ and has 26 characters after it."
    return invalid((field, "invalid_id", f"{field}: {message}"))


def wrong_fields(answer: Answer) -> set[str]:
    """Return the fields that a validation error names, after checking its shape. Its message is that of the first."""
    body = answer.json()
    details = body["details"]
    assert (answer.status, body) == (400, {**failure("validation_error", details[0]["message"]), "details": details})
    assert details == [{"field": Like(".*"), "code": SENTENCE, "message": SENTENCE}] * len(details)
    return {detail["field"] for detail in details}


def assert_headers(answer: Answer, limit: int) -> None:
    """Assert the headers that every answer of a path with access keys carries (docs/contract.md 1)."""
    assert answer.headers["X-RateLimit-Limit"] == str(limit)
    assert re.fullmatch(r"\d+", answer.headers["X-RateLimit-Remaining"])
    assert re.fullmatch(r"\d{10}", answer.headers["X-RateLimit-Reset"])
    assert answer.headers["X-Request-Id"]
    assert answer.headers["Cache-Control"] == "no-store"
