"""The outcome of one attempt, the same for every channel."""

from dataclasses import dataclass

EXCERPT_BYTES = 4 * 1024  # the part of an answer that the log keeps


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of one attempt.

    status: the HTTP or SMTP status, None when there was no answer. duration_ms: milliseconds from the start to the end.
    error: a value of ErrorClass, "" on success. response_excerpt: the first 4 KiB of the answer, without U+0000.
    retry_after_seconds: the receiver's Retry-After, 0 to 24 hours. permanent: a retry cannot help. tries: after so many
    failures of a round it is final, None for the whole schedule.
    gone: the endpoint answered 410 and accepts no more messages (docs/contract.md 7). lost: the claim ended without a
    result. refused: why the receiver does not accept our credentials, "" if it does; its deliveries
    wait until somebody has corrected them.
    """

    succeeded: bool
    status: int | None
    duration_ms: int
    error: str
    response_excerpt: str = ""
    retry_after_seconds: float | None = None
    permanent: bool = False
    tries: int | None = None
    gone: bool = False
    lost: bool = False
    refused: str = ""
