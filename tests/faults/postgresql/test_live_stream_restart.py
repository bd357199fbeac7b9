"""The live stream while PostgreSQL is restarted: viewers stay connected, and miss nothing."""

import signal

from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL
from tests.services.waiting import eventually
from tests.support.live_stream import Stream

AWAY = "live stream: the database is unavailable"
MAKE_TOKEN = """
from keys.models import Organization
from submissions.live.tokens import live_token
organization = Organization.objects.get(slug="acme")
print(live_token(organization.pk, None, organization.pk))
"""


def test_stream__while_postgresql_is_restarted__stays_open_and_tells_what_came(
    application: Application, postgresql: PostgreSQL, key: str
) -> None:
    token = application.manage("shell", "--verbosity", "0", "--command", MAKE_TOKEN).strip()
    log = application.directory / "web.log"
    noticed = log.read_text().count(AWAY)
    with Client(application.port) as client, Stream(application.events_port, token) as stream:

        def submit(number: int) -> str:
            answer = client.post("/api/submit", key, json={"number": str(number)})
            return str(answer.json()["data"]["id"]) if answer.status == 201 else ""

        before = submit(1)
        stream.wait_for(1)
        postgresql.stop(signal.SIGQUIT)
        try:
            eventually(lambda: log.read_text().count(AWAY) > noticed, because="the reader has noticed")
        finally:
            postgresql.start()  # for the next tests too
        after = eventually(lambda: submit(2))
        assert [event.id for event in stream.wait_for(2)] == [before, after]
        assert not stream.ended.is_set()
    assert log.read_text().count(AWAY) == noticed + 1
