"""Passkeys belong to a host name, so browsers refuse them at an IP address such as the one that `make run` prints."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

LOCAL = "localhost"


def passkey_host(request: HttpRequest) -> dict[str, bool | str]:
    """
    Return `{is_address, origin, elsewhere}`: whether this page was opened at an IP address, where passkeys would work,
    and this page there, both "" if unknown. That is localhost with the same port, or PUBLIC_URL.
    """
    parts = urlsplit(f"//{request.get_host()}")
    address, origin = _address(parts.hostname), ""
    if address and address.is_loopback and LOCAL in settings.ALLOWED_HOSTS:
        origin = f"{request.scheme}://{LOCAL}{f':{parts.port}' if parts.port else ''}"
    elif address and _address(urlsplit(settings.PUBLIC_URL).hostname) is None:
        origin = settings.PUBLIC_URL
    return {"is_address": address is not None, "origin": origin, "elsewhere": origin and f"{origin}{request.path}"}


def _address(host: str | None) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host or "")
    except ValueError:
        return None
