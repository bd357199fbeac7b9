"""
The addresses that a webhook may call (docs/contract.md 7, docs/adr/0014).

A URL proves nothing: its name may lead anywhere, and somewhere else a second later. So `resolve()` decides, at the
socket, and the connection goes to exactly the addresses that it checked. `check_url()` refuses URLs when a webhook is
saved by their text only: a name server that never answers would hold a thread of the web process.
"""

import queue
import re
import socket
import string
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

DNS_SECONDS = 5.0
# Threads for one process. A look-up of a name that nobody answers keeps its thread until the system's own timeout, 10
# to 20 seconds, when its attempt has ended long ago: with one for each attempt, those of silent names would hold all.
LOOKUPS_OF_A_SLOT = 4
MAX_URL_BYTES = 2_048  # in UTF-8: PostgreSQL's index of (form, url) takes 2,704, and one character can be four
MAX_HOST_CHARACTERS = 253  # RFC 1035, section 2.3.4; also keeps the quadratic IDNA codec short
DEFAULT_PORTS = {"http": 80, "https": 443}
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](:\d*)?")
_HOST = re.compile(r"[0-9a-z_.-]+")

# The IANA special-purpose registries (iana-ipv4-special-registry, iana-ipv6-special-registry) and addresses of clouds.
# Written out, because Python's `is_global` accepts several of them and changes between patch releases.
SPECIAL_NETWORKS: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this host; Linux connects 0.0.0.0 to itself
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 is a cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host agent, a public address in name only
        "169.254.0.0/16",  # link-local; 169.254.169.254 is the clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocols; 192.0.0.192 is a cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "::/96",  # unspecified, loopback, and IPv4-compatible addresses
        "::ffff:0:0:0/96",  # IPv4-translated addresses (RFC 2765)
        "64:ff9b::/96",  # NAT64: an IPv4 address in disguise
        "64:ff9b:1::/48",  # NAT64 for local use
        "100::/64",  # discard
        "100:0:0:1::/64",  # dummy prefix
        "2001::/23",  # IETF protocols: Teredo (2001::/32), ORCHID, ORCHIDv2 (2001:20::/28), benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former 6bone
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # private
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
)
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # RFC 4291: nothing outside of it is reached over the internet


class NameNotResolved(Exception):
    """The host has no address now, or none was found in time."""


class AddressRefused(Exception):
    """The host leads to an address that webhooks must not call."""


class PortRefused(AddressRefused):
    """The port is not in `WEBHOOK_ALLOWED_PORTS`, and the host is not inside `WEBHOOK_ALLOWED_NETWORKS`."""


