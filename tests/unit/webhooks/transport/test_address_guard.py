"""The guard against special addresses: by table, by odd spellings, and by whatever hypothesis thinks of."""

import socket
import threading
import time
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tests.unit.webhooks.transport.raw_receiver import SILENT_SECONDS
from webhooks.transport import address_guard
from webhooks.transport.address_guard import (
    AddressRefused,
    NameNotResolved,
    PortRefused,
    UrlRefused,
    check_url,
    is_refused,
    parse_url,
    resolve,
)

PUBLIC = "93.184.215.14"
PUBLIC_V6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"
REAL_GETADDRINFO = socket.getaddrinfo

# Written out again on purpose: a range dropped from the guard's own table must fail here.
# fmt: off
REFUSED_RANGES = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "255.255.255.255/32", "::/128", "::1/128", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
    "100::/64", "100:0:0:1::/64", "2001::/32", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28",
    "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20", "4000::/3", "5f00::/16", "8000::/1",
    "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]
# fmt: on
METADATA = ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"]
# fmt: off
SPELLINGS = [
    # decimal, octal, hexadecimal, mixed, and short forms of one to three parts
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "2130706433", "0x7f000001", "0X7F000001", "017700000001", "0x7f.1",
    "0x7f.0.1", "0x7f.0x0.0x0.0x1", "0177.1", "0177.0.0.1", "0177.0x0.0.01", "127.1", "127.0.1", "127.65535", "0",
    "0x0", "00", "0.0.0.0", "0x7f.0.0.0x1", "0000000177.0.0.1",
    # other ranges
    "10.0.0.1", "167772161", "0xa000001", "012.1", "10.1", "172.16.0.1", "2886729729", "192.168.1.1", "192.168.257",
    "0300.0250.1.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518",
    "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "4294967295",
    # as people and other alphabets write them, and with a dot at the end
    "①②⑦.⓪.⓪.①", "①⓪.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "127．0．0．1", "127.0.0.1.", "2130706433.",  # noqa: RUF001 - other digits and letters
    "0x7f.1.", "１０.1.",  # noqa: RUF001 - other digits and letters
    # no resolver reads them, but another program may
    "256.256.256.256", "127.0.0.1.2", "127.0.0.09", "0x7f.0.0.0x", "4294967296", "hooks.127", "99999999999999",
    # names of the local network
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost.", "ｌocalhost", "n8n", "intranet.",  # noqa: RUF001 - other digits and letters
    # IPv6, with IPv4 inside of it
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001::1]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]",
]
# fmt: on


