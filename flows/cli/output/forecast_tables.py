"""Tables shown before a build: the maximum number of questions, queries to models, time and disk space."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.table import Table
from rich.text import Text

from flows.cli.output.build_screen import print_tasks
from flows.cli.output.console import console, count_of, output_options, print_wrapped
from flows.cli.output.tables import numbers, print_table, sentences
from flows.orchestration.forecast import BuildForecast, Effort, QuestionBounds, table_as_of
from pipeline.blind.forecast import Forecast
from pipeline.core.files import size_text
from pipeline.engine.config import BuildConfig
from pipeline.engine.stage import REPLIES_FILE
from pipeline.llm.base import ModelSpec
from pipeline.llm.budget import load_prices, price_of
from pipeline.llm.cache import spent_in
from pipeline.rendering.glossary import words

MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86_400
LOSSES: Final = 4  # causes of lost questions that are named on a screen


def show_forecast(config: BuildConfig, found: BuildForecast, scenes: int, workers: int) -> None:
    """All of it, for a dry run; without ``--verbose`` the questions of each task in columns, and no stages."""
    if output_options.verbose:
        show_bounds("Questions at most (dry run)", found.bounds, config)
    else:
        show_prospects("Dry run", found.bounds, found.efforts, scenes, workers, config.generate.tasks)
    if found.models is None:
        console.print("The cost of the author is unknown before stage generate has run: build once without it.")
    elif found.models:
        print_table(forecast_table(found.models, caps_of(config)))
        costs = [row.likely_usd if row.likely_usd is not None else row.most_usd for row in found.models]
        total = sum(cost for cost in costs if cost is not None)
        if config.limit_cost is not None and total > config.limit_cost:
            limit = f"The limit of {config.limit_cost:g} USD may be reached:"
            console.print(Text(limit, "yellow"), "no request is sent that could pass it.")
    if output_options.verbose:
        show_efforts("Time and disk (dry run)", found.efforts, workers)
    else:
        console.print("--verbose lists every scene, task and stage.")


def show_bounds(title: str, found: QuestionBounds, config: BuildConfig) -> None:
    """Questions at most by task, and why of some there are no more."""
    table = Table("task", *numbers("at most"), *sentences("for lack of (scenes)"))
    for task in config.generate.tasks:
        lack = [f"{words(cost.reason)} ({len(cost.scenes)})" for cost in found.costs if task in cost.tasks]
        table.add_row(task, f"{found.by_task.get(task, 0):,}", ", ".join(lack))
    table.add_section()
    whole = [f"{words(cost.reason)} ({len(cost.scenes)})" for cost in found.costs if not cost.tasks]
    table.add_row("all", f"{found.questions:,}", f"left out: {', '.join(whole)}" if whole else "")
    print_table(table, title)
    _show_unread(found)


def _show_unread(found: QuestionBounds) -> None:
    if found.unread:
        console.print(
            f"Scenes counted at the caps, as what is in them is not known before they are read: {found.unread:,}.",
        )


def show_prospects(
    title: str, found: QuestionBounds, took: Sequence[Effort], scenes: int, workers: int, tasks: Sequence[str] = ()
) -> None:
    """Questions at most, time and disk on one line, those of some tasks, and a line for each of the largest losses."""
    seconds, size, more = _totals(took)
    effort = f"; {'at least ' if more else ''}{lasting(seconds)} and {size_text(size)} in {_processes(workers)}"
    console.print()
    told = f"{title}: at most {count_of(found.questions, 'question')}{effort if took else ''}"
    console.print(Text(told, "bold"))
    if tasks:
        print_tasks({task: found.by_task.get(task, 0) for task in tasks})
        _show_unread(found)
    costs = sorted(found.costs, key=lambda cost: (bool(cost.tasks), -(cost.questions or 0)))
    for cost in costs[:LOSSES]:
        lost = (
            "questions lost are not known" if cost.questions is None else f"at most {cost.questions:,} questions lost"
        )
        lost = f"{cost.questions:,} questions lost" if cost.measured else lost
        tasks = ", ".join(cost.tasks) if len(cost.tasks) <= LOSSES else f"{len(cost.tasks)} tasks"
        told = f"{lost}: {tasks}" if cost.tasks else "left out"
        print_wrapped(f"{words(cost.reason)} ({len(cost.scenes):,} of {count_of(scenes, 'scene')}): {told}", indent=2)
    if len(costs) > LOSSES:
        console.print(f"  … and {count_of(len(costs) - LOSSES, 'other cause')}")


def show_efforts(title: str, found: Sequence[Effort], workers: int) -> None:
    """Time and disk, stage by stage."""
    if not found:
        return
    table = Table("stage", *numbers("scenes", "time", "disk"), "measured by")
    for one in found:
        scenes = "" if one.scenes is None else f"{one.scenes:,}"
        if one.seconds is None or one.bytes is None:
            table.add_row(one.stage, scenes, "?", "?", "not known")
        else:
            source = "this machine" if one.here else f"table of {table_as_of()}"
            table.add_row(one.stage, scenes, lasting(one.seconds), size_text(one.bytes), source)
    seconds, size, more = _totals(found)
    table.add_section()
    table.add_row("all", "", lasting(seconds) + more, size_text(size), "")
    print_table(table, title)
    console.print(f"Estimated for {_processes(workers)} and the largest possible number of questions.")


def _totals(found: Sequence[Effort]) -> tuple[float, float, str]:
    """Seconds and bytes of all stages, and whether there are stages of which neither is known."""
    more = " and more" if any(one.seconds is None for one in found) else ""
    return sum(one.seconds or 0 for one in found), sum(one.bytes or 0 for one in found), more


def _processes(workers: int) -> str:
    return "one process" if workers == 1 else f"{workers} processes"


def lasting(seconds: float) -> str:
    """A duration in words, to two digits or so."""
    if seconds < MINUTE_S:
        return f"{max(1, round(seconds))} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"


UNKNOWN = "unknown"


def forecast_table(rows: Sequence[Forecast], caps: str) -> Table:
    """A table of the queries of the stages that ask models, in their order."""
    title = f"Models asked (dry run; prices of {load_prices().as_of}; {caps})"
    figures = numbers("requests", "kept", "to ask", "tokens\nread", "tokens\nwritten", "USD", "USD\nat most")
    table = Table("model", "stage", *figures, title=title)
    for row in rows:
        writes = UNKNOWN if row.output_tokens is None else f"~{row.output_tokens:,}"
        reads = UNKNOWN if row.input_tokens is None else f"~{row.input_tokens:,}"
        counts = (f"{row.requests:,}", f"{row.kept:,}", f"{row.asked:,}", reads, writes)
        table.add_row(row.model, row.stage, *counts, _usd(row.likely_usd), _usd(row.most_usd))
    return table


def spending_table(config: BuildConfig, folder: Path) -> Table | None:
    """A table of the spending in all builds of a folder; None where no hosted model was asked."""
    models = {model.name: model for model in models_of(config) if model.is_hosted}
    spent = spent_in(folder / REPLIES_FILE)
    prices = load_prices()
    title = f"Spent on models in all runs (USD at prices of {prices.as_of}; {caps_of(config)})"
    figures = numbers("replies paid", "tokens read", "written", "USD", "of it assumed")
    table = Table("model", *figures, title=title)
    for name, model in models.items():
        rows = [row for row in spent if row.name == name]
        if not rows:
            continue
        known = price_of(model, prices) is not None
        usd, assumed = sum(row.usd for row in rows), sum(row.usd for row in rows if not row.reported)
        read, written = (sum(getattr(row.usage, f"{kind}_tokens") for row in rows) for kind in ("input", "output"))
        money = (_usd(usd), _usd(assumed) if assumed else "") if known else (UNKNOWN, "")
        table.add_row(name, f"{sum(row.requests for row in rows):,}", f"{read:,}", f"{written:,}", *money)
    return table if table.row_count else None


def spending_line(config: BuildConfig, folder: Path) -> str | None:
    """The cost of hosted models in all builds of a folder, on one line; None where none was asked."""
    names = {model.name for model in models_of(config) if model.is_hosted}
    spent = [row for row in spent_in(folder / REPLIES_FILE) if row.name in names]
    if not spent:
        return None
    requests, usd = sum(row.requests for row in spent), sum(row.usd for row in spent)
    return f"Spent on models in all runs: USD {_usd(usd)} for {count_of(requests, 'reply')} ({caps_of(config)})"


def models_of(config: BuildConfig) -> list[ModelSpec]:
    """All models that a build asks."""
    others = (config.describe.model, config.describe.second, config.author.model, config.author.second)
    return [*config.blind.models, *(model for model in others if model)]


def caps_of(config: BuildConfig) -> str:
    """The caps of a build, in words."""
    own = [f"{model.name} {model.limit_cost:g}" for model in models_of(config) if model.limit_cost is not None]
    whole = [] if config.limit_cost is None else [f"all {config.limit_cost:g}"]
    return f"limit in USD: {', '.join([*own, *whole])}" if own or whole else "no limit: see --limit-cost"


def _usd(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.4f}"
