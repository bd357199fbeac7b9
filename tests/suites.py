"""The suites of `tests.run`: their titles, environments and pytest processes, and their results."""

import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.services.backing import Backing
from tests.services.environment import (
    EXAMPLES_VARIABLE,
    POSTGRESQL,
    SQLITE,
    TEMPLATE_VARIABLE,
    service_environment,
)
from tests.services.processes import ROOT, Process
from tests.services.swift.server import SwiftServer

SUITE_SECONDS = 4800.0  # a suite that hangs is ended after this long, and has failed; CI ends after 90 minutes
STOP_SECONDS = 60.0  # pytest's own time to stop what its fixtures started
SCAN_SECONDS = 12  # for which submissions wait for clamd, instead of 15 minutes
CV = "tests/browser/files/test_cv_of_10_mb.py"
CLIENT = "clients/python/tests"  # those of the package by itself
PROCESSOR_TIME = " seconds of processor time"  # the end of a line that `tests/conftest.py` prints
NOTHING_COLLECTED = 5  # pytest's exit status


@dataclass(frozen=True)
class Suite:
    name: str  # as `--only` takes it
    title: str
    directories: tuple[str, ...]
    backend: str = POSTGRESQL
    optional: bool = True  # may have no tests yet
    programs: tuple[str, ...] = ()  # besides those of the backing services
    mark: str = ""  # of the tests that it takes; by default all that belong to the database
    processes: int = 0  # of pytest-xdist; 0 is none
    has_outer_services: bool = False  # FILES_URL is a Swift, CLAMD_URL a socket at which tests start clamd
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)  # besides those of all suites

    @property
    def arguments(self) -> list[str]:
        mark = self.mark or ("" if self.backend == SQLITE else "not on_sqlite")
        return [
            *self.directories,
            *(["-m", mark] if mark else []),
            *(["-n", str(self.processes), "--dist", "worksteal"] if self.processes else []),
        ]


# They go side by side, in this order: the longest first. The last three measure and break things; when they start,
# little else runs, and they hold their times against others of the same minute.
SUITES = (
    Suite(
        "api-sqlite",
        "api suite on SQLite without Redis",
        ("tests/api",),
        SQLITE,
        optional=False,
        programs=("nginx", "openssl", "java", "curl"),
    ),
    Suite("api-postgresql", "api suite on PostgreSQL, Redis and Celery", ("tests/api",), optional=False),
    Suite("browser", "browser suite in Chromium", ("tests/browser",), programs=("chromium", "node", "npm", "hugo")),
    Suite("dashboard-sqlite", "dashboard suite on SQLite without Redis", ("tests/dashboard",), SQLITE),
    Suite(
        "dashboard-postgresql",
        "dashboard suite on PostgreSQL, Redis and Celery",
        ("tests/dashboard",),
    ),
    Suite(
        "unit-sqlite",
        "unit suite on SQLite",
        ("tests/unit", CLIENT),
        SQLITE,
        optional=False,
        programs=("systemd-analyze", "xgettext", "clamd"),
    ),
    Suite(
        "unit-postgresql", "unit suite on PostgreSQL and Redis", ("tests/unit",), optional=False, programs=("clamd",)
    ),
    Suite(
        "files-s3",
        "file suite on S3, with a virus scanner, PostgreSQL, Redis and Celery",
        ("tests/files", "tests/api/files/test_posted_files.py", "tests/api/files/test_ids_of_files.py", CV),
        programs=("swift", "clamd", "chromium"),
        has_outer_services=True,
    ),
    Suite("fuzz", "fuzz suite on PostgreSQL, Redis and Celery", ("tests/fuzz",)),
    Suite(
        "scale",
        "scale suite on PostgreSQL, Redis and Celery",
        ("tests/scale",),
        programs=("pgbouncer", "ip", "unshare"),
    ),
    Suite(
        "faults-sqlite",
        "faults suite on SQLite",
        ("tests/faults/both", "tests/faults/sqlite"),
        SQLITE,
        programs=("unshare", "faketime"),
    ),
    Suite(
        "faults",
        "faults suite on PostgreSQL, Redis and Celery",
        ("tests/faults/both", "tests/faults/postgresql"),
        programs=("unshare", "faketime"),
    ),
)
# Only by name. What the fuzzer finds comes from the schema and the views; PostgreSQL refuses more values than SQLite.
BY_NAME = (
    Suite("fuzz-sqlite", "fuzz suite on SQLite", ("tests/fuzz",), SQLITE),
    Suite("cv-postgresql", "a CV of 10 MB on PostgreSQL and local storage", (CV,), programs=("chromium",)),
    Suite(
        "cv-sqlite-s3",
        "a CV of 10 MB on SQLite and S3",
        (CV,),
        SQLITE,
        programs=("swift", "clamd", "chromium"),
        has_outer_services=True,
    ),
)
# `make test-quick`: an answer while one works, over SQLite.
QUICK = (
    Suite(
        "quick-unit",
        "unit suite on SQLite",
        ("tests/unit", CLIENT),
        SQLITE,
        mark="not slow",
        processes=3,  # more than processors: tests of time-outs and of several processes wait
        programs=("openssl", "systemd-analyze", "clamd"),
        settings={EXAMPLES_VARIABLE: "8"},  # of 40; `make test` tries all
    ),
    Suite("quick-api", "quick part of the api suite on SQLite", ("tests/api", "tests/dashboard"), SQLITE, mark="quick"),
)


def exists(suite: Suite) -> bool:
    return not suite.optional or any(any((ROOT / each).rglob("test_*.py")) for each in suite.directories)


