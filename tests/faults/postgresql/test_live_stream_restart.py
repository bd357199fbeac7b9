"""Live streams while PostgreSQL is restarted: viewers and listeners stay connected, and miss nothing."""

import signal

from tests.services.application import Application
from tests.services.client import Client
from tests.services.postgresql import PostgreSQL
from tests.services.waiting import eventually
from tests.support.live_stream import Listening, Stream

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


LISTENING_AWAY = "listening: the database is unavailable"
# All rows: tests before have left some.
DISPATCH = "from webhooks.outbox.dispatch import dispatch_batch\nwhile dispatch_batch():\n    pass"


def test_listening__while_postgresql_is_restarted__stays_open_and_brings_what_came(
    application: Application, postgresql: PostgreSQL, key: str
) -> None:
    log = application.directory / "web.log"
    noticed = log.read_text().count(LISTENING_AWAY)
    with Client(application.port) as client, Listening(application.events_port, key) as stream:

        def submit(number: int) -> str:
            answer = client.post("/api/submit", key, json={"number": str(number)})
            return str(answer.json()["data"]["id"]) if answer.status == 201 else ""

        stream.wait_for(1)
        postgresql.stop(signal.SIGQUIT)
        try:
            eventually(lambda: log.read_text().count(LISTENING_AWAY) > noticed, because="the loop has noticed")
        finally:
            postgresql.start()
        wanted = eventually(lambda: submit(1))
        application.manage("shell", "--verbosity", "0", "--command", DISPATCH)

        def came() -> bool:
            bodies = [event.data["body"] for event in stream.events if event.name == "message"]
            return any(wanted in body for body in bodies)

        eventually(came, because="the message comes")
        assert not stream.ended.is_set()
    assert log.read_text().count(LISTENING_AWAY) == noticed + 1
