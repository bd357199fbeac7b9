"""What the API answers, as literals: envelopes, and stand-ins for what differs in every run (ids and times)."""

import re
from typing import Any

from config.ids import encode_id, new_id


class Like:
    """Equal to every string that the pattern matches as a whole."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self._pattern.fullmatch(other) is not None

    def __hash__(self) -> int:
        return hash(self._pattern)

    def __repr__(self) -> str:
        return f"Like({self._pattern.pattern!r})"


TIME = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SECONDS = Like(r"[1-9]\d*")
REQUEST_ID = Like(r"[A-Za-z0-9._-]{1,64}")


def an_id(prefix: str) -> Like:
    """Any id of one kind: a UUIDv7 has its version in the 49th bit."""
    return Like(rf"{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}")


def unknown_id(prefix: str) -> str:
    """A well-formed id that nothing has."""
    return encode_id(prefix, new_id())


def success(data: Any, message: str) -> dict[str, Any]:
    return {"success": True, "data": data, "message": message}


def failure(error: str, message: str) -> dict[str, Any]:
    return {"success": False, "error": error, "message": message}


def invalid(*details: tuple[str, str, str]) -> dict[str, Any]:
    """A validation error: `(field, code, message)` for each wrong value; the first message is the envelope's."""
    shown = [dict(zip(("field", "code", "message"), detail, strict=True)) for detail in details]
    return {**failure("validation_error", details[0][2]), "details": shown}


INVALID_ACCESS_KEY = failure("invalid_access_key", "Invalid or missing access key")
FORBIDDEN = failure("forbidden", "Forbidden")
UNAUTHORIZED = failure("unauthorized", "Unauthorized")
NOT_FOUND = failure("not_found", "There is nothing here. Check the path and the id.")


def invalid_id(prefix: str, field: str = "id") -> dict[str, Any]:
    message = f"Expected an id that begins with {prefix}_ and has 26 characters after it."
    return invalid((field, "invalid_id", f"{field}: {message}"))
