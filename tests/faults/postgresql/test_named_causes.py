"""Causes that /readyz names while a role, Redis or the mail relay is dead, and stays ready (docs/contract.md 8.6)."""

import signal
from collections.abc import Callable
from pathlib import Path

from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.processes import free_port
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually

SECONDS = 90.0  # a heartbeat counts for 20, and problems are searched each 5


def test_causes__of_dead_roles_a_dead_redis_and_a_dead_relay__are_named_one_by_one(
    new_environment: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    with RedisServer() as redis:
        settings = {"REDIS_URL": redis.url, "EMAIL_URL": f"smtp://127.0.0.1:{free_port()}"}
        environment = new_environment(tmp_path, **settings)
        with (
            Application(
                environment, tmp_path / "service", backend=POSTGRESQL, streams=False, migrates=False
            ) as running,
            Client(running.port) as client,
        ):

            def names(*codes: str) -> bool:
                answer = client.get("/readyz")
                assert answer.status == 200
                return {problem["code"] for problem in answer.json()["problems"]} == set(codes)

            eventually(lambda: names(), SECONDS)
            redis.stop(signal.SIGKILL)
            eventually(lambda: names("redis"), SECONDS)
            redis.start()
            eventually(lambda: names(), SECONDS)
            running.processes["beat"].kill()
            eventually(lambda: names("no_beat"), SECONDS)
            running.start_role("beat")
            eventually(lambda: names(), SECONDS)
            for number in range(3):  # each mails its owner
                running.manage("create_organization", f"Of {number}", "--plan", "pro", "--owner", f"{number}@a.example")
                running.manage("suspend_organization", f"of-{number}")
            eventually(lambda: names("mails_fail"), SECONDS)
            running.processes["worker"].kill()
            eventually(lambda: names("no_deliverer", "mails_fail"), SECONDS)
