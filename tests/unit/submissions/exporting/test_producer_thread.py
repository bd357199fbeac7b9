"""Threads of a process while it exports."""

import sys
import threading
import uuid
from collections.abc import Generator

import pytest

from submissions.exporting.places import take_place
from submissions.exporting.producer_thread import SWITCH_SECONDS, BackgroundParts
from tests.services.waiting import eventually


@pytest.fixture
def usual() -> Generator[float, None, None]:
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


def test_threads__change_quickly_while_exports_run__and_as_usual_after_the_last(usual: float) -> None:
    organization, go_on = uuid.uuid4(), [threading.Event(), threading.Event()]
    seen: list[float] = []

    def parts(wait: threading.Event) -> Generator[str, None, None]:
        seen.append(sys.getswitchinterval())
        yield "part"
        wait.wait(10)
        seen.append(sys.getswitchinterval())

    both = [BackgroundParts(lambda wait=wait: parts(wait), take_place(organization)) for wait in go_on]  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    for export, wait in zip(both, go_on, strict=True):
        wait.set()
        assert list(export) == ["part"]
        export.close()

    assert seen == [pytest.approx(SWITCH_SECONDS)] * 4
    assert usual > SWITCH_SECONDS
    eventually(lambda: sys.getswitchinterval() == usual)
