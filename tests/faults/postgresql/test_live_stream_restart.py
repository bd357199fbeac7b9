"""The live stream while PostgreSQL is restarted: viewers stay connected, and miss nothing."""

import signal
from collections.abc import Callable
from pathlib import Path

from tests.services.application import ALL_ROLES, Application
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.postgresql import PostgreSQL
from tests.services.waiting import eventually
from tests.support.live_stream import Stream

AWAY = "live stream: the database is unavailable"
MAKE_TOKEN = """
from keys.models import Organization
from submissions.live.tokens import live_token
organization = Organization.objects.get(slug="watched")
print(live_token(organization.pk, None, organization.pk))
"""


def test_stream__while_postgresql_is_restarted__stays_open_and_tells_what_came(
    postgresql: PostgreSQL, new_environment: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    environment, place = new_environment(tmp_path), tmp_path / "service"
    with Application(
        environment, place, backend=POSTGRESQL, delivers=False, migrates=False, forked=ALL_ROLES
    ) as running:
        running.manage("create_organization", "Watched", "--plan", "enterprise", "--owner", "owner@example.com")
        key = running.manage("create_key", "--organization", "watched", "--name", "Test").strip()
        token = running.manage("shell", "--verbosity", "0", "--command", MAKE_TOKEN).strip()
        watch_through_a_restart(running, postgresql, key, token)


def watch_through_a_restart(running: Application, postgresql: PostgreSQL, key: str, token: str) -> None:
    log = running.directory / "web.log"
    with Client(running.port) as client, Stream(running.events_port, token) as stream:

        def submit(number: int) -> str:
            answer = client.post("/api/submit", key, json={"number": str(number)})
            return str(answer.json()["data"]["id"]) if answer.status == 201 else ""

        before = submit(1)
        stream.wait_for(1)
        postgresql.stop(signal.SIGQUIT)
        eventually(lambda: AWAY in log.read_text(), because="the reader has noticed")
        postgresql.start()
        after = eventually(lambda: submit(2))
        assert [event.id for event in stream.wait_for(2)] == [before, after]
        assert not stream.ended.is_set()
    assert log.read_text().count(AWAY) == 1
