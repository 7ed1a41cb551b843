"""Where the command prints, and the one clear line that it says for an error. Starts in a moment: rich and no more."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.status import Status

PLAIN_WIDTH: Final = 130  # where there is no terminal to ask

console = Console()
if not console.is_terminal and "COLUMNS" not in os.environ:
    console = Console(width=PLAIN_WIDTH)
errors = Console(stderr=True)


@dataclass
class Voice:
    """How much the command says, and in which form.

    Attributes:
        quiet: nothing but errors, and what was left out.
        verbose: every scene and stage by name.
        as_json: the outcome as one JSON object on stdout; all else goes to stderr.
    """

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False


voice = Voice()
_waiting: list[Status] = []


def speak(*, quiet: bool = False, verbose: bool = False, as_json: bool = False) -> None:
    """Sets the `voice`, from here on."""
    voice.quiet, voice.verbose, voice.as_json = quiet, verbose, as_json
    console.quiet, console.stderr = quiet, as_json


def wait(what: str) -> None:
    """Says on a terminal what is being done, until `done_waiting`."""
    if errors.is_terminal and not voice.quiet:
        done_waiting()
        _waiting.append(errors.status(what))
        _waiting[-1].start()


def done_waiting() -> None:
    """Ends what `wait` began."""
    while _waiting:
        _waiting.pop().stop()


def print_json(outcome: dict[str, Any]) -> None:
    """The outcome of the command, where it was asked for as JSON."""
    if voice.as_json:
        sys.stdout.write(json.dumps(outcome, ensure_ascii=False, indent=1) + "\n")


def show_error(error: Exception) -> None:
    """An error made on purpose, on one line."""
    done_waiting()
    errors.print(f"[red]scan2qa:[/red] {escape(' '.join(str(error).split()))}", highlight=False, soft_wrap=True)
