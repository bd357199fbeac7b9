"""A worker whose Redis dies while it has taken hints that it has not acknowledged (`config.celery`)."""

import os
import signal
from contextlib import suppress
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue
from kombu.transport.redis import Channel

from config.celery import forget_hints_of_lost_redis
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.redis_server import RedisServer

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # whose suites have redis-server
pytestmark = pytest.mark.django_db  # others run on SQLite only


def lose_redis(connection: Any) -> None:
    """Do as Celery's consumer does when it meets an error of its connection, which only ignores errors of Redis."""
    with suppress(Exception):
        connection.collect(socket_timeout=1)
    connection.close()


def test_worker__with_a_hint_that_is_not_acknowledged__outlives_its_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Channel, "do_restore", True)
    forget_hints_of_lost_redis()
    held: list[Any] = []
    with RedisServer() as server, Connection(server.url) as connection:
        channels = (connection.default_channel, connection.channel())  # of hints, and of remote control
        consumers = [
            Consumer(one, Queue(f"queue-{place}"), on_message=held.append) for place, one in enumerate(channels)
        ]
        Producer(channels[0]).publish("deliver", routing_key="queue-0")
        for consumer in consumers:
            consumer.consume()
        while not held:
            connection.drain_events(timeout=10)
        with suppress(TimeoutError):
            connection.drain_events(timeout=0.1)  # each channel waits for an answer now
        server.stop(signal.SIGKILL)
        lose_redis(connection)
