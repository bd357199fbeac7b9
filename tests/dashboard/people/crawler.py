"""Follows the links of the dashboard as one person, and keeps every answer."""

import html
import re
from collections import deque
from urllib.parse import urldefrag, urljoin, urlsplit

from tests.services.client import Answer
from tests.support.browser import Browser

# Addresses in pages, of parts that scripts fetch too.
ADDRESS = re.compile(r'(?:href|src|hx-get|data-token|data-rows|data-address)="([^"]+)"')
FOLLOWED = ("/dashboard/", "/files/")
MOST = 600


def crawl(browser: Browser, *starts: str) -> dict[str, Answer]:
    """Return the answers of every address that links lead to from `starts`, by address; redirects are followed."""
    found: dict[str, Answer] = {}
    waiting = deque(starts)
    while waiting:
        address = waiting.popleft()
        if address in found:
            continue
        assert len(found) < MOST, "the crawler goes in circles: " + ", ".join(list(found)[-20:])
        found[address] = answer = browser.get(address)
        waiting.extend(_links(address, answer))
    return found


def _links(address: str, answer: Answer) -> list[str]:
    named = [answer.headers["Location"]] if "Location" in answer.headers else []
    if "html" in answer.headers.get("Content-Type", ""):
        named += [html.unescape(one) for one in ADDRESS.findall(answer.text)]
    paths = [urldefrag(urljoin(address, one)).url for one in named]
    paths = [f"{urlsplit(one).path}?{urlsplit(one).query}".rstrip("?") for one in paths]
    return [one for one in paths if one.startswith(FOLLOWED)]
