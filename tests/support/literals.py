"""What answers are compared with: the refusals word for word, and patterns where an id or a moment stands."""

import re
from typing import Any

from tests.services.client import Answer

INVALID_KEY = {"success": False, "error": "invalid_access_key", "message": "Invalid or missing access key"}
FORBIDDEN = {"success": False, "error": "forbidden", "message": "Forbidden"}
UNAUTHORIZED = {"success": False, "error": "unauthorized", "message": "Unauthorized"}

ALL_SIX = [
    "forms:read",
    "forms:write",
    "submissions:read",
    "submissions:export",
    "webhooks:write",
    "analytics:read",
]


class Like:
    """Equal to every string that matches the whole pattern, so that records are compared as a whole."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(self.pattern, other) is not None

    __hash__ = None  # type: ignore[assignment]  # equal to many strings, so it has no hash of its own

    def __repr__(self) -> str:
        return f"Like({self.pattern!r})"


TIME = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SENTENCE = Like(r"\S.*")


def id_of(prefix: str) -> Like:
    return Like(rf"{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}")


def error(code: str, message: Like = SENTENCE) -> dict[str, Any]:
    """An error whose words the contract leaves to the service."""
    return {"success": False, "error": code, "message": message}


def wrong_fields(answer: Answer) -> set[str]:
    """The fields that a validation error names; its message must be that of the first."""
    body = answer.json()
    details = body["details"]
    assert (answer.status, body) == (
        400,
        {**error("validation_error"), "message": details[0]["message"], "details": details},
    )
    assert details == [{"field": Like(".*"), "code": SENTENCE, "message": SENTENCE}] * len(details)
    return {detail["field"] for detail in details}


def assert_headers(answer: Answer, limit: int) -> None:
    """The headers that every answer of a keyed path carries (CONTRACT section 1)."""
    assert answer.headers["X-RateLimit-Limit"] == str(limit)
    assert re.fullmatch(r"\d+", answer.headers["X-RateLimit-Remaining"])
    assert re.fullmatch(r"\d{10}", answer.headers["X-RateLimit-Reset"])
    assert answer.headers["X-Request-Id"]
