"""The signals that end a command at once, with one line; needs no other module, so that they do so from its start."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_BASE: Final = 128  # and the number of the signal, as a shell says it
SAID: Final = b"scan2qa: stopped; finished work is kept, and the same command goes on from there\n"
SHOW_CURSOR: Final = b"\r\x1b[K\x1b[?25h"  # which a progress bar hides
INTERRUPTED: Final = b"scan2qa: stopped\n"
_seen: list[int] = []


def end_at_signals() -> None:
    """Lets a signal of `SIGNALS` end this process, which has no children yet. One that is ignored stays ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def default_signals() -> None:
    """Undoes `end_at_signals`, for commands that have something to tidy up."""
    for number in SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, _interrupt if number == signal.SIGINT else signal.SIG_DFL)


def end_if_interrupted() -> None:
    """Ends this process, which has tidied up, with one line if Ctrl-C interrupted it."""
    if _seen:
        say_stopped(INTERRUPTED)
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(EXIT_BASE + signal.SIGINT)  # without what half-imported libraries say at their end


def say_stopped(message: bytes = SAID) -> None:
    """Prints the one line. Neither rich nor logging: whatever was interrupted may hold their locks."""
    with suppress(OSError):  # of a terminal that is closed
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + message)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _seen:  # what was interrupted has swallowed the first one, or takes long to tidy up
        end_if_interrupted()
    _seen.append(number)
    raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    say_stopped()
    os._exit(EXIT_BASE + number)
