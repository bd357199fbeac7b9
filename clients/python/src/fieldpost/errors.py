"""Errors of this package, all of them an `Error`."""

from collections.abc import Sequence
from typing import TypedDict


class Detail(TypedDict):
    """One wrong value: `field` is its name or path, empty for the whole body."""

    field: str
    code: str
    message: str


class Error(Exception):
    """Any error of this package. `code` is a short name for programs, `message` a sentence for people."""

    def __init__(self, message: str, code: str = "usage") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class APIError(Error):
    """An answer that is no success: its HTTP `status`, the API's `code` and `message`, and the `details`."""

    def __init__(self, status: int, code: str, message: str, details: Sequence[Detail] = ()) -> None:
        super().__init__(message, code)
        self.status = status
        self.details = list(details)


class ConnectionError(Error):  # noqa: A001 - as other clients name it
    """The service could not be reached, or the connection was cut."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "unreachable")


class SignatureError(Error):
    """A webhook's message that is not genuine, or too old."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "invalid_signature")
