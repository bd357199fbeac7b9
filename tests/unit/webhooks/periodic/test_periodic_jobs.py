"""The table of jobs: run by deliverers only, each by itself; a failure is left to the next run."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError

from config.outage import OUTAGE
from tests.services.waiting import eventually
from webhooks import periodic_jobs


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    stop = threading.Event()
    yield stop
    stop.set()


def test_jobs__started__run_again_and_again_while_another_one_takes_long(
    monkeypatch: pytest.MonkeyPatch, stop: threading.Event
) -> None:
    runs = list[int]()
    monkeypatch.setattr(periodic_jobs, "JOBS", {"long": (stop.wait, 0.01), "short": (lambda: runs.append(1), 0.01)})
    threads = periodic_jobs.start(stop)
    eventually(lambda: len(runs) >= 3, because="the short job runs")

    stop.set()
    for thread in threads:  # they look their job up again at each run: the table of this test must outlast them
        thread.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [OperationalError("gone"), ValueError("a defect")], ids=lambda error: str(error))
def test_job__that_fails__is_logged_and_left_to_its_next_run(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    noted = list[BaseException]()
    monkeypatch.setattr(OUTAGE, "note", noted.append)

    def fail() -> None:
        raise error

    monkeypatch.setattr(periodic_jobs, "JOBS", {"failing": (fail, 10.0)})
    periodic_jobs.run("failing")

    is_outage = isinstance(error, OperationalError)
    assert noted == ([error] if is_outage else [])
    logged = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert logged == ([] if is_outage else ["the job failing failed; it runs again in 10 s"])


def test_web__loaded__starts_no_thread() -> None:
    code = "import threading, config.wsgi; print([thread.name for thread in threading.enumerate()])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.services.settings"}
    command = [sys.executable, "-c", code]
    assert subprocess.check_output(command, env=environment, text=True, timeout=60) == "['MainThread']\n"
