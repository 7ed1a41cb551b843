"""What is shown before a build: questions at most, what models are asked, time and disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from flows.console import console
from flows.forecast import Bounds, Effort, Outlook
from flows.rates import table_as_of
from flows.show_money import caps_of, forecast_table
from flows.tables import print_table
from pipeline.blind.forecast import Forecast
from pipeline.engine.config import BuildConfig

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86_400


def show_outlook(config: BuildConfig, found: Outlook, workers: int) -> None:
    """All of it, for a dry run."""
    show_bounds("Questions at most (dry run)", found.bounds, config)
    if found.models is None:
        console.print("What the author will cost cannot be told before stage generate has run: build once without it.")
    elif found.models:
        print_table(forecast_table(found.models, caps_of(config)))
        _say_limit(config, found.models)
    show_efforts("Time and disk (dry run)", found.efforts, workers)


def show_bounds(title: str, found: Bounds, config: BuildConfig) -> None:
    """Questions at most by task, and why of some there are no more."""
    table = Table("task")
    table.add_column("at most", justify="right")
    table.add_column("for lack of (scenes)", overflow="fold")
    for task in config.generate.tasks:
        lack = [f"{_words(cost.reason)} ({len(cost.scenes)})" for cost in found.costs if task in cost.tasks]
        table.add_row(task, f"{found.by_task.get(task, 0):,}", ", ".join(lack))
    table.add_section()
    whole = [f"{_words(cost.reason)} ({len(cost.scenes)})" for cost in found.costs if not cost.tasks]
    table.add_row("all", f"{found.questions:,}", f"left out: {', '.join(whole)}" if whole else "")
    print_table(table, title)
    if found.unread:
        console.print(
            f"Scenes counted at the caps, as what is in them is not known before they are read: {found.unread:,}.",
        )


def _words(reason: str) -> str:
    return reason.replace("_", " ")


def _say_limit(config: BuildConfig, rows: Sequence[Forecast]) -> None:
    costs = [row.likely_usd if row.likely_usd is not None else row.most_usd for row in rows]
    total = sum(cost for cost in costs if cost is not None)
    if config.limit_cost is not None and total > config.limit_cost:
        limit = f"The limit of {config.limit_cost:g} USD may be reached:"
        console.print(Text(limit, "yellow"), "no request is sent that could pass it.")


def show_efforts(title: str, found: Sequence[Effort], workers: int) -> None:
    """Time and disk, stage by stage."""
    if not found:
        return
    table = Table("stage")
    for name in ("scenes", "time", "disk"):
        table.add_column(name, justify="right")
    table.add_column("measured by")
    for one in found:
        scenes = "" if one.scenes is None else f"{one.scenes:,}"
        if one.seconds is None or one.bytes is None:
            table.add_row(one.stage, scenes, "?", "?", "not known")
        else:
            source = "this machine" if one.here else f"table of {table_as_of()}"
            table.add_row(one.stage, scenes, lasting(one.seconds), _size(one.bytes), source)
    more = " and more" if any(one.seconds is None for one in found) else ""
    seconds, size = sum(one.seconds or 0 for one in found), sum(one.bytes or 0 for one in found)
    table.add_section()
    table.add_row("all", "", lasting(seconds) + more, _size(size), "")
    print_table(table, title)
    processes = "one process" if workers == 1 else f"{workers} processes"
    console.print(f"Estimated for {processes} and the largest possible number of questions.")


def lasting(seconds: float) -> str:
    """A duration in words, to two digits or so."""
    if seconds < MINUTE_S:
        return f"{max(1, round(seconds))} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"


def _size(size: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
