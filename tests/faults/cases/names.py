"""Names that lead to the trap (F13): rebinding, mixed answers, odd spellings."""

from tests.faults.case import Run, fault
from tests.faults.checker.receivers import HOST, TRAP_HOST
from tests.faults.points import point
from tests.services.waiting import eventually

# The trap's port is the same on both addresses, but only the trap listens on it: no such delivery can succeed.
NAMES = {
    "changing.example": [[HOST], [TRAP_HOST]],
    "mixed.example": [[HOST, TRAP_HOST]],
    "mixed-first.example": [[TRAP_HOST, HOST]],
    "mapped.example": [[f"::ffff:{TRAP_HOST}"]],
    "private.example": [[TRAP_HOST]],
}
SPELLINGS = ("2130706434", "0x7f000002", "0x7f.0.0.2", "017700000002", "127.2", "[::ffff:127.0.0.2]", "①②⑦.0.0.2")


@fault("F13", "names and spellings that lead to an address that is not allowed", quick=True)
def rebinding(run: Run) -> None:
    """Each endpoint is tried four times, so that a changing name is looked up before and after its change."""
    seen = run.new_directory() / "seen"
    points = (
        point("socket.getaddrinfo", "resolve", names=NAMES, seen=str(seen)),
        point("webhooks.outbox.retry_schedule.DELAYS", "set", value=[0.2] * 3),
    )
    with run.own_world(points=points) as world:
        urls = [f"http://{name}:{world.receivers.trap_port}/" for name in (*NAMES, *SPELLINGS)]
        tenant = run.tenant(world, [["/ok", *urls]])
        tenant.exclude(*urls)
        poster = run.poster(world, tenant)
        poster.start(run.pick(quick=2, full=10), rate=5)
        poster.join()

        def ended() -> bool:
            rows = world.database.rows(tenant.forms, 5)
            assert not rows.unfinished, f"{len(rows.unfinished)} deliveries are not finished"
            return True

        eventually(ended, 60, "every delivery ends")
        run.judge(world, tenant, poster)
        rows = world.database.rows(tenant.forms, 5).deliveries
        statuses = {row.status for row in rows if tenant.webhooks[row.webhook_id] in urls}
        looked_up = set(seen.read_text().split())
        run.expect(statuses == {"failed"}, f"deliveries to the trap ended {sorted(statuses)}")
        run.expect(looked_up == set(NAMES), f"only {sorted(looked_up)} were looked up")
        trapped = world.receivers.log().trapped
        run.expect(not trapped, f"{trapped} connections reached the trap")
        run.note(f"{len(urls)} names, {trapped} connections to the trap")