class UrlRefused(ValueError):
    """A URL that no webhook may have: `code` for programs, `message` for its owner, with the next step."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SocketAddress(NamedTuple):
    """One checked answer of a look-up, as `socket.socket(family)` and `.connect(sockaddr)` take it."""

    family: socket.AddressFamily
    sockaddr: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Destination:
    """A well-formed webhook URL in parts; `host` is ASCII without brackets, `target` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def url(self) -> str:
        """The same URL with an ASCII host and no default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def is_refused(address: Address, allowed_networks: Sequence[Network] = ()) -> bool:
    """Return whether a webhook must not connect to the address; a range in `allowed_networks` is open."""
    address = _unwrap(address)
    if _is_inside(address, allowed_networks):
        return False
    if _is_inside(address, SPECIAL_NETWORKS) or not address.is_global or address.is_multicast:
        return True
    return address.version == 6 and address not in GLOBAL_UNICAST_V6


def resolve(host: str, port: int, timeout: float = DNS_SECONDS) -> list[SocketAddress]:
    """
    Look up the host once and return its addresses, all of them checked, in the system's order.

    `host` is a name or an address without brackets, `timeout` is in seconds. Raises NameNotResolved, or AddressRefused
    (PortRefused) when any single answer is refused: a name with one public and one private address is a trap.
    """
    answers = look_up(host, port, timeout)
    allowed_networks = _allowed_networks(tuple(settings.WEBHOOK_ALLOWED_NETWORKS))
    addresses = [_address_of(answer) for answer in answers]
    if any(is_refused(address, allowed_networks) for address in addresses):
        raise AddressRefused(host)
    is_all_open = all(_is_inside(_unwrap(address), allowed_networks) for address in addresses)
    if port not in settings.WEBHOOK_ALLOWED_PORTS and not is_all_open:
        raise PortRefused(host)
    return answers


def look_up(host: str, port: int, timeout: float = DNS_SECONDS) -> list[SocketAddress]:
    """
    Return the answers of getaddrinfo, unchecked: for hosts that the operator chose. Raises NameNotResolved.

    getaddrinfo has no timeout, so it runs in a thread that is abandoned when it takes too long.
    """
    end = time.monotonic() + timeout
    if not _lookup_slots.acquire(timeout=timeout):
        raise NameNotResolved(host)
    answer: queue.SimpleQueue[list[SocketAddress]] = queue.SimpleQueue()
    try:
        threading.Thread(target=_ask, args=(host, port, answer), name="webhook-dns", daemon=True).start()
    except RuntimeError as error:  # the host has no thread left
        _lookup_slots.release()
        raise NameNotResolved(host) from error
    try:
        found = answer.get(timeout=max(0.0, end - time.monotonic()))
    except queue.Empty:
        found = []
    if not found:
        raise NameNotResolved(host)
    return found


_lookup_slots = threading.BoundedSemaphore(
    LOOKUPS_OF_A_SLOT * (settings.DELIVERY_CONCURRENCY + settings.MAIL_CONCURRENCY)
)


def _ask(host: str, port: int, answer: queue.SimpleQueue[list[SocketAddress]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.put([SocketAddress(family, sockaddr) for family, _, _, _, sockaddr in found])
    except (OSError, ValueError):  # ValueError: NUL characters and labels that IDNA cannot encode
        answer.put([])
    finally:
        _lookup_slots.release()


@lru_cache(maxsize=8)
def _allowed_networks(cidrs: tuple[str, ...]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(cidr.strip()) for cidr in cidrs)
    except ValueError as error:
        raise ImproperlyConfigured(f"WEBHOOK_ALLOWED_NETWORKS: {error}") from error


def _address_of(answer: SocketAddress) -> Address:
    try:
        return ip_address(answer.sockaddr[0])
    except ValueError as error:
        raise AddressRefused("an address of an unknown family") from error


def _unwrap(address: Address) -> Address:
    """Unwrap ::ffff:127.0.0.1, which is 127.0.0.1 to the network."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_inside(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def check_url(url: str) -> None:
    """
    Raise UrlRefused, and nothing else, unless a webhook may have this URL, as far as its text says. Looks nothing up.

    Other names are accepted: the first attempt shows where they lead. While the operator opens networks, a name may be
    one inside of them, on any port, so names are left to the socket.
    """
    destination = parse_url(url)
    networks = _allowed_networks(tuple(settings.WEBHOOK_ALLOWED_NETWORKS))
    host = destination.host.rstrip(".")
    literal = _literal(host)
    if literal is None and networks and not _ends_in_a_number(host):
        return
    if _is_local(host) if literal is None else is_refused(literal, networks):
        message = gettext(
            "The host leads to a private or special address. Use one that is reachable from the internet. On your "
            "own installation, open its network with WEBHOOK_ALLOWED_NETWORKS."
        )
        raise UrlRefused("address_not_allowed", message)
    is_open = literal is not None and _is_inside(_unwrap(literal), networks)
    if destination.port not in settings.WEBHOOK_ALLOWED_PORTS and not is_open:
        ports = ", ".join(map(str, settings.WEBHOOK_ALLOWED_PORTS))
        message = gettext("Port %(port)s is not allowed. Use one of these: %(ports)s.")
        raise UrlRefused("port_not_allowed", message % {"port": destination.port, "ports": ports})


