"""Progress of a command: bars on a terminal; elsewhere a line per finished stage, and one at intervals."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flows.cli.output.console import EVERY_S, console, errors, output_options, stop_spinner
from pipeline.engine.stage import Progress as Report
from pipeline.engine.stage import no_progress


@contextmanager
def progress_shown(first: str = "starting", every_s: float = EVERY_S) -> Iterator[Report]:
    """Gives what is to be called with what is counted, how many are done, and how many there are.

    What is counted may have its state behind it in brackets, which changes from call to call.
    Until it is called for the first time, what is shown is ``first``.
    """
    stop_spinner()
    if output_options.quiet:
        yield no_progress
    elif errors.is_terminal:
        with _bars(first) as report:
            yield report
    else:
        with _lines(first, every_s) as report:
            yield report


@contextmanager
def _bars(first: str) -> Iterator[Report]:
    columns = (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description:>9}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=errors, transient=True) as bars:
        ids = {}
        starting = bars.add_task(first, total=None)

        def hide() -> None:
            bars.update(starting, visible=False)

        def report(stage: str, done: int, total: int) -> None:
            if not total:
                return
            hide()
            counted = stage.partition(" (")[0]
            if counted not in ids:
                ids[counted] = bars.add_task(stage, total=total)
            bars.update(ids[counted], description=stage, completed=done, total=total)

        try:
            yield report
        finally:
            hide()


@contextmanager
def _lines(first: str, every_s: float) -> Iterator[Report]:
    start, ended, reported = time.monotonic(), threading.Event(), threading.Event()
    under_way: dict[str, tuple[str, int, int]] = {}
    lock = threading.Lock()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - start:6.0f} s  {text}")

    def report(stage: str, done: int, total: int) -> None:
        if not total:
            return
        reported.set()
        counted = stage.partition(" (")[0]
        with lock:
            if done < total:
                under_way[counted] = (stage, done, total)
            elif counted in under_way:
                del under_way[counted]
                say(f"{stage}: {total:,} of {total:,}")

    def now_and_then() -> None:
        while not ended.wait(every_s):
            with lock:
                many = [one for one in under_way.values() if one[2] > 1] or under_way.values()
                told = ", ".join(f"{stage}: {n:,} of {of:,}" for stage, n, of in many)
                if told or not reported.is_set():
                    say(told or first)

    watch = threading.Thread(target=now_and_then, daemon=True)
    watch.start()
    try:
        yield report
    finally:
        ended.set()
        watch.join()
