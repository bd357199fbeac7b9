"""A throw-away OpenStack Swift with its S3 interface, which compares the signature of every request."""

import secrets
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import quote

from tests.services.processes import Process, free_port, listens

PYTHON = "/usr/bin/python3"  # Debian's, for which its package installs Swift
INSIDE = Path(__file__).with_name("inside.py")
USER, BUCKET = "fieldpost:tester", "files"


class SwiftServer:
    """Stopped and started again it comes back empty, on the same port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.key = secrets.token_urlsafe(20) + "/+"  # as real ones have, to be percent-encoded in FILES_URL
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self.process: Process | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, *, key: str = "", bucket: str = BUCKET, prefix: str = "", port: int = 0) -> str:
        user, secret = quote(USER, safe=""), quote(key or self.key, safe="")
        place = f"{bucket}/{prefix}" if prefix else bucket
        return f"s3://{user}:{secret}@127.0.0.1:{port or self.port}/{place}?region=us-east-1&scheme=http"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the proxy listens and its bucket is there."""
        self._directory = tempfile.TemporaryDirectory(prefix="fieldpost-swift-", ignore_cleanup_errors=True)
        directory = Path(self._directory.name)
        command: list[str | Path] = [PYTHON, INSIDE, str(self.port), directory, USER, self.key, BUCKET]
        self.process = Process("Swift", command, log=directory / "log", cwd=directory)
        self.process.wait_until(lambda: listens(self.port))

    def stop(self) -> None:
        if self.process:
            self.process.kill()  # it keeps nothing
            self.process = None
        if self._directory:
            self._directory.cleanup()
            self._directory = None