def canonical_host(url: str) -> str:
    """
    Return the host of a webhook's URL in one spelling, "" for a refused URL.

    Inside of opened networks with its port: different services of one machine.
    """
    try:
        destination = parse_url(url)
    except UrlRefused:
        return ""
    host = destination.host.rstrip(".")
    literal = _literal(host)
    if literal is None:
        return host
    address = _unwrap(literal)
    is_open = _is_inside(address, _allowed_networks(tuple(settings.WEBHOOK_ALLOWED_NETWORKS)))
    return f"{address}:{destination.port}" if is_open else str(address)


def _literal(host: str) -> Address | None:
    """Return the address that a host is, in any spelling that the system's resolver reads; None for a name."""
    if ":" in host:
        return IPv6Address(host)
    try:
        return IPv4Address(socket.inet_aton(host))  # octal, hexadecimal, and with fewer than four parts, too
    except OSError:
        return None


def _ends_in_a_number(host: str) -> bool:
    """Return whether a host is meant as an address (https://url.spec.whatwg.org/#ends-in-a-number-checker)."""
    last = host.rpartition(".")[2]
    return last.isdigit() or (last.startswith("0x") and not last[2:].strip(string.hexdigits))


def _is_local(name: str) -> bool:
    """Return whether only the local network knows the name: `localhost` and below it (RFC 6761), and single labels."""
    return "." not in name or name.endswith(".localhost") or _ends_in_a_number(name)


def parse_url(url: str) -> Destination:
    """Split a webhook URL and check its form, without any look-up. Raises UrlRefused."""
    if len(url.encode("utf-8", "replace")) > MAX_URL_BYTES:
        message = gettext("Shorten the URL to at most %(most)s characters.") % {"most": intcomma(MAX_URL_BYTES)}
        raise UrlRefused("url_too_long", message)
    if not url.isprintable() or " " in url or "\\" in url:
        message = gettext("Remove blanks, backslashes and invisible characters from the URL, or percent-encode them.")
        raise UrlRefused("invalid_characters", message)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _malformed() from None
    _check_form(parts)
    if "@" in parts.netloc:
        message = gettext("Remove the user name and password from the URL; deliveries are signed instead.")
        raise UrlRefused("userinfo_not_allowed", message)
    if "#" in url:
        raise UrlRefused("fragment_not_allowed", gettext("Remove the part from # on: it is never sent to a server."))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme, _ascii_host(parts), DEFAULT_PORTS[parts.scheme] if port is None else port, target)


def _check_form(parts: SplitResult) -> None:
    if not parts.scheme or not parts.netloc or parts.port == 0:
        raise _malformed()
    if parts.scheme == "https" or (parts.scheme == "http" and settings.WEBHOOK_ALLOW_HTTP):
        return
    if settings.WEBHOOK_ALLOW_HTTP:
        raise UrlRefused("scheme_not_allowed", gettext("Use a URL that begins with https:// or http://."))
    raise UrlRefused("scheme_not_allowed", gettext("Use a URL that begins with https://."))


def _ascii_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if bracketed := _BRACKETED.fullmatch(parts.netloc):  # no %: zones are local matters
        try:
            return str(IPv6Address(bracketed[1]))
        except ValueError:
            raise _invalid_host() from None
    # IDNA 2003, which Python speaks, writes these two as "ss" and as another sigma: another domain.
    if len(host) > MAX_HOST_CHARACTERS or "ß" in host or "ς" in host:
        raise _invalid_host()
    try:
        host = host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _invalid_host() from None
    if not _HOST.fullmatch(host):
        raise _invalid_host()
    return host


def _malformed() -> UrlRefused:
    return UrlRefused("invalid_url", gettext("Write a full URL such as https://example.com/webhook."))


def _invalid_host() -> UrlRefused:
    return UrlRefused(
        "invalid_host", gettext("Write the host in letters, digits, dots and hyphens (its xn-- form if needed).")
    )
