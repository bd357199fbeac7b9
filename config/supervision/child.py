"""
Starts a child of `manage.py serve`, which ends with it: `child.py LIFELINE manage.py COMMAND ...`.

LIFELINE is the end of a pipe whose other end only `serve` holds. The system closes it when `serve` ends, killed or not.
Run by its path and before any import of ours, which take seconds: until they are done, a child that nobody watches
would hold the port, and the next start would fail.
"""

import os
import runpy
import signal
import sys
import threading


def end_with(lifeline: int) -> None:
    """Wait until the pipe is closed, then kill this process."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(int(sys.argv[1]),), daemon=True, name="lifeline").start()
    program = sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = program.rpartition("/")[0]
    runpy.run_path(program, run_name="__main__")
