"""A throw-away clamd with one signature of ours, on a Unix socket and a port of 127.0.0.1. Nothing is downloaded."""

import signal
import tempfile
from pathlib import Path
from typing import Self

from tests.services.packages import clamd
from tests.services.processes import Process, free_port, listens

VIRUS = b"fieldpost-test-virus-1f0c6d"  # anything with these bytes is infected
VIRUS_NAME = "Fieldpost.Test"
MAX_STREAM_BYTES = 1024 * 1024


class ClamdServer:
    """Stopped and started again it comes back in the same places."""

    def __init__(self, socket: Path | None = None, *, most_bytes: int = MAX_STREAM_BYTES) -> None:
        """`socket`: where it listens, besides its port. `most_bytes`: of a file that it scans."""
        self.port = free_port()
        self._directory = tempfile.TemporaryDirectory(prefix="fieldpost-clamd-", ignore_cleanup_errors=True)
        self.directory = Path(self._directory.name)
        self.socket = socket or self.directory / "socket"
        self.process: Process | None = None
        signatures = self.directory / "signatures"
        signatures.mkdir()
        (signatures / "fieldpost.ndb").write_text(f"{VIRUS_NAME}:0:*:{VIRUS.hex()}\n")
        self._config = self.directory / "clamd.conf"
        self._config.write_text(
            f"DatabaseDirectory {signatures}\nLocalSocket {self.socket}\nTCPSocket {self.port}\n"
            f"TCPAddr 127.0.0.1\nForeground yes\nStreamMaxLength {most_bytes}\nMaxThreads 4\n"
        )

    @property
    def tcp_url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    @property
    def unix_url(self) -> str:
        return f"unix://{self.socket}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def start(self) -> None:
        program = clamd()
        assert program
        self.process = Process(
            "clamd", [program, "--config-file", self._config], log=self.directory / "log", cwd=self.directory
        )
        # The file of the socket is there before clamd listens.
        self.process.wait_until(lambda: listens(self.port) and listens(self.socket))

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.process:
            self.process.stop(number)
            self.process = None
            self.socket.unlink(missing_ok=True)  # a killed one leaves it behind

    def remove(self) -> None:
        self.stop()
        self._directory.cleanup()
