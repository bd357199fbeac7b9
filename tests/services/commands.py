"""
`manage.py` commands in forks of one process that has loaded Django, which costs a second each time otherwise.

Each command still runs in a separate process with separate standard streams, from `execute_from_command_line` on.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

import django
from django.conf import settings
from django.core.management import execute_from_command_line, get_commands, load_command_class
from django.core.management.base import BaseCommand

from tests.services.forks import PROCESSES, Forked, use


class CommandServer:
    """Runs commands in one environment, one at a time. Start it once for many commands."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = PROCESSES.Pipe()
        with theirs:
            self._server = Forked(_serve, dict(environment), theirs)

    def run(self, arguments: Sequence[str], stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run `manage.py` with these arguments."""
        with self._lock, tempfile.TemporaryDirectory(prefix="fieldpost-command-") as directory:
            streams = [Path(directory) / name for name in ("stdin", "stdout", "stderr")]
            streams[0].write_bytes(stdin)
            self._channel.send((["manage.py", *arguments], streams))
            status = self._channel.recv()
            printed = [stream.read_bytes() for stream in streams[1:]]
        return subprocess.CompletedProcess(["manage.py", *arguments], status, *printed)

    def close(self) -> None:
        self._channel.close()  # and so it ends
        self._server.wait()


def _serve(environment: Mapping[str, str], requests: Connection) -> None:
    """Fork for each request and send its exit status, until the other side closes the pipe."""
    use(environment)
    gc.disable()  # as manage.py does; dashboard.apps turns it on again
    django.setup()
    with suppress(EOFError):
        while True:
            arguments, streams = requests.recv()
            _load(arguments[1])
            command = multiprocessing.get_context("fork").Process(target=_run, args=(arguments, streams))
            command.start()
            command.join()
            requests.send(command.exitcode)


def _load(name: str) -> None:
    """Import what this command imports, here and not in each fork. A name that is none is refused in the fork."""
    if app := get_commands().get(name):
        command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
        if command.requires_system_checks or name == "migrate":  # which calls the checks by itself
            import_module(settings.ROOT_URLCONF)  # checks load every view


def _run(arguments: Sequence[str], streams: Sequence[Path]) -> None:
    """Run one command in this fork."""
    for number, (path, flags) in enumerate(zip(streams, [os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2], strict=True)):
        os.dup2(os.open(path, flags), number)
    sys.stdin = open(0)  # noqa: SIM115 - multiprocessing has closed it
    sys.argv = list(arguments)
    execute_from_command_line(sys.argv)
