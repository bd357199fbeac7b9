"""Passkeys belong to a host name, so browsers refuse them at an IP address such as the one that `make run` prints."""

import dataclasses
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

LOCAL = "localhost"


@dataclasses.dataclass(frozen=True, slots=True)
class PasskeyHost:
    """`is_address`: the page was opened at an IP address. `elsewhere`: this page at a host name, "" if unknown."""

    is_address: bool
    elsewhere: str = ""

    @property
    def origin(self) -> str:
        """The scheme, host and port of `elsewhere`."""
        return "{0.scheme}://{0.netloc}".format(urlsplit(self.elsewhere))


def passkey_host(request: HttpRequest) -> PasskeyHost:
    """Return whether this page can use passkeys, and where it could: at localhost with the same port, or PUBLIC_URL."""
    parts = urlsplit(f"//{request.get_host()}")
    address = _address(parts.hostname)
    if address is None:
        return PasskeyHost(is_address=False)
    if address.is_loopback and LOCAL in settings.ALLOWED_HOSTS:
        port = f":{parts.port}" if parts.port else ""
        return PasskeyHost(is_address=True, elsewhere=f"{request.scheme}://{LOCAL}{port}{request.path}")
    is_named = _address(urlsplit(settings.PUBLIC_URL).hostname) is None
    return PasskeyHost(is_address=True, elsewhere=f"{settings.PUBLIC_URL}{request.path}" if is_named else "")


def _address(host: str | None) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host or "")
    except ValueError:
        return None
