"""A deploy (F14), a rotated secret (F15), `serve` killed and started (F17)."""

import signal
import time
from pathlib import Path

from tests.faults import processes
from tests.faults.case import Run, fault
from tests.faults.world import World
from tests.services.application import answers
from tests.services.client import Client
from tests.services.environment import POSTGRESQL, SQLITE
from tests.services.processes import Process
from tests.services.waiting import eventually, let_pass

ORPHAN_SECONDS = 2.0
RATE = 20.0


@fault("F14", "deploy: SIGTERM and SIGHUP of web and worker under load", on=[POSTGRESQL])
def deploy(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"], ["/b"]])
    world.receivers.behave(tenant.prefix, seconds=0.3)
    poster = run.poster(world, tenant)
    poster.start(rate=RATE)
    for _ in range(run.pick(quick=1, full=3)):
        let_pass(1)
        with run.outage():
            replace(world, "worker")
        let_pass(1)
        with run.outage():
            replace(world, "web")
    unanswered = sum(not told.status for told in poster.told())
    world.application.processes["web"].send(signal.SIGHUP)
    let_pass(3 * world.start_seconds)
    poster.stop()
    reloaded = sum(not told.status for told in poster.told()) - unanswered
    run.note(f"unanswered while the web was stopped {unanswered}, while it reloaded {reloaded}")
    run.expect(not reloaded, f"a reload left {reloaded} requests without an answer")
    run.expect(503 not in {told.status for told in poster.told()}, "a deploy was answered 503")
    verdict = run.judge(world, tenant, poster, p99_seconds=10)
    run.expect(not verdict.duplicates, f"a stop in order sent {verdict.duplicates} messages again")
    run.forget(world, tenant)


def replace(world: World, role: str) -> None:
    """Stop a role with SIGTERM, start its successor, and wait until that answers."""
    with world.unsupervised() as roles:
        process = roles[role]
        process.send(signal.SIGTERM)
        process.popen.wait(60)
    process = world.application.start_role(role)
    if role == "web":
        process.wait_until(lambda: answers(world.port, "/readyz"))
    else:
        eventually(world.deliverers, 60, "the worker has started")


@fault("F15", "a secret is rotated under load")
def secret_rotated(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"]])
    path = f"{tenant.prefix}/a"
    poster = run.poster(world, tenant)
    poster.start(rate=RATE)
    let_pass(2)
    with Client(world.port) as client:
        answer = client.post(f"/api/webhooks/{tenant.webhook('/a')}/rotate-secret", tenant.key)
    rotated = time.time()
    secret = answer.json()["data"]["secret"]
    world.receivers.verify_with({path: [tenant.secrets[path], secret]})
    let_pass(3)
    poster.stop()
    run.judge(world, tenant, poster)
    arrivals = world.receivers.log().of(path)
    old = [one for one in arrivals if not one.valid[0]]
    after = [one for one in arrivals if int(one.timestamp) > rotated + 1]
    new = [one for one in after if len(one.valid) < 2 or not one.valid[1]]
    run.note(f"{len(arrivals)} messages, {len(after)} after the rotation")
    run.expect(after, "no message came after the rotation")
    run.expect(not old, f"{len(old)} messages do not verify with the old secret")
    run.expect(not new, f"{len(new)} messages after the rotation do not verify with the new secret")
    run.forget(world, tenant)


@fault("F17", "serve is killed, also while it starts", on=[SQLITE, POSTGRESQL])
def serve_killed(run: Run) -> None:
    """No child is left two seconds later, and the next start works."""
    with run.own_world(streams=True) as world, world.unsupervised() as roles:
        tenant = run.tenant(world, [["/a"]])
        poster = run.poster(world, tenant)
        poster.post()
        roles.pop("web").stop()
        longest = world.start_seconds
        for _ in range(run.pick(quick=4, full=10)):
            process = world.application.start_role("web")
            world.application.processes.clear()  # the supervisor must not start it again
            let_pass(run.rng.uniform(0.1, longest))
            with run.outage():
                kill_only_serve(run, world, process)
            run.result.kills += 1
        roles["web"] = world.start_service()
        run.judge(world, tenant, poster, p99_seconds=30)


def kill_only_serve(run: Run, world: World, process: Process) -> None:
    start = time.monotonic()
    processes.kill(process.popen.pid)
    process.popen.wait()
    left: list[str] = ["?"]
    while left and time.monotonic() < start + ORPHAN_SECONDS:
        let_pass(0.05)
        left = orphans(world, process.popen.pid)
    run.expect(not left, f"left after {ORPHAN_SECONDS:g} s: {', '.join(left)}")
    for pid in _orphans(world, process.popen.pid):
        processes.kill(pid)  # so that the next start shows itself


def _orphans(world: World, serve: int) -> list[int]:
    """Return the processes whose environment names this `serve` as their supervisor, or whose parent it was."""
    mark = f"PORT={world.port}\0".encode()
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        pid = int(directory.name)
        try:
            is_ours = mark in (directory / "environ").read_bytes()
        except OSError:
            continue
        words = processes.command(pid).split()
        if is_ours and pid != serve and "manage.py" in " ".join(words[1:2]) and processes.is_alive(pid):
            found.append(pid)
    return found


def orphans(world: World, serve: int) -> list[str]:
    return [" ".join(processes.command(pid).split()[2:3]) for pid in _orphans(world, serve)]
