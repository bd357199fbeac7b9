"""Retention of a suspended organization (F32): it deletes nothing until the organization is resumed."""

import os
import subprocess
import sys

from tests.faults.case import Run, fault
from tests.faults.cases.leases import wrong_clock
from tests.faults.tenant import Tenant
from tests.faults.world import World
from tests.services.client import Client
from tests.services.processes import ROOT

DAYS = 30
RUNS = 3


@fault("F32", "retention runs while an organization is suspended, then after it is resumed", quick=True)
def suspended(run: Run) -> None:
    world = run.world
    kept, other = run.tenant(world, [["/a"]]), run.tenant(world, [["/b"]])
    posters = []
    for tenant in (kept, other):
        limit_retention(world, tenant)
        poster = run.poster(world, tenant)
        poster.start(run.pick(quick=10, full=200), rate=20)
        posters.append(poster)
    for tenant, poster in zip((kept, other), posters, strict=True):
        poster.join()
        run.judge(world, tenant, poster)
    accepted = set(posters[0].accepted)
    world.application.manage("suspend_organization", kept.slug)
    for _ in range(RUNS):
        purge_later(world)
    run.expect(stored(world, kept) == accepted, "retention deleted submissions of a suspended organization")
    run.expect(not stored(world, other), "retention left submissions of another organization")
    world.application.manage("resume_organization", kept.slug)
    run.expect(stored(world, kept) == accepted, "the resume deleted submissions")
    purge_later(world)
    run.expect(not stored(world, kept), "retention left submissions of a resumed organization")
    run.note(f"{len(accepted)} kept in {RUNS} runs, then deleted")
    for tenant in (kept, other):
        run.forget(world, tenant)


def limit_retention(world: World, tenant: Tenant) -> None:
    with Client(world.port) as client:
        for form_id in tenant.forms:
            answer = client.patch(f"/api/forms/{form_id}", tenant.key, json={"retentionDays": DAYS})
            assert answer.status == 200, answer.text


def purge_later(world: World) -> None:
    """Run retention with a clock at which everything is too old."""
    environment = os.environ | dict(world.environment) | wrong_clock(f"+{DAYS + 1}d")
    command = [sys.executable, "manage.py", "purge_submissions"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def stored(world: World, tenant: Tenant) -> set[str]:
    return set(world.database.rows(tenant.forms, 5).submissions)
