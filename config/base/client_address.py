"""The IP address of a client behind our proxies (docs/contract.md 2)."""

import ipaddress
import re

from django.conf import settings
from django.http import HttpRequest

_WITH_PORT = re.compile(r"\[([^]]+)\](?::\d+)?|([^:]+):\d+")  # as some proxies write it; with brackets for IPv6
IPV6_CUSTOMER_BITS = 64  # the smallest assignment to a customer (RFC 6177); a host in it can use any of its addresses


def client_network(request: HttpRequest) -> str:
    """Return the unit that limits count by: an IPv4 address, or the /64 network of an IPv6 address."""
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
    Return the client's IP address; of one that IPv6 maps (`::ffff:192.0.2.1`, RFC 4291, 2.5.5.2) the IPv4 address.

    Only the last TRUSTED_PROXY_COUNT entries of `X-Forwarded-For` are trusted: our own proxies appended them. A client
    can put anything into the entries before those.
    """
    socket = str(request.META.get("REMOTE_ADDR", ""))
    direct = _plain(socket, otherwise=socket)
    hops = settings.TRUSTED_PROXY_COUNT
    if not hops:
        return direct
    forwarded = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    chain = [*forwarded, direct]
    candidate = chain[-hops - 1] if len(chain) > hops else chain[0]
    return _plain(candidate, otherwise=direct)  # a proxy wrote something else: fall back to the socket's address


def _plain(text: str, *, otherwise: str) -> str:
    if found := _WITH_PORT.fullmatch(text):
        text = found[1] or found[2]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return otherwise
    return str(getattr(address, "ipv4_mapped", None) or address)
