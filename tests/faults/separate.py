"""
One fault in its own namespaces of network and mounts, where a silent name server is the system's.

    unshare --net --mount python -m tests.faults.separate F29 sqlite 7 quick RESULT
"""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.case import FAULTS, Run, Worlds, run_fault
from tests.faults.run import load
from tests.services.own_network import raise_loopback, separate, use_our_resolver
from tests.services.processes import ROOT

VARIABLE = "FIELDPOST_FAULT_SEPARATE"


def is_separate() -> bool:
    """Return whether this process is the one in the namespaces."""
    return VARIABLE in os.environ


def run_separately(run: Run) -> None:
    """Run this fault again in another process, where `is_separate`, and take its result over."""
    file = run.new_directory() / "result"
    length = "quick" if run.quick else "full"
    options = [run.result.fault.id, run.backend, str(run.result.seed), length, str(file)]
    subprocess.run(separate(sys.executable, "-m", "tests.faults.separate", *options), cwd=ROOT, check=True)
    found = pickle.loads(file.read_bytes())
    for name in ("kills", "duplicates", "recovery", "p99", "broken", "notes"):
        setattr(run.result, name, getattr(found, name))


def main(id: str, backend: str, seed: str, length: str, file: str) -> None:  # noqa: A002 - its name in the table
    """Run this fault, and write its result."""
    os.environ[VARIABLE] = "1"
    raise_loopback()
    load()
    with (
        tempfile.TemporaryDirectory(prefix="fieldpost-faults-", ignore_cleanup_errors=True) as folder,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as name_server,
    ):
        Path(folder).chmod(0o711)  # PostgreSQL, with its own user, has its data below it
        use_our_resolver(Path(folder))
        name_server.bind(("127.0.0.1", 53))  # reads nothing
        worlds = Worlds(Path(folder))
        try:
            result = run_fault(FAULTS[id], backend, int(seed), worlds, quick=length == "quick")
        finally:
            worlds.close()
    Path(file).write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
