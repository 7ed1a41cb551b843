"""The command `scan2qa release`: shows what the gates of a build found, and releases a candidate that failed some."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from rich.table import Table
from rich.text import Text

from flows.cli.output.console import console
from flows.cli.output.tables import numbers, print_table, sentences
from flows.orchestration.build import remote_build
from flows.orchestration.saved_build import read_saved_build
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig
from pipeline.engine.lease import leased
from pipeline.release.history import RELEASE, PublishedRelease, accept, candidate, history, newest_release


def release(folder: Path, name: str, gates: Sequence[str]) -> bool:
    """Releases the candidate, or shows the gates; whether no candidate waits any more. Raises ConfigError."""
    kept = history(folder)
    if not gates:
        waiting = candidate(folder)
        if waiting is None and not kept:
            raise ConfigError(f"{folder} holds no release yet: build first")
        _print_gates(waiting or kept[-1])
        if waiting is not None:
            show_waiting(folder, name)
        return waiting is None
    configured = read_saved_build(folder).configured
    keep = int(configured.get("keep", BuildConfig.model_fields["keep"].default))
    with remote_build(configured.get("store"), folder), leased(folder) as lease:
        released = accept(folder, gates, keep, lease.check)
    console.print(f"Released {released}: {folder / RELEASE}")
    return True


def show_waiting(folder: Path, name: str, also: str = "") -> None:
    """Prints on one line which gates the candidate that waits failed, and how to release it all the same."""
    if waiting := candidate(folder):
        console.print(Text(also + waiting_line(folder, waiting, name), "red"))


def waiting_line(folder: Path, waiting: PublishedRelease, name: str) -> str:
    """The candidate that waits, the gates that it failed, and the command that releases it all the same."""
    stays = newest_release(folder)
    flags = " ".join(f"--accept {found.gate}" for found in waiting.failed)
    return (
        f"Not released: {waiting.missed_gates}. "
        + (f"Release {stays} stays. " if stays else "")
        + f"To release the candidate {waiting.name} anyway: scan2qa release {quote(name)} {flags}"
    )


def _print_gates(one: PublishedRelease) -> None:
    """Prints what each gate found."""
    state = "candidate, waits since" if one.waits else "released"
    heads = [*numbers("measured", "limit"), *sentences("", "found")]
    table = Table("gate", *heads, title=f"{one.name}: {state} {one.at}", box=None)
    for found in one.gates:
        stands = (
            "passed"
            if found.passed
            else f"accepted {one.accepted[found.gate]}"
            if found.gate in one.accepted
            else "failed"
        )
        figure = "" if found.measured is None else f"{found.measured:.3g}"
        table.add_row(found.gate, figure, f"{found.limit:.3g}", stands, found.told)
    print_table(table)
