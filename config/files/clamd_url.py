"""CLAMD_URL: the address of the virus scanner, `tcp://host:port` or `unix:///path`."""

from urllib.parse import unquote, urlsplit

CLAMD_PORT = 3310  # https://linux.die.net/man/5/clamd.conf


class WrongClamdUrl(ValueError):
    """CLAMD_URL has neither form."""


def read_clamd_url(url: str) -> tuple[str, int] | str:
    """Return host and port, or the path of a Unix socket; raise WrongClamdUrl."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongClamdUrl(url) from None
    if not (parts.query or parts.fragment or parts.username):
        if parts.scheme == "tcp" and parts.hostname and port != 0 and parts.path in ("", "/"):
            return parts.hostname, port or CLAMD_PORT
        if parts.scheme == "unix" and not parts.netloc and parts.path.startswith("/"):
            return unquote(parts.path)
    raise WrongClamdUrl(url)
