"""Submitting on PostgreSQL, next to pgbench and to a bare Django view with the same two statements."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.load.pgbench import make_script, run_pgbench
from tests.load.report.figures import Round, Row
from tests.load.rounds import CLIENTS
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place
from tests.load.statements import STATEMENTS_VARIABLE, TABLE
from tests.services.application import Application
from tests.services.environment import POSTGRESQL
from tests.services.processes import free_port

WARM_UP_SECONDS = 2.0
SUBMIT = Row(
    "submit",
    f"POST /api/submit, {CLIENTS} clients, 2 web processes, limiter on, one webhook: submissions a second",
    f"pgbench: the same look-up and INSERT, {CLIENTS} clients, protocol simple",
    "a second",
    mark=0.25,
    aim=0.33,
    higher_is_better=True,
)
CPU = Row(
    "cpu",
    "The same: processor time of the web role for one submission",
    "a bare Django view with these two statements, behind the same web server",
    "ms",
    mark=2,
    aim=1.3,
)
_WEBHOOK = "from tests.load import arrangement; arrangement.add_webhook({!r})"


@contextmanager
def running(place: Place, options: Options) -> Iterator[OneRound]:
    """Yield a round of the service, pgbench and the bare view."""
    bench = place.bench
    statements = bench.statements()
    script, kept = place.directory / "submit.pgbench", place.directory / "statements.json"
    script.write_text(make_script(statements.look_up, statements.insert(), statements.pk))
    statements.write(kept)
    bench.shell(_WEBHOOK.format(f"{place.receiver.url}/submitted"))

    def pgbench(seconds: float) -> float:
        bench.empty()
        rate, count = run_pgbench(bench.url, script, clients=CLIENTS, seconds=seconds)
        rows = bench.query(f"SELECT count(*) FROM {TABLE}")[0]
        assert rows == count, f"pgbench counted {count} transactions, {rows} rows are in the table"
        return rate

    def one_round() -> dict[str, Round]:
        ours = bench.submit(options.seconds)
        rate = pgbench(options.seconds)
        other = bench.submit(options.seconds, to=bare)
        return {SUBMIT.name: Round(ours.load.per_second, rate), CPU.name: Round(ours.cpu_ms, other.cpu_ms)}

    environment = {
        **bench.application.environment,
        STATEMENTS_VARIABLE: str(kept),
        "PORT": str(free_port()),
    }
    bare = Application(environment, place.directory / "bare", backend=POSTGRESQL, delivers=False, streams=False)
    bare.environment["DJANGO_SETTINGS_MODULE"] = "tests.load.bare.settings"
    bare.migrates = False
    with bare:
        for target in (bench.application, bare):
            bench.submit(WARM_UP_SECONDS, to=target)
        pgbench(WARM_UP_SECONDS)
        yield one_round
    with psycopg.connect(bench.url, autocommit=True) as connection:
        connection.execute("TRUNCATE webhooks_receiver CASCADE")  # the other rows have their own


KIND = Kind((SUBMIT, CPU), "service", running)
