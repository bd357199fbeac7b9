"""Two of each role over one PostgreSQL and Redis share the work, and deliver all of it once (docs/contract.md 8.3)."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db.models import Count

from submissions.models import Submission
from tests.scale.hosts.scenario import is_ready
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import Process
from tests.services.receivers import Receiver
from tests.services.waiting import eventually
from tests.support.deliveries import deliveries_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import message_id_of, register
from webhooks.models import Attempt

SUBMISSIONS = 2_000
CLIENTS = 16
FORMS = 8  # each with its own webhook, because one webhook gets at most four requests at a time
SECONDS = 120.0  # for everything from the first submission to the last delivery


@pytest.fixture
def second_worker(service: Application, tmp_path: Path) -> Iterator[Process]:
    """Yield a second Celery worker, as on a second host."""
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--hostname", "second@%h"]
    command += ["--concurrency", "2", "--loglevel", "INFO"]
    process = Process("second worker", command, log=tmp_path / "worker.log", env=service.environment, forks=True)
    try:
        process.wait_until(lambda: is_ready(process), 60)
        yield process
    finally:
        process.stop()


@pytest.fixture
def ports(service: Application, start_service: Callable[..., Application]) -> list[int]:
    """Return the ports of the two web processes."""
    return [service.port, start_service("serve", streams=True).port]


def submit_many(ports: list[int], tenant: Tenant, form_ids: list[str], count: int) -> list[str]:
    """Submit one after the other, to the web processes and the forms in turn, and return the ids."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(port)) for port in ports]
        return [
            submit_and_get_id(
                clients[number % len(clients)], tenant, form_ids[number % len(form_ids)], {"number": number}
            )
            for number in range(count)
        ]


def test_two_of_each__2000_submissions_from_16_clients__are_each_told_exactly_once(
    service: Application, second_worker: Process, ports: list[int], receiver: Receiver
) -> None:
    assert {"web", "worker", "beat"} <= set(service.processes)
    tenant = make_tenant()
    with Client(service.port) as client:
        form_ids = [register(client, tenant, receiver.url(f"/{number}"))["formId"] for number in range(FORMS)]

    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        each = SUBMISSIONS // CLIENTS
        futures = [pool.submit(submit_many, ports, tenant, form_ids, each) for _ in range(CLIENTS)]
        ids = [one for future in futures for one in future.result()]
    submitted = time.monotonic() - began

    own = deliveries_of(tenant)
    left = SECONDS - submitted
    eventually(lambda: own.filter(status="delivered").count() == SUBMISSIONS, left, "everything is delivered")
    print(f"submitted in {submitted:.1f} s, delivered after {time.monotonic() - began:.1f} s")

    assert len(set(ids)) == SUBMISSIONS
    told = Counter(message.headers["webhook-id"] for message in receiver.requests)
    assert told == Counter(map(message_id_of, ids))  # each once, none besides
    assert own.values("status", "attempt_count").annotate(n=Count("pk")).get() == {
        "status": "delivered",
        "attempt_count": 1,
        "n": SUBMISSIONS,
    }
    assert Attempt.objects.filter(delivery__in=own).count() == SUBMISSIONS
    assert not Submission.objects.undispatched().filter(organization=tenant.organization).exists()
    with Client(service.port) as client:
        totals = client.get("/api/analytics", tenant.key).json()["data"]["totals"]
    assert totals == {"received": SUBMISSIONS, "spam": 0, "delivered": SUBMISSIONS, "failed": 0}
    for worker in (service.processes["worker"], second_worker):
        assert worker.running
        assert "Traceback" not in worker.tail(1000)
    assert "Task webhooks.tasks.deliver_due[" in second_worker.tail(1000)
