"""The one place that says which address a client has (CONTRACT section 2)."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

IPV6_CUSTOMER_BITS = 64  # what one customer gets at least, and every host in it can take any address (RFC 6177)


def client_network(request: HttpRequest) -> str:
    """Return what limits count: an IPv4 address, or the /64 network of an IPv6 one."""
    address = client_address(request)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, IPV6_CUSTOMER_BITS), strict=False))


def client_address(request: HttpRequest) -> str:
    """
    Return the client's IP address.

    `X-Forwarded-For` is believed only for as many entries, from the right, as there are proxies of ours
    (TRUSTED_PROXY_COUNT); everything further left is the client's own invention.
    """
    direct = str(request.META.get("REMOTE_ADDR", ""))
    hops = settings.TRUSTED_PROXY_COUNT
    if not hops:
        return direct
    forwarded = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    chain = [*forwarded, direct]
    candidate = chain[-hops - 1] if len(chain) > hops else chain[0]
    try:
        return str(ipaddress.ip_address(candidate))
    except ValueError:  # a proxy that writes something else: fall back to what the socket says
        return direct
