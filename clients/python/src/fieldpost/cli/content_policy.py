"""Content-Security-Policy: whether a page may load from, connect to, and post to an origin (CSP level 3)."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

FALLBACKS = {"script-src-elem": ("script-src", "default-src"), "connect-src": ("default-src",), "form-action": ()}
_SOURCE = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?P<host>\*|(?:\*\.)?[a-z0-9.-]+|\[[0-9a-f:]+\])(?P<port>:[^/]+)?(?:/.*)?"
)
PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return the origin of an address, without a default port."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    is_default = parts.port in (None, PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{parts.port}")


def refused_by(policies: Iterable[str], directives: Iterable[str], page: str, target: str) -> list[str]:
    """Return the directives of any policy that keep the page at `page` from `target`."""
    found = []
    for policy in policies:
        given = _parsed(policy)
        for directive in directives:
            named = next((name for name in (directive, *FALLBACKS[directive]) if name in given), None)
            if named and not any(_allows(source, page, target) for source in given[named]):
                found.append(named)
    return list(dict.fromkeys(found))


def _parsed(policy: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in policy.split(";"):
        name, *sources = part.split() or [""]
        found.setdefault(name.lower(), sources)
    return found


def _allows(source: str, page: str, target: str) -> bool:
    wanted, source = urlsplit(origin_of(target)), source.lower()
    if source == "'self'":
        return origin_of(page) == origin_of(target)
    if source.endswith(":") and source[:-1].isalpha():
        return source[:-1] == wanted.scheme or (source, wanted.scheme) == ("http:", "https")
    match = _SOURCE.fullmatch(source)
    if match is None:
        return False
    schemes = {match["scheme"] or urlsplit(page).scheme}
    schemes |= {"https"} if "http" in schemes else set()
    return wanted.scheme in schemes and _has_host(match["host"], wanted.netloc) and _has_port(match["port"], target)


def _has_host(pattern: str, netloc: str) -> bool:
    host = re.sub(r":\d+\Z", "", netloc)
    return pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def _has_port(port: str | None, target: str) -> bool:
    parts = urlsplit(target)
    wanted = parts.port or PORTS.get(parts.scheme)
    return port == ":*" or (int(port[1:]) if port and port[1:].isdigit() else PORTS.get(parts.scheme)) == wanted
