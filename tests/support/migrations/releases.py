"""
The code of the last release, from the history of this repository: found, checked out, and run.

A release is a version without a suffix in `pyproject.toml`; CONTRIBUTING.md, "Releases".
"""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.services.application import answers
from tests.services.processes import ROOT, Process

IS_RELEASE = re.compile(r"\d+\.\d+\.\d+")
LOCK = "requirements/run.txt"


def git(root: Path, *arguments: str) -> bytes:
    """Return the output of git; a checkout may belong to another user, as in CI's container."""
    command = ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def version_at(root: Path, commit: str) -> str:
    """Return the version that a commit's `pyproject.toml` says."""
    project = tomllib.loads(git(root, "show", f"{commit}:pyproject.toml").decode())["project"]
    return str(project["version"])


def last_release(root: Path = ROOT) -> str:
    """
    Return the newest commit whose version is a release's: HEAD, until the version says `.dev0`.

    Raises AssertionError in a clone without the history.
    """
    changes = git(root, "log", "--first-parent", "--format=%H", "--", "pyproject.toml").decode().split()
    for commit in ["HEAD", *(f"{change}^" for change in changes[:-1])]:
        if IS_RELEASE.fullmatch(version_at(root, commit)):
            return git(root, "rev-parse", commit).decode().strip()
    raise AssertionError("No commit of a release in this clone: fetch the whole history (git fetch --unshallow).")


def check_out(commit: str, into: Path) -> Path:
    """Write the files of a commit and return the directory."""
    with tarfile.open(fileobj=io.BytesIO(git(ROOT, "archive", "--format=tar", commit))) as archive:
        archive.extractall(into, filter="data")
    return into


def python_for(tree: Path) -> str:
    """Return a Python with the packages that the tree's lock names: ours, or one installed once for each lock."""
    lock = (tree / LOCK).read_bytes()
    if lock == (ROOT / LOCK).read_bytes():
        return sys.executable
    directory = ROOT / "build" / f"release-{hashlib.sha256(lock).hexdigest()[:16]}"
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
        ]
        subprocess.run([*pip, "-r", tree / LOCK], check=True)
        (directory / "complete").touch()
    return str(python)


class Release:
    """`manage.py` of a tree, and its `serve` with web and deliverer."""

    def __init__(self, tree: Path, environment: Mapping[str, str]) -> None:
        self.tree = tree
        self.python = python_for(tree)
        self.environment = {**environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
        self.port = int(environment["PORT"])
        self.process: Process | None = None

    def __enter__(self) -> Self:
        command = [self.python, "manage.py", "serve", "--no-migrate", "--no-events"]
        self.process = Process("release", command, log=self.tree / "serve.log", env=self.environment, cwd=self.tree)
        self.process.wait_until(lambda: answers(self.port, "/readyz"))
        return self

    def __exit__(self, *error: object) -> None:
        if self.process:
            self.process.stop()

    def manage(self, *arguments: str) -> str:
        """Run a command and return its standard output. Raises AssertionError with what it printed."""
        command = [self.python, "manage.py", *arguments]
        result = subprocess.run(command, cwd=self.tree, env=self.environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


def copy_of_this_tree(into: Path) -> Path:
    """Copy the files that git knows or would add, as they are now."""
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").decode()
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, into / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return into
