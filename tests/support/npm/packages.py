"""Our packages for npm, built and packed as for the registry, and unpacked as npm installs them."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.services.processes import ROOT

MODULES = ROOT / "build" / "node" / "node_modules"  # `make test` installs it
SECONDS = 120
QUIET = {"NPM_CONFIG_UPDATE_NOTIFIER": "false"}  # asks the registry


def run_node(*command: str | Path, cwd: Path) -> str:
    """Return what a program prints, ours or one of the node modules. Raises AssertionError if it fails."""
    path = f"{MODULES / '.bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **QUIET, "PATH": path}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    return done.stdout


def pack(name: str, folder: Path) -> Path:
    """Build and pack `clients/<name>` in a folder, whose subfolders have the node modules then; return the archive."""
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(MODULES)
    source = folder / "packing" / name
    shutil.copytree(ROOT / "clients" / name, source, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run_node("npm", "pack", "--silent", cwd=source)
    (archive,) = source.glob("*.tgz")
    return archive


def unpack(archive: Path, app: Path, package: str) -> None:
    """Install an archive in an app under the name of a package, its own or an alias."""
    place = app / "node_modules" / package
    place.parent.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        packed.extractall(place.with_name("unpacked"), filter="data")
    (place.with_name("unpacked") / "package").rename(place)
