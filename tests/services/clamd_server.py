"""A throw-away clamd with one signature of ours, on a Unix socket and a port of 127.0.0.1. Nothing is downloaded."""

import signal
from pathlib import Path

from tests.services.packages import program
from tests.services.processes import Process, free_port, listens
from tests.services.server import Server

VIRUS = b"fieldpost-test-virus-1f0c6d"  # anything with these bytes is infected
VIRUS_NAME = "Fieldpost.Test"
MAX_STREAM_BYTES = 1024 * 1024


class ClamdServer(Server):
    def __init__(self, socket: Path | None = None, *, most_bytes: int = MAX_STREAM_BYTES) -> None:
        """`socket`: where it listens, besides its port. `most_bytes`: of a file that it scans."""
        super().__init__("clamd")
        self.port = free_port()
        self.socket = socket or self.directory / "socket"
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

    def start(self) -> None:
        self.process = Process(
            "clamd", [program("clamd"), "--config-file", self._config], log=self.directory / "log", cwd=self.directory
        )
        # The file of the socket is there before clamd listens.
        self.process.wait_until(lambda: listens(self.port) and listens(self.socket))

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Stop it. A killed one leaves its socket behind."""
        super().stop(number)
        self.socket.unlink(missing_ok=True)
