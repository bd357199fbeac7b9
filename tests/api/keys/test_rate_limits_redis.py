"""Redis frozen, gone or emptied: no request fails, none waits long, and limits hold within each process."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import BACKEND_VARIABLE, POSTGRESQL
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually
from tests.support.rate_windows import OVER, counted_tenant, over, remaining

__test__ = os.environ[BACKEND_VARIABLE] == POSTGRESQL  # the other backend is the one without Redis

TIMEOUT_SECONDS = 2.0  # instead of 0.5, so that a busy machine cannot be taken for a time-out
FIRST_SECONDS = 6 * TIMEOUT_SECONDS  # before the outage of Redis is noticed
LATER_SECONDS = TIMEOUT_SECONDS  # afterwards Redis is not called
AT_ONCE = 6  # requests
LOG_LINE = "redis unavailable"


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server
        if server.process and server.process.running:
            thaw(server)  # a frozen one could not end


def freeze(server: RedisServer) -> None:
    assert server.process
    server.process.send(signal.SIGSTOP)


def thaw(server: RedisServer) -> None:
    assert server.process
    server.process.send(signal.SIGCONT)


def kill(server: RedisServer) -> None:
    assert server.process
    server.process.kill()


def lines_about_redis(service: Application) -> list[str]:
    log = service.processes["web"].log
    assert log
    return [line for line in log.read_text().splitlines() if LOG_LINE in line]


@pytest.mark.parametrize("fail", [freeze, kill])
def test_redis_away__requests_and_submissions__answer_in_time_and_the_log_says_so_once(
    fail: Callable[[RedisServer], None], own_redis: RedisServer, start_service: Callable[..., Application]
) -> None:
    patience = {"REDIS_RETRY_SECONDS": "600", "REDIS_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS)}
    service = start_service(REDIS_URL=own_redis.url, **patience)
    with Client(service.port) as api:
        tenant = counted_tenant(api, rate_limit=50)
        assert lines_about_redis(service) == []
        fail(own_redis)

        def ask(_number: int) -> tuple[list[int], float]:
            """Send three requests that count, each differently. Return their answers and the seconds they took."""
            start = time.monotonic()
            answers = [
                api.post("/api/submit", tenant.key, json={"message": "Hello"}),
                api.get("/api/forms", tenant.key),
                api.get("/api/forms"),
            ]
            return [one.status for one in answers], time.monotonic() - start

        with ThreadPoolExecutor(AT_ONCE) as threads:  # all of them find out at the same moment
            first = list(threads.map(ask, range(AT_ONCE)))
        later = [ask(number) for number in range(5)]
        assert [statuses for statuses, _ in first + later] == [[201, 200, 401]] * (AT_ONCE + 5)
        assert max(seconds for _, seconds in first) < FIRST_SECONDS
        assert max(seconds for _, seconds in later) < LATER_SECONDS
        assert len(lines_about_redis(service)) == 1


def test_redis_away__organization_over_its_limit__is_refused_by_the_process_itself(
    own_redis: RedisServer, start_service: Callable[..., Application]
) -> None:
    service = start_service(REDIS_URL=own_redis.url, REDIS_RETRY_SECONDS="600")
    with Client(service.port) as api:
        tenant = counted_tenant(api, rate_limit=3)
        kill(own_redis)
        answers = [api.get("/api/forms", tenant.key) for _ in range(3)]
        assert [(one.status, remaining(one)) for one in answers] == [(200, 2), (200, 1), (200, 0)]
        assert over(api.get("/api/forms", tenant.key), 3) == OVER


def test_redis_back__after_a_while__counts_again(
    own_redis: RedisServer, start_service: Callable[..., Application]
) -> None:
    service = start_service(REDIS_URL=own_redis.url, REDIS_RETRY_SECONDS="1")
    with Client(service.port) as api, redis.Redis.from_url(own_redis.url) as inside:
        tenant = counted_tenant(api)
        own_redis.stop(signal.SIGKILL)
        assert api.get("/api/forms", tenant.key).status == 200
        own_redis.start()  # empty
        assert inside.dbsize() == 0

        def counted() -> bool:
            assert api.get("/api/forms", tenant.key).status == 200
            return bool(inside.dbsize())

        eventually(counted, because="the limiter counts in Redis again", every=0.1)


def test_redis_frozen_and_thawed__counting_goes_on_where_it_was(
    own_redis: RedisServer, start_service: Callable[..., Application]
) -> None:
    service = start_service(REDIS_URL=own_redis.url, REDIS_RETRY_SECONDS="1")
    with Client(service.port) as api:
        tenant = counted_tenant(api, rate_limit=1000)
        spent = [api.get("/api/forms", tenant.key) for _ in range(20)]
        assert remaining(spent[-1]) == 1000 - 21
        freeze(own_redis)
        assert remaining(api.get("/api/forms", tenant.key)) == 999  # the process's own count
        thaw(own_redis)
        eventually(
            lambda: remaining(api.get("/api/forms", tenant.key)) < 1000 - 21, because="Redis's count is shown again"
        )


def test_counters__vanished_in_the_middle_of_an_hour__start_anew_without_a_failure(
    own_redis: RedisServer, start_service: Callable[..., Application]
) -> None:
    service = start_service(REDIS_URL=own_redis.url)
    with Client(service.port) as api, redis.Redis.from_url(own_redis.url) as inside:
        tenant = counted_tenant(api, rate_limit=2)
        inside.flushall()
        answers = [api.get("/api/forms", tenant.key) for _ in range(2)]
        assert [(one.status, remaining(one)) for one in answers] == [(200, 1), (200, 0)]
        assert over(api.get("/api/forms", tenant.key), 2) == OVER
