"""
`manage.py` commands in forks of one process that has loaded Django, which costs a second each time otherwise.

Each command still runs in a separate process with separate standard streams, from `execute_from_command_line` on.

    python -m tests.services.commands    serves until its standard input ends; `CommandServer` starts it
"""

import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

import django
from django.conf import settings
from django.core.management import execute_from_command_line, get_commands, load_command_class
from django.core.management.base import BaseCommand

from tests.services.fork_server import ROOT, Forked, can_fork, start

MODULE = "tests.services.commands"
STDERR = 2


class CommandServer:
    """Runs commands in one environment, one at a time. Start it once for many commands."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        reading, writing = os.pipe(), os.pipe()
        self._requests: IO[str] = os.fdopen(reading[1], "w")
        self._answers: IO[str] = os.fdopen(writing[0])
        try:
            self._server = _start(environment, {0: reading[0], 1: writing[1], 2: STDERR})
        finally:
            os.close(reading[0])
            os.close(writing[1])

    def run(self, arguments: Sequence[str], stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run `manage.py` with these arguments."""
        with self._lock, tempfile.TemporaryDirectory(prefix="fieldpost-command-") as directory:
            streams = [Path(directory) / name for name in ("stdin", "stdout", "stderr")]
            streams[0].write_bytes(stdin)
            request = {"arguments": ["manage.py", *arguments], "streams": [str(stream) for stream in streams]}
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
            status = int(self._answers.readline())
            printed = [stream.read_bytes() for stream in streams[1:]]
        return subprocess.CompletedProcess(["manage.py", *arguments], status, *printed)

    def close(self) -> None:
        self._requests.close()  # its standard input, at whose end it ends
        self._server.wait()
        self._answers.close()


def _start(environment: Mapping[str, str], files: Mapping[int, int]) -> "subprocess.Popen[bytes] | Forked":
    """Start the server, as a fork if possible, with these descriptors for its streams."""
    arguments = ["-m", MODULE]
    if can_fork(environment):
        return start(arguments, environment, ROOT, files)
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=dict(environment),
        cwd=ROOT,
        stdin=files[0],
        stdout=files[1],
        stderr=files[2],
        start_new_session=True,
    )


def serve() -> None:
    """Read requests from standard input and print the status of each, until standard input ends."""
    gc.disable()  # as manage.py does; dashboard.apps turns it on again
    django.setup()
    for line in sys.stdin:
        request = json.loads(line)
        _load(request["arguments"][1])
        child = os.fork()
        if child == 0:
            _run(request["arguments"], request["streams"])
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _load(name: str) -> None:
    """Import what this command imports, here and not in each fork. A name that is none is refused in the fork."""
    if app := get_commands().get(name):
        command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
        if command.requires_system_checks or name == "migrate":  # which calls the checks by itself
            import_module(settings.ROOT_URLCONF)  # checks load every view


def _run(arguments: list[str], streams: list[str]) -> None:
    """Run one command in this fork, and end it."""
    for number, (path, flags) in enumerate(zip(streams, [os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2], strict=True)):
        os.dup2(os.open(path, flags), number)
    sys.argv = arguments
    status = 0
    try:
        execute_from_command_line(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    serve()
