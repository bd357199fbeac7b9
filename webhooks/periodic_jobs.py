"""The jobs that run again and again, besides dispatch and delivery: Celery's beat and `manage.py deliver` run them."""

import logging
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import connection

from config.base.database import is_away
from config.clean_up import clean_up
from config.outage import OUTAGE
from submissions.files.removal import remove_due
from submissions.files.scanning.pending import scan_due
from submissions.lifecycle.held import release_due
from submissions.lifecycle.mode_bounds import purge_tests

JOBS: dict[str, tuple[Callable[[], object], float]] = {  # name -> what runs, and every how many seconds
    "release-held": (release_due, settings.JOBS_POLL_SECONDS),
    "remove-files": (remove_due, settings.JOBS_POLL_SECONDS),
    "purge-tests": (purge_tests, settings.JOBS_POLL_SECONDS),
    "clean-up": (clean_up, 3600.0),
}
if settings.CLAMD_URL:
    JOBS["scan-files"] = (scan_due, 2.0)
FIRST_RUN_SECONDS = 60.0  # at most, after the start of `manage.py deliver`

logger = logging.getLogger(__name__)


def run(name: str) -> None:
    """Run a job once. A failure is left to its next run."""
    job, seconds = JOBS[name]
    try:
        job()
    except Exception as error:
        if is_away(error):
            OUTAGE.note(error)
        else:
            logger.exception("the job %s failed; it runs again in %.0f s", name, seconds)
    finally:
        connection.close()


def start(stop: threading.Event) -> list[threading.Thread]:
    """Start a thread for each job, so that a long one delays no other."""
    threads = [threading.Thread(target=_repeat, args=(name, stop), name=name, daemon=True) for name in JOBS]
    for thread in threads:
        thread.start()
    return threads


def _repeat(name: str, stop: threading.Event) -> None:
    seconds = JOBS[name][1]
    delay = min(seconds, FIRST_RUN_SECONDS)
    while not stop.wait(delay):
        run(name)
        delay = seconds
