"""A full disk (F6), and the growth of the database (F24)."""

import contextlib
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.faults.case import Run, fault
from tests.faults.world import World
from tests.services.environment import SQLITE
from tests.services.waiting import let_pass

SIZES = {True: "200m", False: "48m"}  # of the file system: PostgreSQL has 16 MiB of log at the least
FULL_SECONDS = 5.0
WEBHOOKS, BODY_BYTES = 100, 250_000
LOG_BYTES = 10_000_000  # of SQLite's write-ahead log, whose size is bounded
COPIES = 8  # of a submission's body that the database may have: the row, its folded text, the message, their logs


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """Mount a small file system in memory, which needs root."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"F6 needs root and the right to mount: {result.stderr.strip()}")
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory: Path) -> Path:
    """Write until there is no room."""
    path = directory / "filler"
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            size = os.statvfs(directory).f_bavail * os.statvfs(directory).f_frsize
            file.write(b"\0" * max(4096, min(size, 1 << 20)))
    return path


@fault("F6", "the disk is full")
def disk_full(run: Run) -> None:
    size = SIZES[run.is_postgresql]
    with small_disk(run.new_directory() / "disk", size) as disk, run.own_world(disk=disk) as world:
        tenant = run.tenant(world, [["/a"]])
        poster = run.poster(world, tenant, padding=2_000)
        poster.start(rate=30)
        for _ in range(run.pick(quick=1, full=3)):
            let_pass(2)
            with run.outage():
                filler = fill(disk)
                let_pass(FULL_SECONDS)
                filler.unlink()
                bring_up(world)
            let_pass(1)
        poster.stop()
        statuses = [told.status for told in poster.told()]
        run.note(f"{statuses.count(503)} times 503, {statuses.count(0)} unanswered")
        run.expect(statuses.count(503) > 0, "no submit was answered 503")
        run.judge(world, tenant, poster, p99_seconds=10)
        check_integrity(run, world)


def bring_up(world: World) -> None:
    """Start PostgreSQL again if it ended, as its supervisor does."""
    if world.backend != SQLITE and world.postgresql.process and not world.postgresql.process.running:
        world.postgresql.start()


def check_integrity(run: Run, world: World) -> None:
    if world.backend == SQLITE:
        with closing(sqlite3.connect(world.database.path)) as connection:
            (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
        run.expect(integrity == "ok", f"integrity_check: {integrity}")


@fault("F24", "100 webhooks and bodies of 250 KB: the database stays small")
def growth(run: Run) -> None:
    with run.own_world(settings={"WEB_CONCURRENCY": "1"}) as world:
        tenant = run.tenant(world, [[f"/{number}" for number in range(WEBHOOKS)]])
        poster = run.poster(world, tenant, padding=BODY_BYTES)
        count = run.pick(quick=4, full=20)
        before = size_of(world)
        for _ in range(count):
            poster.post()
        run.judge(world, tenant, poster, within=120, p99_seconds=5)
        grown = size_of(world) - before
        most = LOG_BYTES + count * (COPIES * BODY_BYTES + WEBHOOKS * 4_000)
        run.note(f"{count} submissions of {BODY_BYTES // 1000} KB to {WEBHOOKS} webhooks: {grown / 1e6:.0f} MB")
        run.expect(grown <= most, f"the database grew by {grown / 1e6:.0f} MB, at most {most / 1e6:.0f}")


def size_of(world: World) -> int:
    """Return the bytes of the database, its log included on SQLite."""
    if world.backend == SQLITE:
        path = Path(world.database.path)
        return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
    return int(world.query("SELECT pg_database_size(current_database())")[0][0])
