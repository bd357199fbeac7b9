"""
The hourly clean-up. Each app registers what it purges in its `apps.py`; task, command and thread call `clean_up()`.
"""

from collections.abc import Callable

jobs: list[Callable[[], object]] = []


def register_clean_up(*added: Callable[[], object]) -> None:
    """Add jobs, which run in the order of INSTALLED_APPS. Each must be safe to stop and to repeat."""
    jobs.extend(job for job in added if job not in jobs)


def clean_up() -> None:
    """Delete everything whose time of keeping is over."""
    for job in jobs:
        job()
