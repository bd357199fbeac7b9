"""
Starts a program that ends with the process that started it: `lifeline.py LIFELINE PROGRAM ...`.

LIFELINE is the end of a pipe whose other end only that process holds. The system closes it when it ends, killed or not.
"""

import os
import runpy
import signal
import sys
import threading


def end_with(lifeline: int) -> None:
    """Wait until the pipe is closed, then kill this process and what it has started."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(int(sys.argv[1]),), daemon=True, name="lifeline").start()
    program = sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = program.rpartition("/")[0]
    runpy.run_path(program, run_name="__main__")
