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


def postgresql_program(name: str) -> Path | None:
    """Return a program of the newest PostgreSQL: Debian keeps one directory for each version, outside PATH."""
    versions = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = sorted(versions, key=lambda path: float(path.parts[4]))
    if newest:
        return newest[-1]
    found = shutil.which(name)
    return Path(found) if found else None


def chromium() -> Path | None:
    """Return Chromium: its headless shell, or else the whole browser, which does the same more slowly."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    return Path(found) if found else None


def clamd() -> Path | None:
    """Return the virus scanner, which Debian installs where only root's PATH leads."""
    found = shutil.which("clamd") or shutil.which("clamd", path="/usr/sbin")
    return Path(found) if found else None


def pgbouncer() -> Path | None:
    """Return the pooler, which Debian installs where only root's PATH leads."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    return Path(found) if found else None


def missing(programs: Iterable[str]) -> list[str]:
    def present(program: str) -> bool:
        if program == "postgres":
            return postgresql_program("postgres") is not None and postgresql_program("initdb") is not None
        if program == "chromium":
            return chromium() is not None
        if program == "clamd":
            return clamd() is not None
        if program == "pgbouncer":
            return pgbouncer() is not None
        if program == "swift":
            return SWIFT.is_dir()
        return shutil.which(program) is not None

    return [program for program in programs if not present(program)]


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
    packages = " ".join(PACKAGES[program] for program in programs)
    print(
        f"The tests need {', '.join(programs)}, and nothing is skipped for a missing part: "
        f"install them (Debian and Ubuntu: sudo apt-get install {packages}) and start again.",
        file=sys.stderr,
    )
    raise SystemExit(2)


if __name__ == "__main__":  # for the Makefile, whose tools need some before any test runs
    ensure(sys.argv[1:])
