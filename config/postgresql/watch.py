"""
A PostgreSQL that takes connections and answers nothing: its processes, its disk, its standby or the network hang.

No limit of the server helps then, because the server would have to enforce it, and none of TCP, because the kernel
there still confirms our bytes. So a query of a web process that has waited for SUSPICIOUS_SECONDS starts a test: a new
connection commits a write that changes nothing (`config/postgresql/watched.py`). Without an answer, the database counts
as frozen until such a test gets one: every waiting query fails immediately, and so does every new one. A query that is
only slow goes on. Any answer counts, an error too.
"""

import threading
import time
from collections.abc import Callable

SUSPICIOUS_SECONDS = 1.5
PAUSE_SECONDS = 0.5  # between tests of a frozen database
TRUST_SECONDS = 3.0  # after an answer, for which slow queries start no other test
FAILURE = "the database does not answer"


class Watch:
    """Whether the database is frozen. One for each process."""

    def __init__(self) -> None:
        self.is_frozen = False
        self._lock = threading.Lock()
        self._is_testing = False
        self._trusted_until = 0.0

    def suspect(self, answers: Callable[[], bool]) -> None:
        """Start the test `answers` in its own thread, unless one runs or has just succeeded."""
        with self._lock:
            if self._is_testing or time.monotonic() < self._trusted_until:
                return
            self._is_testing = True
        threading.Thread(target=self._test, args=(answers,), daemon=True, name="frozen").start()

    def _test(self, answers: Callable[[], bool]) -> None:
        while not answers():
            self.is_frozen = True
            time.sleep(PAUSE_SECONDS)
        with self._lock:
            self.is_frozen = self._is_testing = False
            self._trusted_until = time.monotonic() + TRUST_SECONDS


WATCH = Watch()
