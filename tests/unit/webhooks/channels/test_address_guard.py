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

from tests.unit.webhooks.channels.raw_receiver import SILENT_SECONDS
from webhooks.channels.connections import address_guard
from webhooks.channels.connections.address_guard import (
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
LOOPBACK_SPELLINGS = [
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "017700000001",
    "127.1",
    "0",
    "0.0.0.0",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
]


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


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS)
def test_check_url__loopback_in_another_spelling__refused(host: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        check_url(f"https://{host}/hook")
    assert refused.value.code == "address_not_allowed"


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
def test_check_url__malformed__refused_with_a_code_and_advice(
    answers: dict[str, list[str]], url: str, code: str
) -> None:
    answers["hooks.example"] = [PUBLIC]
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


def test_check_url__http_without_the_setting__refused(settings: Settings, answers: dict[str, list[str]]) -> None:
    settings.WEBHOOK_ALLOW_HTTP = False
    answers["hooks.example"] = [PUBLIC]
    check_url("https://hooks.example/")
    with pytest.raises(UrlRefused) as refused:
        check_url("http://hooks.example/")
    assert refused.value.code == "scheme_not_allowed"


@pytest.mark.usefixtures("answers")
def test_check_url__name_that_does_not_resolve_now__accepted_on_listed_ports_only() -> None:
    check_url("https://soon.example/")
    with pytest.raises(UrlRefused) as refused:
        check_url("https://soon.example:5432/")
    assert (refused.value.code, "5432" in refused.value.message) == ("port_not_allowed", True)


def test_check_url__odd_port__needs_every_answer_inside_an_allowed_network(
    settings: Settings, answers: dict[str, list[str]]
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["10.0.0.0/8"]
    answers |= {"inside.example": ["10.0.0.1", "10.0.0.2"], "mixed.example": ["10.0.0.1", PUBLIC]}
    check_url("https://inside.example:5432/")
    with pytest.raises(UrlRefused):
        check_url("https://mixed.example:5432/")


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda host, port, **kw: fake_getaddrinfo({}, host, port))
        said = "accepted"
        try:
            check_url(url)
        except UrlRefused as refused:
            said = refused.message
        assert said
