"""
Python programs in forks of a process that has imported the packages they use: half of a start is imports.

The fork server of `multiprocessing`, which the first program starts, has imported packages of others only: nothing of
ours, and no settings. Each fork gets its own environment, session and output, then runs the program as `__main__`.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IS_MEASURED = "COVERAGE_PROCESS_START" in os.environ  # then each program is an interpreter that measures itself
PROCESSES: SpawnContext | ForkServerContext
PROCESSES = multiprocessing.get_context("spawn") if IS_MEASURED else multiprocessing.get_context("forkserver")
READ_AT_START = ("PYTHON", "LD_", "MALLOC_")  # of Python, the linker and the C library, too late for a fork
# What takes long and can be imported without settings.
PACKAGES = [
    *("allauth.account.signals", "altcha", "celery.apps.worker", "celery.bin.celery"),
    *("django.contrib.admin.decorators", "django.contrib.humanize.templatetags.humanize"),
    *("django.db.backends.sqlite3.base", "django.db.migrations.autodetector"),
    *("django.test.signals", "django_filters.exceptions"),
    *("drf_spectacular.utils", "environ", "fido2.server", "jsonschema", "kombu.transport.redis", "lxml.etree"),
    *("markdown_it", "PIL.ImageOps", "psycopg", "python_multipart", "requests", "structlog"),
    *("uvicorn.protocols.http.httptools_impl", "webencodings", "zxcvbn"),
    "tests.services.frozen",  # last: what is imported by now stays, and each collection would walk it
]
_polling = threading.Lock()  # to start a process polls all others, and only one may read its status


class Forked:
    """A function in a fork, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, function: Callable[..., None], *arguments: object) -> None:
        self._process = PROCESSES.Process(target=_lead, args=(function, arguments), daemon=True)
        with _polling:
            PROCESSES.set_forkserver_preload(PACKAGES)
            self._process.start()
        assert self._process.pid
        self.pid = self._process.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with _polling:
            self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises subprocess.TimeoutExpired."""
        wait([self._process.sentinel], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since; its status is on the way
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a fork is as good as a start in this environment."""
    ours, theirs = (
        {name: value for name, value in variables.items() if name.startswith(READ_AT_START)}
        for variables in (os.environ, environment)
    )
    return ours == theirs and not IS_MEASURED


def start(arguments: Sequence[object], environment: Mapping[str, str], log: Path) -> Forked:
    """Run a command line of Python, without its first word, in a new session. It prints into `log`."""
    return Forked(_run, list(arguments), dict(environment), log)


def use(environment: Mapping[str, str]) -> None:
    """Make it the environment of this fork."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    sys.path[:1] = [str(ROOT), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]


def _lead(function: Callable[..., None], arguments: Sequence[object]) -> None:
    os.setsid()
    multiprocessing.current_process().daemon = False  # it may have children
    function(*arguments)


def _run(arguments: Sequence[object], environment: Mapping[str, str], log: Path) -> None:
    use(environment)
    with log.open("ab") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)
    program, *sys.argv = [str(argument) for argument in arguments]
    if program == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv.insert(0, program)
        runpy.run_path(program, run_name="__main__")
