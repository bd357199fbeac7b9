"""
Python programs in forks of one process that has imported the packages they use: three quarters of a start are imports.

That process has imported packages of others only: nothing of ours, and no settings. A fork takes its command, its
environment, its directory and its descriptors from the request, then runs the program as `__main__`, as an exec would.

    python -m tests.services.fork_server DESCRIPTOR    serves until its socket is closed; `start` starts it
"""

import atexit
import fcntl
import gc
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULE = "tests.services.fork_server"
MAX_REQUEST = 160_000  # bytes of JSON: a command and an environment
MAX_FILES = 16
MAX_DESCRIPTOR = 1 << 20
OWN = signal.SIGKILL  # the status of programs whose server was killed, and they with it or unknown
# What the roles import and what can be imported without settings: half a second of processor time.
PACKAGES = (
    *("django.contrib.auth.hashers", "django.contrib.humanize.templatetags.humanize", "django.contrib.messages.api"),
    *("django.contrib.sessions.backends.base", "django.contrib.staticfiles.finders", "django.core.mail.backends.smtp"),
    *("django.core.management", "django.core.paginator", "django.core.wsgi", "django.db.backends.postgresql.base"),
    *("django.db.backends.sqlite3.base", "django.db.migrations.loader", "django.db.models", "django.forms"),
    *("django.template.defaulttags", "django.template.loader_tags", "django.templatetags.i18n"),
    *("django.templatetags.static", "django.urls", "django.views.csrf", "django.views.debug", "django.views.generic"),
    *("django.views.i18n", "django.views.static"),
    *(
        "altcha",
        "celery.app.amqp",
        "celery.fixups.django",
        "celery.loaders.app",
        "csp",
        "django_filters",
        "django_htmx",
    ),
    *("environ", "fido2.server", "httptools", "inflection", "jsonschema", "kombu.transport.redis", "lxml.etree"),
    *("lxml.html", "markdown_it", "PIL.Image", "PIL.JpegImagePlugin", "PIL.PngImagePlugin", "PIL.WebPImagePlugin"),
    *("psycopg", "psycopg_pool", "qrcode.image.svg", "redis", "requests", "standardwebhooks", "structlog"),
    *("uritemplate", "urllib3", "uuid_utils", "uvicorn.protocols.http.httptools_impl", "uvloop", "whitenoise", "yaml"),
    "zxcvbn",
)


class Forked:
    """A program in a fork, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, args: Sequence[str], status: int) -> None:
        """`status` is the end of a pipe from which the exit status is read."""
        self.pid = pid
        self.args = args
        self.returncode: int | None = None
        self._status = status
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises subprocess.TimeoutExpired."""
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _look(self, timeout: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and _is_readable(self._status, timeout):
                self.returncode = int(os.read(self._status, 100) or -OWN)
                os.close(self._status)
            return self.returncode


def _is_readable(descriptor: int, timeout: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))


class _Server:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(self, args: Sequence[str], environment: Mapping[str, str], cwd: Path, files: Mapping[int, int]) -> Forked:
        ours, theirs = os.pipe()
        request = {"args": list(args), "environment": dict(environment), "cwd": str(cwd), "files": list(files)}
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(request).encode()], [theirs, *files.values()])
                pid = int(self._socket.recv(100))
        finally:
            os.close(theirs)
        return Forked(pid, args, ours)

    def close(self) -> None:
        self._socket.close()
        self.process.wait()


_servers: list[_Server] = []  # none or one
_starting = threading.Lock()


def can_fork(environment: Mapping[str, str]) -> bool:
    """
    Return whether a fork is as good as a start in this environment.

    It is not while Python is measured, nor with other variables than ours that Python reads as it starts.
    """
    ours, theirs = (
        {name: value for name, value in variables.items() if name.startswith("PYTHON")}
        for variables in (os.environ, environment)
    )
    return ours == theirs and "COVERAGE_PROCESS_START" not in environment


def start(args: Sequence[str], environment: Mapping[str, str], cwd: Path, files: Mapping[int, int]) -> Forked:
    """
    Run `args`, a command line of `sys.executable`, in a new session.

    `files` are its descriptors, each with one of ours: `{1: log.fileno()}`. It has no others.
    """
    with _starting:
        if not _servers:
            _servers.append(_Server())
            atexit.register(close)
    return _servers[0].fork(args, environment, cwd, files)


def close() -> None:
    """End the server, if there is one. Programs that still run are left as they are."""
    while _servers:
        _servers.pop().close()


def serve(requests: socket.socket) -> None:
    """Fork for each request, and report each end, until the other side closes the socket."""
    for name in PACKAGES:
        import_module(name)
    gc.freeze()
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not requests:
                    selector.unregister(key.fileobj)
                    _report(key.fd, *key.data)
                    continue
                text, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, MAX_FILES)
                if not text:
                    return
                child = os.fork()
                if not child:
                    os.setsid()
                    requests.send(str(os.getpid()).encode())  # not before: then its group exists, and can be killed
                    selector.close()
                    requests.close()
                    _become(json.loads(text), descriptors[1:])
                    return
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, descriptors[0]))
                for descriptor in descriptors[1:]:
                    os.close(descriptor)


def _report(ended: int, pid: int, status: int) -> None:
    """Collect a fork, and write its exit status."""
    os.close(ended)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):
        os.write(status, str(code).encode())
    os.close(status)


def _become(request: dict[str, Any], given: Sequence[int]) -> None:
    """Run the program in this fork. What it raises goes on to the interpreter, which ends as ever."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _take_files(dict(zip(request["files"], given, strict=True)))
    program, *arguments = request["args"]
    if program == "-m":
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [program, *arguments]
        sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")


def _take_files(files: Mapping[int, int]) -> None:
    """Move descriptors to their numbers, and close all others."""
    above = max(*files, *files.values()) + 1
    for number, descriptor in [
        (number, fcntl.fcntl(descriptor, fcntl.F_DUPFD, above)) for number, descriptor in files.items()
    ]:
        os.dup2(descriptor, number)
    numbers = sorted(files)
    for lower, upper in zip(numbers, [*numbers[1:], MAX_DESCRIPTOR], strict=True):
        os.closerange(lower + 1, upper)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
