"""Programs that the tests need besides Python: installed on Debian by root; elsewhere a message asks for them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

APT = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]  # seconds to wait for another apt-get

# Program -> its Debian package.
PACKAGES = {
    "postgres": "postgresql",
    "redis-server": "redis-server",
    "pgbouncer": "pgbouncer",
    "ip": "iproute2",
    "unshare": "util-linux",
    "node": "nodejs",
    "npm": "npm",
    "chromium": "chromium-headless-shell",  # a sixth of the processor time of the whole browser
    "openssl": "openssl",
    "nginx": "nginx-light",
    "curl": "curl",
    "go": "golang-go",
    "php": "php-cli",
    "ruby": "ruby",
    "faketime": "faketime",
    "java": "default-jre-headless",
    "hugo": "hugo",
    "systemd-analyze": "systemd",
    "xgettext": "gettext",
    "swift": "python3-swift",
    "clamd": "clamav-daemon",
}
SWIFT = Path("/usr/lib/python3/dist-packages/swift")  # a library of Debian's Python, and no program


OF_POSTGRESQL = {"postgres", "initdb", "pg_basebackup", "pgbench", "psql"}


class MissingProgram(RuntimeError):
    def __init__(self, name: str) -> None:
        super().__init__(advice(name))


def advice(*names: str) -> str:
    """Return the sentence that says which packages bring the programs."""
    packages = {PACKAGES["postgres" if name in OF_POSTGRESQL else name] for name in names}
    return (
        f"The tests need {', '.join(names)}, and nothing is skipped for a missing part: "
        f"install them (Debian and Ubuntu: sudo apt-get install {' '.join(sorted(packages))}) and start again."
    )


def program(name: str) -> Path:
    """Return the path of a program. Raises MissingProgram, which names its package."""
    found = installed(name)
    if found is None:
        raise MissingProgram(name)
    return found


def installed(name: str) -> Path | None:
    """Return the path of a program, in Debian's places outside PATH too, or None."""
    if name == "swift":
        return SWIFT if SWIFT.is_dir() else None
    if name in OF_POSTGRESQL:  # of the newest version: Debian keeps one directory for each
        versions = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
        if newest := sorted(versions, key=lambda path: float(path.parts[4])):
            return newest[-1]
    names = ("chromium-headless-shell", "chromium") if name == "chromium" else (name,)  # the whole browser is slower
    places = (shutil.which(each) or shutil.which(each, path="/usr/sbin") for each in names)
    return next((Path(place) for place in places if place), None)


def missing(programs: Iterable[str]) -> list[str]:
    return [name for name in programs if installed(name) is None]


def ensure(programs: Iterable[str]) -> None:
    """Install missing programs, or end the process with status 2 and a sentence that says what to install."""
    absent = missing(programs)
    if not absent:
        return
    packages = [PACKAGES[program] for program in absent]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"Installing Debian packages: {' '.join(packages)}", flush=True)
        _apt_get("update")
        _apt_get("install", "--no-install-recommends", *packages)
        absent = missing(programs)
    if absent:
        _refuse(absent)


def _apt_get(*arguments: str) -> None:
    result = subprocess.run(
        [*APT, *arguments],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        print(result.stdout, file=sys.stderr)


def _refuse(programs: list[str]) -> None:
    print(advice(*programs), file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":  # for the Makefile, whose tools need some before any test runs
    ensure(sys.argv[1:])
