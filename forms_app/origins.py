"""
Origins of pages: parsed strictly, compared exactly by scheme, host and port (docs/contract.md 5, RFC 6454).

`https://*.example.com` matches every subdomain, at any depth, but not example.com itself.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.utils.translation import gettext

_ORIGIN = re.compile(r"(https?)://((?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class InvalidOrigin(ValueError):
    """The text is not an origin. The message describes the format."""


def parse_origin_pattern(text: str) -> str:
    """Return an origin in the spelling that browsers send: lower case, no default port. Raises InvalidOrigin."""
    match = _ORIGIN.fullmatch(text.strip().lower())
    if match is None or int(match[3] or 0) > 65_535:
        shown = text[:100]
        text = gettext('"%(origin)s" is not an origin. Write it like https://example.com, without a path.')
        raise InvalidOrigin(text % {"origin": shown})
    scheme, host, digits = match.groups()
    port = digits and str(int(digits))  # without leading zeros
    return f"{scheme}://{host}" + (f":{port}" if port and port != _DEFAULT_PORTS[scheme] else "")


def origin_of(url: str) -> str:
    """Return the origin of a URL, such as a Referer, or an empty string."""
    try:
        parts = urlsplit(url)
        return parse_origin_pattern(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    except ValueError:  # InvalidOrigin is one
        return ""


def is_allowed(origin: str, allowed: Sequence[str]) -> bool:
    try:
        origin = parse_origin_pattern(origin)
    except InvalidOrigin:  # `null`, or the scheme of a browser extension
        return False
    scheme, _, host = origin.partition("://")
    suffixes = tuple(
        pattern.removeprefix(f"{scheme}://*") for pattern in allowed if pattern.startswith(f"{scheme}://*")
    )
    return origin in allowed or (host.endswith(suffixes) and not host.startswith("*"))
