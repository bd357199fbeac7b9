"""
A service on five hosts that share nothing but a network, PostgreSQL and Redis.

    unshare --net --mount --pid --mount-proc --fork --kill-child python -m tests.scale.hosts.scenario DIRECTORY

`tests/scale/test_hosts.py` starts it, with a copy of a migrated PostgreSQL in DIRECTORY/data and the service's
environment. It prints a line for each promise that held, and ends with an error at the first that did not.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import django
import urllib3

from tests.scale.hosts.network import OURS, Host, Trap, build_bridge
from tests.services.client import TIMEOUT_SECONDS, Client
from tests.services.processes import Process
from tests.services.waiting import eventually

PORT, EVENTS_PORT = 8000, 8001
LEASE_SECONDS = 5
IN_FLIGHT = 8
ELSEWHERE = "192.0.2.1"  # of RFC 5737, for documentation
STRAY = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('{ELSEWHERE}', 9))"
SERVE = [sys.executable, "manage.py", "serve", "--host", "0.0.0.0", "--no-migrate", "--no-deliver", "--no-events"]
WORKER = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "INFO"]
BEAT = [sys.executable, "-m", "celery", "-A", "config", "--skip-checks", "beat", "--loglevel", "WARNING", "--schedule"]
EVENTS = [sys.executable, "manage.py", "events", "--host", "0.0.0.0"]


class HostClient(Client):
    """A client of a host, from the address of the outside world."""

    def __init__(self, address: str) -> None:
        super().__init__(PORT, OURS)
        self._pool = urllib3.HTTPConnectionPool(address, PORT, timeout=TIMEOUT_SECONDS, maxsize=32, retries=False)


class Endpoint:
    """A customer's server in the outside world. It says which host has sent which message."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str]] = []  # the host's address, the message's id
        self.answers = threading.Event()
        self.answers.set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.received.append((self.client_address[0], self.headers["webhook-id"]))
                endpoint.answers.wait(30)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer((OURS, 8080), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://{OURS}:8080/hook"


class Play:
    """The hosts, and what happens on them."""

    def __init__(self, stack: ExitStack, logs: Path) -> None:
        self.hosts: dict[str, Host] = {}
        for number, name in enumerate(("web-a", "web-b", "work-a", "work-b", "live"), 11):
            self.hosts[name] = Host(name, number, logs)
            stack.callback(self.hosts[name].crash)
        self.roles: list[Process] = []
        for name, role, command in (
            *(("web-a", "serve", SERVE), ("web-b", "serve", SERVE), ("live", "events", EVENTS)),
            *(("work-a", "worker", WORKER), ("work-b", "worker", WORKER)),
            *(("work-a", "beat", BEAT), ("work-b", "beat", BEAT)),  # so that either may end
        ):
            own = [str(self.hosts[name].place / "beat")] if command is BEAT else []
            started = self.hosts[name].start(role, [*command, *own], os.environ)
            stack.callback(started.kill)
            self.roles.append(started)
        self.a, self.b = (HostClient(self.hosts[name].address) for name in ("web-a", "web-b"))

    def wait(self) -> None:
        for role, client in zip(self.roles[:2], (self.a, self.b), strict=True):
            role.wait_until(partial(answers, client, "/readyz"))
        for role in self.roles[3:5]:
            role.wait_until(partial(is_ready, role))


def is_ready(worker: Process) -> bool:
    return " ready." in worker.printed()


def answers(client: Client, path: str) -> bool:
    try:
        return client.get(path).status == 200
    except urllib3.exceptions.HTTPError:
        return False


@contextmanager
def backing(directory: Path) -> Iterator[None]:
    """Run PostgreSQL and Redis at the address of this namespace."""
    from tests.services.postgresql import Copied
    from tests.services.redis_server import RedisServer

    with Copied(directory / "data", OURS) as postgresql, RedisServer(OURS) as redis:
        name = os.environ["DATABASE_URL"].rsplit("/", 1)[1]
        os.environ["DATABASE_URL"] = postgresql.url.replace("/postgres", f"/{name}")
        os.environ["REDIS_URL"] = redis.url
        yield


def held(promise: str) -> None:
    print(promise, flush=True)


def play(play: Play, endpoint: Endpoint, trap: Trap) -> None:
    from submissions.live.tokens import live_token
    from tests.support.accounts import log_in
    from tests.support.browser import Browser, person_of, place
    from tests.support.live_stream import Stream
    from tests.support.rooms import walk
    from tests.support.submitting import submit, submit_and_get_id
    from tests.support.tenants import make_tenant
    from tests.support.webhooks import message_id_of, register

    a, b = play.a, play.b
    tenant = make_tenant()
    form_id = str(register(a, tenant, endpoint.url)["formId"])
    token = live_token(tenant.organization.pk, None, tenant.owner.pk)
    live = play.hosts["live"].address
    eventually(lambda: answers_events(live), 30, "the live stream answers")
    with Stream(EVENTS_PORT, token, address=live) as stream:
        made = submit_and_get_id(a, tenant, form_id)
        assert b.get("/api/submissions", tenant.key).json()["data"][0]["id"] == made
        assert b.get(f"/api/submissions/{made}", tenant.key).status == 200
        held("A submission to one host is listed by the other")
        assert stream.wait_for(1)[0].id == made
        held("The live stream of a third host shows it")
    eventually(lambda: endpoint.received, because="the webhook is called")
    workers = {play.hosts[name].address for name in ("work-a", "work-b")}
    assert [pk for _, pk in endpoint.received] == [message_id_of(made)]
    assert {address for address, _ in endpoint.received} <= workers
    held("A worker's host delivers it, once")

    left = [int(submit(each, tenant.key, form_id).headers["X-RateLimit-Remaining"]) for each in (a, b, a, b)]
    assert left == [left[0] - number for number in range(4)], left
    held("Both hosts count for the same limit")

    first, again = (submit(each, tenant.key, form_id, Idempotency_Key="across") for each in (a, b))
    assert (first.status, again.status) == (201, 201)
    assert first.json()["data"]["id"] == again.json()["data"]["id"]
    assert again.headers["Idempotent-Replayed"] == "true"
    held("A request that is repeated at the other host is stored once")

    exports = [each.get("/api/submissions/export?format=ndjson", tenant.key).text for each in (a, b)]
    assert exports[0] == exports[1]
    assert [json.loads(row)["formId"] for row in exports[0].splitlines()] == [form_id] * 6
    held("Both hosts export the same")

    browser = Browser(a)
    assert log_in(browser, person_of(tenant)).status == 302
    browser.api = b
    assert browser.get(place(tenant, "submissions")).status == 200
    held("A login at one host is valid at the other")

    created = a.post("/api/keys", tenant.key, json={"name": "Reader", "permissions": ["submissions:read"]}).json()[
        "data"
    ]
    assert b.get("/api/submissions", created["key"]).status == 200
    assert a.delete(f"/api/keys/{created['id']}", tenant.key).status in (200, 204)
    assert b.get("/api/submissions", created["key"]).status == 401
    held("A key that is revoked at one host is refused by the other")

    eventually(lambda: len(endpoint.received) >= 6, because="everything is delivered")
    endpoint.answers.clear()
    seen = len(endpoint.received)
    ids = [submit_and_get_id(a, tenant, form_id) for _ in range(IN_FLIGHT)]
    eventually(lambda: len(endpoint.received) > seen, because="deliveries are in flight")
    address = endpoint.received[seen][0]
    (victim,) = [host for host in play.hosts.values() if host.address == address]
    victim.crash()
    play.hosts["web-a"].crash()
    endpoint.answers.set()
    assert submit(b, tenant.key, form_id).status == 201
    assert browser.get(place(tenant, "submissions")).status == 200
    held("With a web host and a worker's host gone, the other web host goes on")

    def delivered() -> bool:
        log = b.get(f"/api/webhooks/{webhook_of(b, tenant.key)}/deliveries?limit=100", tenant.key).json()["data"]
        states = {row["submissionId"]: row["status"] for row in log}
        assert all(states.get(pk) == "delivered" for pk in ids), states
        return True

    eventually(delivered, LEASE_SECONDS + 30, "the other worker's host has taken over")
    assert {where for where, pk in endpoint.received[seen:]} == workers
    held("The other worker's host takes over the deliveries in flight")

    walk(b, browser, tenant.organization.slug)
    assert trap.caught == set()
    play.hosts["web-b"].start("stray", [sys.executable, "-c", STRAY], {})
    eventually(lambda: trap.caught == {f"{play.hosts['web-b'].address} > {ELSEWHERE}"}, because="the trap catches")
    held("No host has sent anything to anybody else")


def webhook_of(client: Client, key: str) -> str:
    return str(client.get("/api/webhooks", key).json()["data"][0]["id"])


def answers_events(address: str) -> bool:
    try:
        return urllib3.request("GET", f"http://{address}:{EVENTS_PORT}/healthz", retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def main() -> None:
    directory = Path(sys.argv[1])
    build_bridge()
    trap = Trap()
    with ExitStack() as stack:
        stack.enter_context(backing(directory))
        hosts = Play(stack, directory)
        django.setup()
        endpoint = Endpoint()
        try:
            hosts.wait()
            play(hosts, endpoint, trap)
        except BaseException:
            for path in sorted(directory.glob("*.log")):
                print(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}")
            raise


if __name__ == "__main__":
    main()
