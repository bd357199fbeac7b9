"""Ports of servers of tests: no two processes are given the same one."""

import subprocess
import sys

from tests.services.processes import ROOT, free_port

FEW = 20
PRINTED = f"from tests.services.processes import free_port; print(*(free_port() for _ in range({FEW})))"


def test_free_port__of_several_processes__is_given_once() -> None:
    others = [subprocess.run([sys.executable, "-c", PRINTED], cwd=ROOT, capture_output=True, check=True) for _ in "ab"]
    given = [[free_port() for _ in range(FEW)], *(list(map(int, one.stdout.split())) for one in others)]
    assert all(len(set(ports)) == FEW for ports in given)
    assert not set(given[0]) & {*given[1], *given[2]}, "this process has given its own, and its servers may not run yet"
