"""`manage.py` as an operator calls it: status, standard output and standard error apart, byte for byte."""

import subprocess

from tests.services.application import Application


def run(service: Application, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return service.commands.run(arguments)


def output(service: Application, *arguments: str) -> str:
    """Return the standard output of a command that must succeed."""
    result = run(service, *arguments)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def complaint(service: Application, *arguments: str) -> str:
    """Return the message of a command that must fail: status not 0, nothing on standard output, no traceback."""
    result = run(service, *arguments)
    assert result.returncode != 0
    assert result.stdout == b""
    words = result.stderr.decode()
    assert "Traceback" not in words
    return words
