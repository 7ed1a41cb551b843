"""Consoles for output and errors, and the one line that reports an error. Imports rich alone, to start fast."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.status import Status
from rich.text import Text

from pipeline.core.mirrors import with_urls

PLAIN_WIDTH: Final = 130  # where there is no terminal to ask
EVERY_S: Final = 30.0  # between lines of a log that tell that something is still being done
# What a terminal obeys, and bytes that are not UTF-8: names come from outside. Tabs and line breaks stay.
_ODD: Final = (*range(9), *range(11, 32), *range(127, 160), *range(0xD800, 0xE000))
_OBEYED: Final = dict.fromkeys(_ODD, "\N{REPLACEMENT CHARACTER}")


def without_controls(text: str) -> str:
    """A text that moves no cursor and changes no colours where it is printed."""
    return text.translate(_OBEYED)


class PlainConsole(Console):
    """Prints text as it is: it knows no markup, and nothing in a text moves the cursor or changes colours."""

    def __init__(self, **options: Any) -> None:
        """With the options of rich's console."""
        super().__init__(markup=False, highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A text, of a cell or a line, without control characters."""
        return super().render_str(without_controls(text), **options)


class OutputConsole(PlainConsole):
    """Prints the output, for which the spinner makes way."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich's console does."""
        stop_spinner()
        super().print(*objects, **options)


console: Console = OutputConsole(soft_wrap=True)  # so that no path is broken, and can be copied
if not console.is_terminal and "COLUMNS" not in os.environ:
    console.width = PLAIN_WIDTH
errors: Console = PlainConsole(stderr=True)


def count_of(n: int, noun: str) -> str:
    """A number and its noun: ``1 finding``, ``1,200 findings``, ``2 replies``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("y") else f"{n:,} {noun}s"


def print_wrapped(text: str, to: Console = console, indent: int = 0, style: str | None = None) -> None:
    """Prints a text in lines that break between words alone: one that is longer than a line goes beyond it."""
    blank = " " * indent
    for line in without_controls(text).splitlines():
        wrapped = textwrap.wrap(line, to.width - indent, break_long_words=False, break_on_hyphens=False)
        told = "\n".join(blank + part for part in wrapped)
        to.print(Text(told), style=style, soft_wrap=True)


@dataclass
class OutputOptions:
    """The amount and the form of the command's output.

    Attributes:
        quiet: nothing but errors, and what was left out.
        verbose: every scene and stage by name.
        as_json: the outcome as one JSON object on stdout; all else goes to stderr.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False


output_options = OutputOptions()
_spinners: list[Status | _LogLines] = []


def configure_output(*, quiet: bool = False, verbose: bool = False, as_json: bool = False) -> None:
    """Sets the `output_options`, from here on."""
    output_options.quiet, output_options.verbose, output_options.as_json = quiet, verbose, as_json
    console.quiet, console.stderr = quiet, as_json


class _LogLines:
    """Says in a log what is being done, after every `EVERY_S` seconds."""

    def __init__(self, what: str) -> None:
        self._what, self._ended, self._lock = what, threading.Event(), threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._print_repeatedly, args=(time.monotonic(),), daemon=True).start()

    def stop(self) -> None:
        with self._lock:  # no line comes after what is printed next
            self._ended.set()

    def _print_repeatedly(self, start: float) -> None:
        while not self._ended.wait(EVERY_S):
            with self._lock:
                if not self._ended.is_set():
                    errors.print(f"{time.monotonic() - start:6.0f} s  {self._what}", soft_wrap=True)


def start_spinner(what: str) -> None:
    """Says what is being done until `stop_spinner`: on a terminal at once, in a log after half a minute and again."""
    stop_spinner()
    if not output_options.quiet:
        told = without_controls(what)
        _spinners.append(errors.status(Text(told)) if errors.is_terminal else _LogLines(told))
        _spinners[-1].start()


def stop_spinner() -> None:
    """Ends what `start_spinner` began."""
    while _spinners:
        _spinners.pop().stop()


def print_json(outcome: dict[str, Any]) -> None:
    """The outcome of the command, where it was asked for as JSON."""
    if output_options.as_json:
        sys.stdout.write(json.dumps(outcome, ensure_ascii=False, indent=1) + "\n")


def show_error(error: Exception) -> None:
    """An error made on purpose, on one line."""
    stop_spinner()
    errors.print(Text("scan2qa:", "red"), with_urls(" ".join(str(error).split())), soft_wrap=True)
