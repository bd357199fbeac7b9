"""
`manage.py` commands in forks of one process that has loaded Django, which costs a second each time otherwise.

Each command still runs in a separate process with separate standard streams, from `execute_from_command_line` on.

    python -m tests.services.commands    serves until its standard input ends; `CommandServer` starts it
"""

import contextlib
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

import django
from django.conf import settings
from django.core.management import execute_from_command_line, get_commands, load_command_class

from tests.services.processes import ROOT

MODULE = "tests.services.commands"


class CommandServer:
    """Runs commands in one environment, one at a time. Start it once for many commands."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._server = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            env=dict(environment),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, arguments: Sequence[str], stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run `manage.py` with these arguments."""
        with self._lock, tempfile.TemporaryDirectory(prefix="fieldpost-command-") as directory:
            streams = [Path(directory) / name for name in ("stdin", "stdout", "stderr")]
            streams[0].write_bytes(stdin)
            assert self._server.stdin is not None
            assert self._server.stdout is not None
            request = {"arguments": ["manage.py", *arguments], "streams": [str(stream) for stream in streams]}
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            printed = [stream.read_bytes() for stream in streams[1:]]
        return subprocess.CompletedProcess(["manage.py", *arguments], status, *printed)

    def close(self) -> None:
        self._server.communicate()  # closes its standard input, at which it ends


def serve() -> None:
    """Read requests from standard input and print the status of each, until standard input ends."""
    django.setup()
    for name, app in get_commands().items():
        if not app.startswith("django."):
            load_command_class(app, name)
    import_module(settings.ROOT_URLCONF)  # system checks read it, and would load every view in each fork
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request["arguments"], request["streams"])
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


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
