"""Names that lead to the trap (F13): rebinding, mixed answers, odd spellings."""

from tests.faults.case import Run, fault
from tests.faults.standard_points import LOOKED_UP, NAMES
from tests.faults.world import World
from tests.services.waiting import eventually

SPELLINGS = ("2130706434", "0x7f000002", "0x7f.0.0.2", "017700000002", "127.2", "[::ffff:127.0.0.2]", "①②⑦.0.0.2")


@fault("F13", "names and spellings that lead to an address that is not allowed", quick=True)
def rebinding(run: Run) -> None:
    """
    Each endpoint is tried eleven times, so that a changing name is looked up before and after its change.

    Each submission has new endpoints: of one endpoint, more would wait for its circuit.
    """
    for _ in range(run.pick(quick=1, full=5)):
        try_every_name(run, run.pointed)
    trapped = run.pointed.receivers.log().trapped
    run.expect(not trapped, f"{trapped} connections reached the trap")
    run.note(f"{len(NAMES) + len(SPELLINGS)} names, {trapped} connections to the trap")


def try_every_name(run: Run, world: World) -> None:
    urls = [f"http://{name}:{world.receivers.trap_port}/" for name in (*NAMES, *SPELLINGS)]
    tenant = run.tenant(world, [["/ok", *urls]])
    tenant.exclude(*urls)
    poster = run.poster(world, tenant)
    poster.post()

    def ended() -> bool:
        rows = world.database.rows(tenant.forms, 5)
        assert rows.deliveries
        assert not rows.unfinished, f"{len(rows.unfinished)} deliveries are not finished"
        return True

    eventually(ended, 60, "every delivery ends")
    run.judge(world, tenant, poster)
    rows = world.database.rows(tenant.forms, 5).deliveries
    statuses = {row.status for row in rows if tenant.webhooks[row.webhook_id] in urls}
    looked_up = set((world.directory / LOOKED_UP).read_text().split())
    run.expect(statuses == {"failed"}, f"deliveries to the trap ended {sorted(statuses)}")
    run.expect(looked_up == set(NAMES), f"only {sorted(looked_up)} were looked up")
    run.forget(world, tenant)
