"""Ends a process that `manage.py serve` started once its supervisor is gone."""

import os
import signal
import threading
import time

SUPERVISOR_VARIABLE = "FIELDPOST_SUPERVISOR_PID"
POLL_SECONDS = 0.5


def end_with_parent() -> None:
    """
    End this process soon after its supervisor, even if that was killed.

    Otherwise a SIGKILLed `serve` leaves workers behind that hold the port, and the next start fails. A thread that
    compares process ids works on every Unix; Linux's PR_SET_PDEATHSIG watches the parent's thread instead.
    """
    if supervisor := os.environ.get(SUPERVISOR_VARIABLE):  # the parent, or it ended before this process could look
        threading.Thread(target=_watch_parent, args=(int(supervisor),), daemon=True, name="parent-watch").start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
