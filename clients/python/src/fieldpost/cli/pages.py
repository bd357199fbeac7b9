"""HTML pages: from a file, or from the web as a visitor gets them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from urllib3.exceptions import HTTPError

from fieldpost.cli.output import CommandError
from fieldpost.transport import pool_for, reason

MAX_PAGE = 10 * 1024 * 1024  # bytes
MAX_REDIRECTS = 5


@dataclass(frozen=True)
class Page:
    """A page at its last address."""

    url: str
    headers: Mapping[str, str]  # found in any case
    body: bytes


def read_page(path: Path) -> bytes:
    with path.open("rb") as file:
        return _bounded(file.read(MAX_PAGE + 1))


def fetch_page(url: str) -> Page:
    """Return a page, as a visitor who is not logged in anywhere gets it."""
    for _ in range(MAX_REDIRECTS + 1):
        try:
            answer = pool_for(url).urlopen("GET", url, redirect=False, preload_content=False)
            body = answer.read(MAX_PAGE + 1, decode_content=True) if answer.status < 300 else b""
            answer.close()
        except (HTTPError, ValueError) as error:
            raise CommandError("unreachable", reason(url, error)) from None
        if answer.status == 200:
            return Page(url, answer.headers, _bounded(body))
        target = answer.headers.get("Location")
        if answer.status >= 400 or not target:
            raise CommandError("page_unavailable", f"{url} answered {answer.status}: save the page, and name the file.")
        url = urljoin(url, target)
        if not url.startswith(("http://", "https://")):
            break
    raise CommandError("page_unavailable", f"{url} leads on and on.")


def _bounded(body: bytes) -> bytes:
    if len(body) > MAX_PAGE:
        raise CommandError("too_large", "The page has more than 10 MB.")
    return body
