"""The other roles on one machine, besides `web`: `manage.py` commands in child processes."""

import subprocess
import sys
import threading

from django.conf import settings

RESTART_PAUSE_SECONDS = 1.0


class Child:
    """A `manage.py` command that is restarted when it dies."""

    def __init__(self, *command: str) -> None:
        self._command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *command]
        self._ending = threading.Event()
        self._process = self._start()
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self, patience_seconds: float) -> None:
        """Terminate it gracefully; kill it after `patience_seconds`."""
        self._ending.set()
        self._process.terminate()
        try:
            self._process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _start(self) -> "subprocess.Popen[bytes]":
        # In a new session, so that Ctrl-C reaches only the parent, which then ends its children in order.
        return subprocess.Popen(self._command, start_new_session=True)  # noqa: S603 - our own command line

    def _watch(self) -> None:
        while not self._ending.is_set():
            self._process.wait()
            if not self._ending.wait(RESTART_PAUSE_SECONDS):
                self._process = self._start()