@dataclass(frozen=True)
class Result:
    title: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    note: str = ""
    output: str = ""

    @property
    def failures(self) -> int:
        """Never skip: a skipped test is a failure, and so is a suite that went wrong as a whole."""
        return self.failed + self.skipped or bool(self.note)

    @property
    def failed_tests(self) -> list[str]:
        """The lines of pytest's summary, `FAILED <test> - <error>`; empty if the suite printed as it went."""
        return [line for line in self.output.splitlines() if line.startswith(("FAILED ", "ERROR "))]

    @property
    def processor_seconds(self) -> int:
        """Return the processor time without the databases'; 0 if the suite printed it as it went."""
        lines = [line for line in self.output.splitlines() if line.endswith(PROCESSOR_TIME)]
        return int(lines[-1].removesuffix(PROCESSOR_TIME)) if lines else 0

    def line(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped in {self.seconds:.0f} s"
        if self.processor_seconds:
            counts += f", {self.processor_seconds} s of processor time"
        return f"{self.title}: {counts}{self.note and f' ({self.note})'}"


class Runner:
    """Runs suites, from several threads if need be, until it is closed; then what still runs is stopped."""

    def __init__(self, backing: Backing | None, arguments: Sequence[str], *, live: bool) -> None:
        """`arguments` are for pytest. A `live` run prints as it goes instead of keeping the output in the result."""
        self._backing = backing
        self._arguments = list(arguments)
        self._live = live
        self._lock = threading.Lock()
        self._running: set[Process] = set()
        self._closed = False

    def run(self, suite: Suite) -> Result:
        try:
            with tempfile.TemporaryDirectory(prefix="fieldpost-suite-", ignore_cleanup_errors=True) as directory:
                return self._run(suite, Path(directory))
        except Exception:  # such as a database that could not be made: this suite has failed, the others go on
            return Result(suite.title, note="it could not run", output=traceback.format_exc())

    def _run(self, suite: Suite, directory: Path) -> Result:
        environment = self._environment(suite, directory / "data")
        if suite.has_outer_services:
            scanner = {"CLAMD_URL": f"unix://{directory / 'clamd'}", "SCAN_SECONDS": str(SCAN_SECONDS)}
            with SwiftServer() as swift:
                return self._run_pytest(suite, directory, environment | scanner | {"FILES_URL": swift.url()})
        return self._run_pytest(suite, directory, environment)

    def _run_pytest(self, suite: Suite, directory: Path, environment: dict[str, str]) -> Result:
        report, log = directory / "report.xml", None if self._live else directory / "output"
        command = [sys.executable, "-m", "pytest", *suite.arguments]
        command += [f"--basetemp={directory / 'pytest'}", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        if not self._live:
            command += ["-p", "no:cacheprovider"]  # its files are not made for two at a time
        start = time.monotonic()
        with self._process(suite, [*command, *self._arguments], environment, log) as process:
            note = _wait(process)
        seconds = time.monotonic() - start
        output = log.read_text(errors="replace") if log else ""
        total, failed, skipped = _counts(report)
        note = note or _note(process.popen.wait(), total, failed, skipped)
        return Result(suite.title, total - failed - skipped, failed, skipped, seconds, note, output)

    def _environment(self, suite: Suite, directory: Path) -> dict[str, str]:
        directory.mkdir()
        if suite.backend == SQLITE:
            return service_environment(data_dir=directory, backend=SQLITE, extra=suite.settings)
        assert self._backing is not None
        return service_environment(
            data_dir=directory,
            backend=POSTGRESQL,
            database_url=self._backing.database(suite.name),
            redis_url=self._backing.redis((SUITES + BY_NAME).index(suite)),
            web_concurrency=2,
            extra={TEMPLATE_VARIABLE: self._backing.template, **suite.settings},
        )

    @contextmanager
    def _process(
        self, suite: Suite, command: list[str], environment: dict[str, str], log: Path | None
    ) -> Iterator[Process]:
        with self._lock:
            if self._closed:
                raise RuntimeError("the run was ended")
            process = Process(suite.title, command, log=log, env=environment)
            self._running.add(process)
        try:
            yield process
        finally:
            process.stop(patience=STOP_SECONDS)  # nothing if it ended by itself
            with self._lock:
                self._running.discard(process)

    def close(self) -> None:
        """Ends every suite; pytest lets its fixtures stop what they started (see `tests/conftest.py`)."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            process.stop(patience=STOP_SECONDS)


def _wait(process: Process) -> str:
    try:
        process.popen.wait(SUITE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"ended after {SUITE_SECONDS:.0f} s"
    return ""


def _note(status: int, total: int, failed: int, skipped: int) -> str:
    """Return why the suite as a whole failed, or an empty string."""
    if status == NOTHING_COLLECTED or not total:
        return "it collected nothing"
    if status and not failed:
        return f"pytest ended with status {status}"
    return "skipped tests count as failed" if skipped else ""


def _counts(report: Path) -> tuple[int, int, int]:
    """Tests, those that failed (in themselves or their fixtures), those skipped or expected to fail."""
    if not report.exists():
        return 0, 0, 0
    cases: dict[tuple[str, str, str], set[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        # A failure of the test and one of its teardown are two entries with one name.
        name = (case.get("file", ""), case.get("classname", ""), case.get("name", ""))
        cases.setdefault(name, set()).update(child.tag for child in case)
    failed = sum(1 for tags in cases.values() if tags & {"failure", "error"})
    skipped = sum(1 for tags in cases.values() if "skipped" in tags and not tags & {"failure", "error"})
    return len(cases), failed, skipped
