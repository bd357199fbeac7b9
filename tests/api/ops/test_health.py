"""`/healthz`, which the event loop answers, next to `/readyz`, which Django does (docs/contract.md 8.6)."""

import sys
from pathlib import Path

import pytest

from tests.services.application import ALL_ROLES, Application
from tests.services.client import Client
from tests.services.environment import service_environment
from tests.services.processes import Process
from tests.services.waiting import eventually

OF_ONE_ANSWER = {"date", "x-request-id", "content-length"}


ROLES = {"no_deliverer", "no_beat"}


def problems(client: Client) -> dict[str, str]:
    answer = client.get("/readyz")
    assert (answer.status, answer.json()["status"]) == (200, "ready")
    return {problem["code"]: problem["message"] for problem in answer.json()["problems"]}


def test_readyz__while_every_role_lives__names_none(api: Client) -> None:
    eventually(lambda: not ROLES & problems(api).keys())


@pytest.mark.on_sqlite
def test_readyz__while_nothing_delivers__says_so_and_stays_ready(tmp_path: Path) -> None:
    environment = service_environment(data_dir=tmp_path)
    with (
        Application(environment, tmp_path, delivers=False, streams=False, forked=ALL_ROLES) as own,
        Client(own.port) as client,
    ):
        assert problems(client)["no_deliverer"].startswith("No process delivers. Start a worker or")
        deliverer = Process("deliver", [sys.executable, "manage.py", "deliver"], log=None, env=environment)
        try:
            eventually(lambda: problems(client) == {})
        finally:
            deliverer.stop()


@pytest.mark.on_sqlite
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_healthz__has_the_headers_of_readyz(api: Client, method: str) -> None:
    ours, djangos = (
        {name.lower(): value for name, value in api.request(method, path).headers.items()}
        for path in ("/healthz", "/readyz")
    )
    assert ours.keys() == djangos.keys()
    for name in ours.keys() - OF_ONE_ANSWER - {"content-security-policy"}:
        assert ours[name] == djangos[name]


@pytest.mark.on_sqlite
def test_healthz__request_id__is_kept_if_it_is_safe(api: Client) -> None:
    assert api.get("/healthz", headers={"X-Request-Id": "trace-42"}).headers["X-Request-Id"] == "trace-42"
    made = api.get("/healthz", headers={"X-Request-Id": "no<script>"}).headers["X-Request-Id"]
    assert len(made) == 32


@pytest.mark.on_sqlite
def test_healthz__unknown_host__is_400(api: Client) -> None:
    assert api.get("/healthz", headers={"Host": "elsewhere.example"}).status == 400
