"""
Names that lead elsewhere the next time: the guard against a real name server, the system's resolver, and real traps.

The code runs in `laboratory.py`, in a network where private addresses and metadata services really answer.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.services.processes import ROOT
from tests.unit.webhooks.transport.laboratory import PUBLIC, PUBLIC_V6, TRAPS
from webhooks.transport.address_guard import DNS_SECONDS

NAME = "hooks.example"
URL = f"http://{NAME}/hook"


class Laboratory:
    """The laboratory's methods, called in its process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._call(name, *arguments)

    def _call(self, *call: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the laboratory has ended; it needs unshare(1), mount(1) and the right to make namespaces"
        return json.loads(answer)


@pytest.fixture(scope="module")
def started() -> Iterator[Laboratory]:
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    module = "tests.unit.webhooks.transport.laboratory"
    command = ["unshare", *user, "--net", "--mount", sys.executable, "-m", module]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield Laboratory(process)
    process.communicate()  # closes its standard input, at which it ends


@pytest.fixture
def laboratory(started: Laboratory) -> Iterator[Laboratory]:
    started.limit_age(60.0)
    started.limit_look_ups(DNS_SECONDS)
    return started


def error_of(outcome: dict[str, Any]) -> str:
    return str(outcome["error"])


@pytest.mark.parametrize("address", TRAPS)
def test_trap__address_is_allowed__is_called(laboratory: Laboratory, address: str) -> None:
    """The control: the traps of the tests below notice a connection, and the name server leads to them."""
    kind = "AAAA" if ":" in address else "A"
    laboratory.begin({NAME: {kind: [[address]]}}, [f"{address}/128" if ":" in address else f"{address}/32"])
    assert error_of(laboratory.post(URL, "wh_1")) == ""
    assert laboratory.called() == {address: 1}


@pytest.mark.parametrize("kind", ["A", "AAAA"])
def test_public_name__is_called_after_one_look_up(laboratory: Laboratory, kind: str) -> None:
    laboratory.begin({NAME: {kind: [[PUBLIC if kind == "A" else PUBLIC_V6]]}}, [])
    assert laboratory.save(URL) == ""
    assert laboratory.asked() == []
    assert error_of(laboratory.post(URL, "wh_1")) == ""
    assert laboratory.called() == {"public": 1}
    assert sorted(laboratory.asked()) == [[NAME, "A"], [NAME, "AAAA"]]


PRIVATE_ZONES: dict[str, dict[str, Any]] = {
    **{f"only {one}": {NAME: {"AAAA" if ":" in one else "A": [[one]]}} for one in TRAPS},
    "public and private": {NAME: {"A": [[PUBLIC, "169.254.169.254"]]}},
    "private and public": {NAME: {"A": [["10.0.0.66", PUBLIC]]}},
    "public, and private in the other family": {NAME: {"A": [[PUBLIC]], "AAAA": [["::1"]]}},
    "mapped": {NAME: {"AAAA": [["::ffff:127.0.0.1"]]}},
    "mapped metadata": {NAME: {"AAAA": [["::ffff:169.254.169.254"]]}},
    "6to4": {NAME: {"AAAA": [["2002:7f00:1::"]]}},
    "this host": {NAME: {"A": [["0.0.0.0"]]}},
    "an alias of a private name": {NAME: {"CNAME": [["inner.example"]]}, "inner.example": {"A": [["10.0.0.66"]]}},
    "an alias of an alias": {
        NAME: {"CNAME": [["a.example"]]},
        "a.example": {"CNAME": [["b.example"]]},
        "b.example": {"A": [["127.0.0.1"]], "AAAA": [["::1"]]},
    },
}


@pytest.mark.parametrize("case", PRIVATE_ZONES)
def test_name_with_a_private_address__is_refused_and_nobody_is_called(laboratory: Laboratory, case: str) -> None:
    laboratory.begin(PRIVATE_ZONES[case], [])
    assert laboratory.save(URL) == ""  # only the first attempt shows where a name leads
    assert error_of(laboratory.post(URL, "wh_1")) == "address_refused"
    assert laboratory.called() == {}


def test_name__changes_with_each_query__is_called_where_it_was_checked(laboratory: Laboratory) -> None:
    laboratory.begin({NAME: {"A": [[PUBLIC], ["127.0.0.1"]] * 5}}, [])
    assert [error_of(laboratory.post(URL, "")) for _ in range(10)] == ["", "address_refused"] * 5
    assert laboratory.called() == {"public": 5}


def test_name__private_after_the_first_connection__is_refused_once_that_is_old(laboratory: Laboratory) -> None:
    laboratory.begin({NAME: {"A": [[PUBLIC], ["169.254.169.254"]]}}, [])
    assert [error_of(laboratory.post(URL, "wh_1")) for _ in range(3)] == ["", "", ""]
    assert len(laboratory.asked()) == 2  # both families, once
    laboratory.limit_age(0.0)
    assert error_of(laboratory.post(URL, "wh_1")) == "address_refused"
    assert laboratory.called() == {"public": 1}


def test_name__private_while_another_endpoint_has_a_connection__is_refused(laboratory: Laboratory) -> None:
    laboratory.begin({NAME: {"A": [[PUBLIC], ["10.0.0.66"]]}}, [])
    assert error_of(laboratory.post(URL, "wh_1")) == ""
    assert error_of(laboratory.post(URL, "wh_2")) == "address_refused"
    assert laboratory.called() == {"public": 1}


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "127.1", "0", "①②⑦.⓪.⓪.①", "[::1]"])
def test_loopback_in_another_spelling__is_refused(laboratory: Laboratory, host: str) -> None:
    laboratory.begin({}, [])
    assert laboratory.save(f"http://{host}/") == "address_not_allowed"
    assert error_of(laboratory.post(f"http://{host}/", "wh_1")) == "address_refused"
    assert laboratory.called() == {}


def test_name__unknown__dns_failure(laboratory: Laboratory) -> None:
    laboratory.begin({}, [])
    assert error_of(laboratory.post(URL, "wh_1")) == "dns_failure"


def test_name__server_never_answers__dns_failure_after_its_seconds(laboratory: Laboratory) -> None:
    laboratory.begin({NAME: {"silent": [[]]}}, [])
    laboratory.limit_look_ups(1.0)
    durations: list[int] = []
    while not durations or (min(durations) >= 1000 * DNS_SECONDS and len(durations) < 5):  # again on a busy machine
        outcome = laboratory.post(URL, "wh_1")
        assert error_of(outcome) == "dns_failure"
        durations.append(outcome["duration_ms"])
    assert 900 <= min(durations) < 1000 * DNS_SECONDS
