"""nginx with `deploy/nginx.conf`, in front of a running service. Only names, ports and folders of the file change."""

import os
import signal
import subprocess
from pathlib import Path

from tests.services.packages import program
from tests.services.processes import ROOT, Process, free_port, listens
from tests.services.server import Server

# Where a distribution's nginx writes, as its own user.
OWN = """
daemon off;
{user}
pid {folder}/pid;
error_log stderr warn;
"""
OWN_HTTP = """
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    add_header X-From-Cache $upstream_cache_status;
"""


class Nginx(Server):
    """
    Serves `https` and, which the example only redirects to it, `port` without TLS; `redirect` is the example's port 80.

    `more`: other replacements in the example.
    """

    def __init__(
        self, port: int, events_port: int, *, parent: Path | None = None, more: dict[str, str] | None = None
    ) -> None:
        super().__init__("nginx", parent)
        self.https, self.port, self.redirect = free_port(), free_port(), free_port()
        self._replaced = {
            "forms.example.com": "localhost",
            "/etc/ssl/fieldpost": str(self.directory),
            "/var/cache/nginx/fieldpost": f"{self.directory}/cache",
            "/var/www/html": f"{self.directory}/html",
            "listen 443 ssl http2 backlog=4096;": f"listen 127.0.0.1:{self.https} ssl http2 backlog=4096;"
            f" listen 127.0.0.1:{self.port} backlog=4096;",
            "listen 80;": f"listen 127.0.0.1:{self.redirect};",
            "127.0.0.1:8000": f"127.0.0.1:{port}",
            "127.0.0.1:8001": f"127.0.0.1:{events_port}",
            **(more or {}),
        }

    @property
    def proofs(self) -> Path:
        """Return where certbot puts what it proves a name with."""
        return self.directory / "html/.well-known/acme-challenge"

    @property
    def certificate(self) -> Path:
        return self.directory / "certificate.pem"

    def prepare(self) -> None:
        """Write the certificate and the file of settings."""
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        files = ["-keyout", str(self.directory / "key.pem"), "-out", str(self.certificate)]
        subprocess.run([program("openssl"), "req", "-x509", *kind, *name, *files], check=True, capture_output=True)
        text = (ROOT / "deploy" / "nginx.conf").read_text()
        for given, ours in self._replaced.items():
            assert given in text, given
            text = text.replace(given, ours)
        user = "user root;" if os.geteuid() == 0 else ""
        text = OWN.format(folder=self.directory, user=user) + text
        text = text.replace("http {\n", "http {\n" + OWN_HTTP.format(folder=self.directory), 1)
        (self.directory / "nginx.conf").write_text(text)

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        command: list[str | Path] = [program("nginx"), "-p", self.directory, "-c", self.directory / "nginx.conf"]
        self.process = Process("nginx", command, log=self.directory / "log")
        self.process.wait_until(lambda: listens(self.https))
        assert (self.directory / "log").read_text() == "", "nginx warns about its configuration"

    def reload(self) -> None:
        """Read the file of settings again."""
        assert self.process
        self.process.send(signal.SIGHUP)