@pytest.fixture(autouse=True)
def defaults(settings: Settings) -> None:
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    settings.WEBHOOK_ALLOWED_PORTS = [443, 80, 8443, 8080]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Fix what a name resolves to: `answers["hooks.example"] = ["1.2.3.4"]`; every other name has no address."""
    known: dict[str, list[str]] = {}
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **kw: fake_getaddrinfo(known, host, port))
    return known


def fake_getaddrinfo(known: Any, host: str, port: int) -> list[Any]:
    found = []
    for address in known.get(host, [host]):
        flags = socket.AI_NUMERICHOST
        found += REAL_GETADDRINFO(address, port, type=socket.SOCK_STREAM, flags=flags)
    return found


@pytest.mark.parametrize("network", REFUSED_RANGES)
def test_is_refused__first_middle_and_last_of_a_special_range__refused(network: str) -> None:
    refused = ip_network(network)
    middle = refused[refused.num_addresses // 2]
    assert all(is_refused(address) for address in (refused[0], middle, refused[-1]))


@pytest.mark.parametrize("network", [network for network in REFUSED_RANGES if "." in network])
def test_is_refused__v4_mapped_form_of_a_special_range__refused(network: str) -> None:
    refused = ip_network(network)
    assert all(is_refused(ip_address(f"::ffff:{address}")) for address in (refused[0], refused[-1]))


@pytest.mark.parametrize("address", METADATA)
def test_is_refused__metadata_of_a_cloud__refused(address: str) -> None:
    assert is_refused(ip_address(address))


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC_V6, "1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_is_refused__public_address__allowed(address: str) -> None:
    assert not is_refused(ip_address(address))


@pytest.mark.parametrize("address", ["9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "168.63.129.17"])
def test_is_refused__neighbour_of_a_special_range__allowed(address: str) -> None:
    assert not is_refused(ip_address(address))


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"])
def test_is_refused__inside_an_allowed_network__allowed(address: str) -> None:
    assert not is_refused(ip_address(address), [ip_network("10.0.0.0/8"), ip_network("fd12::/16")])


@pytest.mark.parametrize("address", ["11.0.0.0", "127.0.0.1", "::a01:203", "64:ff9b::a01:203"])
def test_is_refused__outside_the_allowed_network__judged_as_ever(address: str) -> None:
    assert is_refused(ip_address(address), [ip_network("10.0.0.0/8")]) is (address != "11.0.0.0")


@pytest.fixture
def no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up fails the test."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: pytest.fail("a name was looked up"))


@pytest.mark.usefixtures("no_resolver")
@pytest.mark.parametrize("host", SPELLINGS)
def test_check_url__special_address_in_any_spelling__refused_without_a_look_up(host: str) -> None:
    for port in ("", ":8443", ":22"):
        with pytest.raises(UrlRefused) as refused:
            check_url(f"https://{host}{port}/hook")
        assert refused.value.code == "address_not_allowed"


@pytest.mark.parametrize(
    "host", [host for host in SPELLINGS if host.isascii() and "[" not in host and host[0] in "0127"]
)
def test_spellings__read_by_the_resolver__lead_to_special_addresses(host: str) -> None:
    """The control: what the table of spellings calls an address is none that the socket would take."""
    with pytest.raises((AddressRefused, NameNotResolved)):
        resolve(host, 443, timeout=1.0)


@pytest.mark.usefixtures("no_resolver")
@pytest.mark.parametrize(
    "host",
    [
        *(PUBLIC, f"{PUBLIC}.", "0x5d.0xb8.0xd7.0x0e", "8.8.8.8", f"[{PUBLIC_V6}]", "[::ffff:8.8.8.8]"),
        *("hooks.example", "hooks.example.", "1.example", "localhost.example", "notlocalhost.example", "0x7f.example"),
    ],
)
def test_check_url__host_that_may_be_of_the_internet__accepted_without_a_look_up(host: str) -> None:
    check_url(f"https://{host}/")
    with pytest.raises(UrlRefused) as refused:
        check_url(f"https://{host}:5432/")
    assert refused.value.code == "port_not_allowed"


@pytest.mark.usefixtures("no_resolver")
def test_check_url__networks_are_opened__names_and_ports_are_left_to_the_socket(settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["172.18.0.0/16"]
    for host in ("n8n:5678", "localhost:3000", "inside.example:5432", "172.18.0.7:5678", "0xac.0x12.7:5678"):
        check_url(f"http://{host}/")
    for host in ("127.0.0.1", "2130706433", "172.19.0.1:5678", "[::1]", "1.2.3.4.5", "256.0.0.1:80"):
        with pytest.raises(UrlRefused):
            check_url(f"http://{host}/")


@pytest.mark.parametrize("addresses", [[PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC_V6, "::1"]])
def test_resolve__one_of_several_answers_is_special__refused(
    answers: dict[str, list[str]], addresses: list[str]
) -> None:
    answers["hooks.example"] = addresses
    with pytest.raises(AddressRefused):
        resolve("hooks.example", 443)


def test_resolve__public_answers__returns_them_all_in_order(answers: dict[str, list[str]]) -> None:
    answers["hooks.example"] = [PUBLIC, PUBLIC_V6]
    found = resolve("hooks.example", 443)
    assert [address.sockaddr[:2] for address in found] == [(PUBLIC, 443), (PUBLIC_V6, 443)]
    assert [address.family for address in found] == [socket.AF_INET, socket.AF_INET6]


@pytest.mark.usefixtures("answers")
def test_resolve__name_without_address__not_resolved() -> None:
    with pytest.raises(NameNotResolved):
        resolve("nowhere.example", 443)


@pytest.mark.usefixtures("silent_name_server")
def test_resolve__silent_name_server__gives_up_in_time() -> None:
    started = time.monotonic()
    with pytest.raises(NameNotResolved):
        resolve("slow.example", 443, timeout=0.1)
    assert time.monotonic() - started < SILENT_SECONDS


def test_resolve__all_lookups_taken__gives_up_in_time_and_frees_them(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[str]]
) -> None:
    monkeypatch.setattr(address_guard, "_lookup_slots", slots := threading.BoundedSemaphore(1))
    answers["hooks.example"] = [PUBLIC]
    with slots, pytest.raises(NameNotResolved):
        resolve("hooks.example", 443, timeout=0.05)
    assert resolve("hooks.example", 443)
    assert resolve("hooks.example", 443)


@pytest.mark.parametrize("port", [22, 25, 5432, 6379])
def test_resolve__port_not_in_the_list__refused(answers: dict[str, list[str]], port: int) -> None:
    answers["hooks.example"] = [PUBLIC]
    with pytest.raises(PortRefused):
        resolve("hooks.example", port)


def test_resolve__any_port_inside_an_allowed_network__allowed(settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    assert resolve("127.0.0.1", 5432)


def test_resolve__odd_port_with_one_answer_outside_the_allowed_network__refused(
    settings: Settings, answers: dict[str, list[str]]
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["10.0.0.0/8"]
    answers["hooks.example"] = ["10.0.0.1", PUBLIC]
    with pytest.raises(PortRefused):
        resolve("hooks.example", 5432)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "invalid_url"),
        ("hooks.example/hook", "invalid_url"),
        ("//hooks.example/hook", "invalid_url"),
        ("https:hooks.example", "invalid_url"),
        ("https:///hook", "invalid_url"),
        ("https://hooks.example:port/", "invalid_url"),
        ("https://hooks.example:65536/", "invalid_url"),
        ("https://hooks.example:0/", "invalid_url"),
        ("https://hooks.example:-1/", "invalid_url"),
        ("https://[::1/", "invalid_url"),
        ("ftp://hooks.example/", "scheme_not_allowed"),
        ("file://hooks.example/etc/passwd", "scheme_not_allowed"),
        ("https://user:password@hooks.example/", "userinfo_not_allowed"),
        ("https://hooks.example@127.0.0.1/", "userinfo_not_allowed"),
        ("https://hooks.example/#part", "fragment_not_allowed"),
        ("https://hooks.example/#", "fragment_not_allowed"),
        (" https://hooks.example/", "invalid_characters"),
        ("https://hooks.example/a b", "invalid_characters"),
        ("https://hooks.example/\r\nX-Evil: 1", "invalid_characters"),
        ("https://hooks.exa\tmple/", "invalid_characters"),
        ("https://hooks.example\\@127.0.0.1/", "invalid_characters"),
        ("https://hooks.example/\x00", "invalid_characters"),
        ("https://hooks.example/\ud800", "invalid_characters"),
        ("https://hooks\u200b.example/", "invalid_characters"),
        ("https://:443/", "invalid_host"),
        ("https://.../", "invalid_host"),
        ("https://[fe80::1%25eth0]/", "invalid_host"),
        ("https://[fe80::1%eth0]/", "invalid_host"),
        ("https://127%2e0.0.1/", "invalid_host"),
        ("https://*.example/", "invalid_host"),
        (f"https://{'a' * 64}.example/", "invalid_host"),
        (f"https://{'ä' * 64}.example/", "invalid_host"),
        (f"https://{'a.' * 200}example/", "invalid_host"),
        ("https://straße.example/", "invalid_host"),
        ("https://hooks.example/" + "x" * 2_048, "url_too_long"),
    ],
)
def test_check_url__malformed__refused_with_a_code_and_advice(url: str, code: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        check_url(url)
    assert refused.value.code == code
    assert refused.value.message.endswith(".")


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("https://hooks.example", "hooks.example", 443, "/"),
        ("HTTPS://Hooks.Example:443/a//b?c=d&e=%20", "hooks.example", 443, "/a//b?c=d&e=%20"),
        ("http://hooks.example.?q", "hooks.example.", 80, "/?q"),
        ("https://bücher.example:8443/ä", "xn--bcher-kva.example", 8443, "/ä"),
        (f"https://[{PUBLIC_V6}]:8080/", PUBLIC_V6, 8080, "/"),
        ("https://under_score.example:/", "under_score.example", 443, "/"),
    ],
)
def test_parse_url__well_formed__split_into_its_parts(url: str, host: str, port: int, target: str) -> None:
    destination = parse_url(url)
    assert (destination.host, destination.port, destination.target) == (host, port, target)


def test_parse_url__longest_allowed__accepted() -> None:
    assert parse_url("https://hooks.example/".ljust(2_048, "x")).port == 443


def test_check_url__http_without_the_setting__refused(settings: Settings) -> None:
    settings.WEBHOOK_ALLOW_HTTP = False
    check_url("https://hooks.example/")
    with pytest.raises(UrlRefused) as refused:
        check_url("http://hooks.example/")
    assert refused.value.code == "scheme_not_allowed"


ODD_URLS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["https://", "http://", "//", "", "https:", "hTTps://[", "https://@"]),
    st.text(max_size=80),
    st.sampled_from(["", ":", ":80", ":99999", "]", "]:443", "%25lo]", "@127.0.0.1"]),
    st.sampled_from(["", "/", "?", "#", "/\\", "/%"]),
    st.text(max_size=20),
)


@given(url=st.text() | ODD_URLS)
def test_check_url__any_text__accepted_or_refused_but_never_an_error(url: str) -> None:
    said = "accepted"
    try:
        check_url(url)
    except UrlRefused as refused:
        said = refused.message
    assert said
