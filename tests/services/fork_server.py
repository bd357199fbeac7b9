"""
Python programs in forks of one process that has imported the packages they use: three quarters of a start are imports.

That process has imported packages of others only: nothing of ours, and no settings. A fork takes its command, its
environment, its directory and its descriptors from the request, then runs the program as `__main__`, as an exec would.

A run has one such process (`serving`). Each process that connects to its socket gets a fork of it as its own
server, which starts its programs. Without a run, `start` starts a server.

    python -m tests.services.fork_server DESCRIPTOR    serves until its socket is closed
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULE = "tests.services.fork_server"
SOCKET_VARIABLE = "FIELDPOST_TEST_FORKS"  # the path of a run's socket
# Variables of Python, the linker and the C library. TZ is none of them: Django sets it, and reads it again.
READ_AT_START = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "LANG", "LC_")
MAX_REQUEST = 160_000  # bytes of JSON: a command and an environment
MAX_FILES = 16
MAX_DESCRIPTOR = 1 << 20
OWN = signal.SIGKILL  # the status of programs whose server was killed, and they with it or unknown
# What the roles import and what can be imported without settings: a second of processor time.
_NAMES = """
altcha cryptography.fernet environ fido2.features fido2.server httptools inflection jsonschema kombu.transport.redis
lxml.etree lxml.html markdown_it PIL.Image PIL.JpegImagePlugin PIL.PngImagePlugin PIL.WebPImagePlugin psycopg
psycopg_pool qrcode.image.svg redis requests standardwebhooks structlog uritemplate urllib3 uuid_utils.compat
uvicorn.protocols.http.httptools_impl uvloop yaml zxcvbn

allauth.account.checks allauth.account.signals allauth.core.internal.urlkit allauth.core.ratelimit allauth.decorators
allauth.mfa.checks allauth.mfa.totp.internal allauth.usersessions.adapter csp.decorators csp.middleware django_filters
django_htmx.middleware django_htmx.templatetags.django_htmx django_ratelimit.checks django_ratelimit.core
drf_spectacular.checks drf_spectacular.contrib.djangorestframework_camel_case drf_spectacular.utils
rest_framework.authentication rest_framework.checks rest_framework.metadata rest_framework.mixins
rest_framework.negotiation rest_framework.permissions rest_framework.utils.breadcrumbs rest_framework.utils.encoders
whitenoise.compress whitenoise.middleware whitenoise.runserver_nostatic.management.commands

django.contrib.admin.apps django.contrib.admin.templatetags.admin_list django.contrib.admin.templatetags.admin_modify
django.contrib.admin.templatetags.log django.contrib.admindocs.views django.contrib.auth.apps
django.contrib.auth.hashers django.contrib.auth.password_validation django.contrib.auth.tokens
django.contrib.contenttypes.apps django.contrib.humanize.templatetags.humanize django.contrib.messages.apps
django.contrib.messages.middleware django.contrib.sessions.backends.db django.contrib.sessions.middleware
django.contrib.sites.shortcuts django.contrib.staticfiles.finders
django.contrib.staticfiles.management.commands.runserver django.core.cache.backends.locmem
django.core.cache.backends.redis django.core.mail.backends.console django.core.mail.backends.smtp
django.core.management.commands.makemigrations django.core.management.commands.migrate django.core.paginator
django.core.wsgi django.db.backends.postgresql.base django.db.backends.sqlite3.base django.db.migrations.loader
django.db.models django.forms django.middleware.clickjacking django.middleware.common django.middleware.gzip
django.middleware.security django.template.defaulttags django.template.loader_tags django.templatetags.cache
django.templatetags.i18n django.templatetags.l10n django.templatetags.static django.templatetags.tz
django.test.signals django.urls django.utils.translation.reloader django.views.csrf django.views.debug
django.views.decorators.clickjacking django.views.decorators.http django.views.generic django.views.i18n
django.views.static

celery.app.amqp celery.app.control celery.app.events celery.app.log celery.apps.beat celery.apps.worker
celery.backends.base celery.bin.celery celery.concurrency.prefork celery.contrib.django.task celery.events.state
celery.fixups.django celery.loaders.app celery.worker.autoscale celery.worker.consumer.delayed_delivery
"""
PACKAGES = tuple(_NAMES.split())


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
            with suppress(ProcessLookupError):  # it has ended since; its status is on the way
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
    """A server of this process: a fork of the run's, or without a run a process that it starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        if place := os.environ.get(SOCKET_VARIABLE):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._socket.connect(place)
            return
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _start_server(theirs, os.environ)

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

    def close(self) -> float:
        """End it. Return the processor time that it and the ended programs took, unless it is a child of ours."""
        seconds = 0.0
        with self._socket, suppress(OSError):  # it is gone
            self._socket.shutdown(socket.SHUT_WR)
            seconds = float(self._socket.recv(100) or 0)
        if self._process is None:
            return seconds
        self._process.wait()
        return 0


def _start_server(
    requests: socket.socket, environment: Mapping[str, str], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", MODULE, str(requests.fileno())],
        cwd=ROOT,
        env=dict(environment),
        stdin=stdin,
        pass_fds=[requests.fileno()],
        start_new_session=True,
    )


@contextmanager
def serving(place: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Serve meanwhile at the socket `place`, for this process and those that it starts, with Python as it is there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place))
        listener.listen()
        process = _start_server(listener, environment, subprocess.PIPE)
    os.environ[SOCKET_VARIABLE] = str(place)
    try:
        yield
    finally:
        close()
        del os.environ[SOCKET_VARIABLE]
        process.communicate()  # closes its standard input, at which it ends


_servers: list[_Server] = []  # none or one
_starting = threading.Lock()


def can_fork(environment: Mapping[str, str]) -> bool:
    """
    Return whether a fork is as good as a start in this environment.

    It is not while Python is measured, nor with other variables than ours that are read only as a program starts.
    """
    ours, theirs = (
        {name: value for name, value in variables.items() if name.startswith(READ_AT_START)}
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


def close() -> float:
    """
    End the server, if there is one. Programs that still run are left as they are.

    Return the processor time of what ended and was no child of this process.
    """
    return sum(_servers.pop().close() for _ in _servers[:])


def main(requests: socket.socket) -> None:
    """Serve a socket, or, if it listens, each that connects to it until standard input ends."""
    for name in PACKAGES:
        import_module(name)
    gc.freeze()
    if requests.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        serve_each(requests)
    else:
        serve(requests)


def serve_each(listener: socket.socket) -> None:
    """Make a fork of this process the server of each that connects."""
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            serve(connection)
            return
        connection.close()


def serve(requests: socket.socket) -> None:
    """Fork for each request, and report each end, until the other side closes the socket."""
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
                    with suppress(OSError):  # nobody is left
                        requests.send(str(sum(os.times()[:4])).encode())
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
        sys.path[0] = request["cwd"]
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
    main(socket.socket(fileno=int(sys.argv[1])))
