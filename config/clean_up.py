"""
The hourly clean-up. Each app registers its jobs in `apps.py`; the task, the command and the thread call `clean_up()`.
"""

from collections.abc import Callable

jobs: list[Callable[[], object]] = []


def register_clean_up(*added: Callable[[], object]) -> None:
    """Add jobs; they run in the order of INSTALLED_APPS. Each must be safe to interrupt and to repeat."""
    jobs.extend(job for job in added if job not in jobs)


def clean_up() -> None:
    """Delete everything past its retention."""
    for job in jobs:
        job()
