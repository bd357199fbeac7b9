"""Submitting while the large form is exported and deliveries drain, next to submitting without them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.load.deliveries.drain import Backlog, delivering
from tests.load.deliveries.latency import ENDPOINTS, SHARE, measure_throughput, p99, p99_between, submit_at_rate
from tests.load.downloads import downloading
from tests.load.report.figures import Round, Row
from tests.load.rows.export import export_path
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import Options, Place

LONGER = 2  # than a round of submitting as fast as possible: at a third of the rate there are fewer requests
ROW = Row(
    "busy",
    "p99 of submitting at a third of the throughput while the large form is exported and 10,000 deliveries drain",
    "p99 without them",
    "ms",
    mark=3,
    aim=1.5,
)


@contextmanager
def running(place: Place, options: Options) -> Iterator[OneRound]:
    """
    Yield a round that submits at a fixed rate by itself, then next to an export and a backlog.

    A deliverer runs in both. Only requests count that were due while deliveries arrived and the export ran. The export
    is cut when submitting ends: `export` checks whole ones.
    """
    bench, large = place.bench, place.archive["large"]
    rate = SHARE * measure_throughput(bench)
    backlog = Backlog(bench, place.receiver, endpoints=ENDPOINTS, deliveries=options.deliveries)
    path, port = export_path(large["form_id"], "csv"), bench.application.port

    def one_round() -> dict[str, Round]:
        with delivering(bench, 1) as process:
            quiet = p99(submit_at_rate(bench, rate, options.seconds))
            backlog.make_due()
            seconds = LONGER * options.seconds
            with downloading(port, path, large["key"], at_most=seconds) as download:
                timed = submit_at_rate(bench, rate, seconds)
                export = download.result()
            backlog.wait(process)
            arrivals = place.receiver.taken()
        return {ROW.name: Round(p99_between(timed, arrivals.first, min(arrivals.last, export.end)), quiet)}

    yield one_round


KIND = Kind((ROW,), "archive", running, depends_on_stored_rows=True)
