"""A clean stop: Ctrl-C, a signal or a closed terminal end a build at once, and no process stays behind.

Results in the store are whole, and a file that is half written has a name of its own that the next build removes. So
nothing is waited for, and the same command goes on where this one stopped, as after a kill.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import psutil

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_BASE: Final = 128  # and the number of the signal, as a shell says it
SAID: Final = b"scan2qa: stopped; finished work is kept, and the same command goes on from there\n"
SHOW_CURSOR: Final = b"\r\x1b[K\x1b[?25h"  # which a progress bar hides
_WATCH: Final = """
import os, signal, sys
for pid in [int(line) for line in sys.stdin]:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


@contextmanager
def stoppable() -> Iterator[None]:
    """Within the block a signal of `SIGNALS` ends this process and its children, with one line and exit code 128 + n.

    A signal that is ignored, as under nohup, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    # Neither rich nor logging: whatever was interrupted may hold their locks.
    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + SAID)
    end(psutil.Process().children(recursive=True))
    os._exit(EXIT_BASE + number)


def end(processes: list[psutil.Process]) -> None:
    """Kills processes; those that have ended meanwhile are no fault."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


@contextmanager
def children_end_with_us() -> Iterator[Callable[[], None]]:
    """Gives a function to call once children run that must not outlive this process, even if it is killed.

    They are named to a small process of a session of its own, which kills them when this one is gone.
    """
    # A program of our own, and no input of anybody's.
    watching = [sys.executable, "-S", "-c", _WATCH]
    with subprocess.Popen(watching, stdin=subprocess.PIPE, text=True, start_new_session=True) as watch:  # noqa: S603

        def name_them() -> None:
            for child in psutil.Process().children(recursive=True):
                if child.pid != watch.pid:
                    print(child.pid, file=watch.stdin, flush=True)

        try:
            yield name_them
        finally:
            watch.kill()
