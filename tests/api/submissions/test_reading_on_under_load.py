"""A client follows the list while all that could disturb it happens (docs/contract.md 5.36, docs/adr/0065)."""

import random
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from django.db import connection
from urllib3.exceptions import HTTPError

from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.waiting import eventually
from tests.support.rows import wait_until_dispatched
from tests.support.tenants import Tenant, make_tenant

WRITERS, EACH = 4, 40
# A deferred trigger runs at the commit: transactions of this organization, inserts and dispatches, take up to 60 ms.
DELAY = """
CREATE FUNCTION delayed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(random() * 0.06); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER delayed AFTER INSERT OR UPDATE ON submissions_submission DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.organization_id = '{organization}' AND random() < 0.3) EXECUTE FUNCTION delayed();
"""
NO_DELAY = "DROP TRIGGER delayed ON submissions_submission; DROP FUNCTION delayed()"


@contextmanager
def delayed_commits(tenant: Tenant) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(DELAY.format(organization=tenant.organization.pk))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(NO_DELAY)


class Follower:
    """Polls the list, and deletes some of what it has read."""

    def __init__(self, api: Client, tenant: Tenant) -> None:
        self.api, self.tenant, self.cursor = api, tenant, ""
        self.read: list[str] = []

    def poll(self) -> bool:
        """Read on and return whether there is more."""
        answer = self.api.get(f"/api/submissions?limit=7&cursor={self.cursor}", self.tenant.key)
        assert answer.status == 200, answer.text
        found = answer.json()
        self.cursor = found["pagination"]["next"]
        self.read += (row["id"] for row in found["data"])
        for row in found["data"]:
            if random.random() < 0.2:
                assert self.api.delete(f"/api/submissions/{row['id']}", self.tenant.key).status == 200
        return bool(found["pagination"]["hasMore"])

    def follow(self, stop: threading.Event) -> None:
        while not stop.wait(0.02):
            self.poll()


def submitted(port: Callable[[], int], tenant: Tenant, value: str, headers: dict[str, str]) -> str | None:
    """Submit and return the id; None when it was refused or the process was killed meanwhile."""
    try:
        with Client(port()) as client:
            answer = client.post("/api/submit", tenant.key, json={"n": value}, headers=headers)
    except (HTTPError, OSError):
        return None
    return str(answer.json()["data"]["id"]) if answer.status == 201 else None


def write(port: Callable[[], int], tenant: Tenant, number: int) -> list[str]:
    """Submit, again and again until the answer is 201, and return the ids."""
    ids = []
    for each in range(EACH):
        headers = {"Idempotency-Key": f"{number}-{each}-{secrets.token_hex(8)}"}
        ids.append(eventually(partial(submitted, port, tenant, f"{number}-{each}", headers), 60))
    return ids


def test_cursor__writers_commits_deletions_and_a_killed_process__misses_and_repeats_none(
    api: Client, start_service: Callable[..., Application], backend: str
) -> None:
    tenant, stop = make_tenant(), threading.Event()
    writing = start_service()
    follower = Follower(api, tenant)
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        following = pool.submit(follower.follow, stop)
        try:
            if backend == POSTGRESQL:
                with delayed_commits(tenant):
                    written = disturb(pool, writing, tenant)
            else:
                written = disturb(pool, writing, tenant)
            wait_until_dispatched(tenant)
        finally:
            stop.set()
        following.result()
    while follower.poll():
        pass

    assert len(written) == WRITERS * EACH
    assert len(follower.read) == len(set(follower.read))
    assert set(follower.read) == set(written)


def disturb(pool: ThreadPoolExecutor, writing: Application, tenant: Tenant) -> list[str]:
    """Write from several threads, kill the web process meanwhile, and return the ids that were answered with 201."""
    writers = [pool.submit(write, lambda: writing.port, tenant, number) for number in range(WRITERS)]
    eventually(Submission.objects.filter(form__organization=tenant.organization).exists)  # requests are in flight
    writing.kill_web()
    writing.start_role("web")
    return [pk for writer in writers for pk in writer.result()]
