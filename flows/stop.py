"""A clean stop: Ctrl-C, a signal or a closed terminal end a build at once, and no process stays behind.

Results in the store are whole, and a file that is half written has a name of its own that the next build removes. So
nothing is waited for, and the same command goes on where this one stopped, as after a kill.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

import psutil

from flows import watch

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_BASE: Final = 128  # and the number of the signal, as a shell says it
SAID: Final = b"scan2qa: stopped; finished work is kept, and the same command goes on from there\n"
SHOW_CURSOR: Final = b"\r\x1b[K\x1b[?25h"  # which a progress bar hides


class Watch:
    """The process that ends what this one leaves running (`flows.watch`)."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def name_children(self) -> None:
        """To be called once children run that must not outlive this process, even if it is killed."""
        for child in psutil.Process().children(recursive=True):
            if child.pid != self.process.pid:
                self._say({"pid": child.pid})

    def tell(self, url: str, headers: Mapping[str, str]) -> None:
        """Where a Prefect server is told how this process ended, if it does not end well."""
        self._say({"url": url, "headers": dict(headers)})

    def stopped(self, why: str) -> None:
        """To be called before this process ends itself."""
        self._say({"state": {"type": "CANCELLED", "name": "Cancelled", "message": why}})

    def _say(self, what: Mapping[str, Any]) -> None:
        if self.process.stdin is not None:  # unbuffered: a signal may come in the midst of it
            os.write(self.process.stdin.fileno(), json.dumps(what).encode() + b"\n")


@contextmanager
def stoppable(watched: Watch | None = None) -> Iterator[None]:
    """Within the block a signal of `SIGNALS` ends this process and its children, with one line and exit code 128 + n.

    A signal that is ignored, as under nohup, stays ignored.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        stop(number, signal.Signals(number).name, watched)

    alone = threading.current_thread() is not threading.main_thread()  # whoever runs it there stops it as well
    before = {} if alone else {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number: int, why: str, watched: Watch | None = None) -> None:
    """Ends this process and its children now, from any thread."""
    # Neither rich nor logging: whatever was interrupted may hold their locks.
    with suppress(OSError):  # of a terminal that is closed
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + SAID)
    ours = watched.process.pid if watched else None
    end([child for child in psutil.Process().children(recursive=True) if child.pid != ours])
    if watched:
        watched.stopped(f"stopped by {why}")
    os._exit(EXIT_BASE + number)


def end(processes: list[psutil.Process]) -> None:
    """Kills processes; those that have ended meanwhile are no fault."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


@contextmanager
def children_end_with_us() -> Iterator[Watch]:
    """Starts the process that is told what must not outlive this one, and ends it with the block.

    It has a session of its own, which no signal to this one's reaches.
    """
    # A program of our own, and no input of anybody's.
    watching = [sys.executable, "-S", "-P", str(Path(watch.__file__))]
    with subprocess.Popen(watching, stdin=subprocess.PIPE, start_new_session=True) as process:  # noqa: S603
        try:
            yield Watch(process)
        finally:
            process.kill()
