"""A site owner's web server: pages on another origin than the service."""

import mimetypes
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Self

PAGES = Path(__file__).parent / "pages"
SHELL = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title></head><body>{}</body></html>'


class Site:
    """Serves the pages of `add` on 127.0.0.1; `localhost` at the same port is another origin."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._pages: dict[str, tuple[bytes, Mapping[str, str]]] = {}
        self._folders: dict[str, Path] = {}

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.add(SHELL.format("<h1>Thanks from the site</h1>"), path="/thanks")
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, html: str | bytes, *, path: str = "", headers: Mapping[str, str] | None = None) -> str:
        """Serve a page with this text and return its address."""
        path = path or f"/page-{next(self._numbers)}.html"
        self._pages[path] = html.encode() if isinstance(html, str) else html, headers or {}
        return self.origin + path

    def add_folder(self, name: str, folder: Path) -> str:
        """Serve the files of a folder and return the address of the folder, without a slash at its end."""
        self._folders[name] = folder
        return f"{self.origin}/{name}"

    def _find(self, path: str) -> tuple[bytes, Mapping[str, str]]:
        _, name, *rest = path.split("/", 2)
        file = self._folders[name] / rest[0] if rest and name in self._folders else None
        if file and file.is_file() and path not in self._pages:
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            return file.read_bytes(), {"Content-Type": kind}
        return self._pages.get(path, (b"", {}))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        find = self._find

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body, headers = find(self.path.partition("?")[0])
                self.send_response(200 if body else 204)  # 204: no favicon, and nobody misses it
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                if body:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *args: object) -> None:
                """Print nothing."""

        return Handler
