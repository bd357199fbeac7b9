"""Dispatching to the end, as the deliverer's loop does round by round."""

import dataclasses
from collections.abc import Callable

import pytest

from submissions.models import Submission
from webhooks.events import EVENTS, SUBMISSION_CREATED
from webhooks.outbox import dispatch


def dispatch_all() -> int:
    """Dispatch until nothing is pending; return the number of submissions."""
    dispatched = 0
    while batch := dispatch.dispatch_batch():
        dispatched += batch
    return dispatched


def write_before(monkeypatch: pytest.MonkeyPatch, act: Callable[[Submission], object]) -> None:
    """Do something in the midst of dispatch: before the message of each submission is written."""

    def write(row: Submission) -> str:
        act(row)
        return SUBMISSION_CREATED.write(row)

    changed = dataclasses.replace(SUBMISSION_CREATED, write=write)
    monkeypatch.setitem(EVENTS, SUBMISSION_CREATED.name, changed)
