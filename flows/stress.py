"""The command `scan2qa stress-test`: what a released benchmark gives away without its videos."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import pyarrow.parquet as pq
import typer
from rich.table import Table

from flows import show
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.questions.published import Published, read_published

if TYPE_CHECKING:
    from pipeline.blind.items import Item
    from pipeline.blind.summary import TaskSummary

GROUP: Final = "scene_name"


def stress_test(
    questions: Annotated[Path, typer.Argument(help="Published questions: .jsonl, .json or .parquet.")],
    out: Annotated[Path, typer.Option("--out", help="One row per question, Parquet.")],
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COLUMN", help="Folds keep its values together.", show_default=GROUP),
    ] = None,
    ungrouped: Annotated[bool, typer.Option("--ungrouped", help="Folds mix the questions of a scene.")] = False,
    budget: Annotated[int | None, typer.Option(min=0, help="Prune at most so many questions.")] = None,
    tau: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Prune down to so much bias above chance.", show_default="0")
    ] = None,
) -> None:
    """Says how far questions and options alone give the answers away, and prunes the worst with --budget or --tau."""
    from pipeline.blind.folds import folds_of  # scikit-learn takes a second to start
    from pipeline.blind.prune import prune
    from pipeline.blind.stress_test import stress_test as run_stress_test
    from pipeline.blind.summary import stress_table, summarise

    if group and ungrouped:
        raise ConfigError(f"--group {group} and --ungrouped exclude each other; leave one out")
    column = "id" if ungrouped else group or GROUP
    items = _read_items(questions, column)
    fold = folds_of([item.group for item in items])
    with show.errors.status("Stress test"):
        scores = run_stress_test(items, fold)
    removed_in, pruned = np.zeros(len(items), dtype=np.intp), scores
    if budget is not None or tau is not None:
        most = len(items) if budget is None else budget
        with show.progress_bars() as progress:
            removed_in, pruned = prune(
                items, fold, scores, budget, tau or 0.0, progress=lambda _, removed: progress("prune", removed, most)
            )
    write_atomically(out, table_bytes(stress_table(items, fold, scores, removed_in)))
    _show(summarise(items, fold, scores, removed_in, pruned), column, rounds=int(removed_in.max()))
    show.console.print(f"All rows: {out}")


def _read_items(path: Path, column: str) -> list[Item]:
    """The questions of a file, grouped by a column. Ids are all whole numbers or all texts."""
    from pipeline.blind.items import make_item

    published = read_published(path, [benchmark.columns for benchmark in BENCHMARKS.values()])
    groups = _read_column(path, published, column)
    if len(set(groups)) < 2:
        remedy = "name another with --group, or give --ungrouped"
        raise ConfigError(f"{path}: folds need two values of {column}, and there is {len(set(groups))}; {remedy}")
    whole = all(isinstance(q.id, int) for q in published)
    try:
        return [
            make_item(q.id if whole else str(q.id), q.question_type, group, q.question, q.options, q.ground_truth)
            for q, group in zip(published, groups, strict=True)
        ]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _read_column(path: Path, published: Sequence[Published], name: str) -> list[str]:
    values: list[Any]
    if name in {field.name for field in fields(Published)}:
        values = [getattr(question, name) for question in published]
    elif path.suffix == ".parquet":
        found = pq.read_table(path).to_pydict()
        values = found.get(name, [None] * len(published))
    else:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if path.suffix == ".json" else [json.loads(r) for r in text.splitlines() if r.strip()]
        values = [row.get(name) for row in rows]
    for question, value in zip(published, values, strict=True):
        if value is None:
            raise ConfigError(f"{path}: question {question.id} has no {name}; name another column with --group")
    return [str(value) for value in values]


def _show(summaries: Sequence[TaskSummary], column: str, rounds: int) -> None:
    """Per task what each way of guessing earns, and what pruning left of it."""
    folds = "folds mix scenes" if column == "id" else f"folds by {column}"
    table = _table(f"What guessing without the video earns, {folds}")
    for name in ("n", "chance", "most frequent", "median", "by name"):
        table.add_column(name, justify="right")
    if column != "id":
        table.add_column("by name, mixed", justify="right")
    table.add_column("forest", justify="right")
    for s in summaries:
        earned = [_score(s.chance), _score(s.most_frequent), _score(s.median), _score(s.by_name)]
        mixed = [] if column == "id" else [_score(s.by_name_mixed)]
        forest = _score(s.forest) + (f" ± {s.forest_error:.3f}" if np.isfinite(s.forest_error) else "")
        table.add_row(s.task, str(s.n), *earned, *mixed, forest)
    n, left = sum(s.n for s in summaries), sum(s.left for s in summaries)
    table.add_section()
    table.add_row("all", str(n))
    show.console.print(table)
    show.console.print(
        "Accuracy for options, equal guesses sharing the point; mean relative accuracy for numbers; ± standard error.\n"
        "By name: the median for the same names in other folds; of options the one most often right beside them.",
        highlight=False,
    )
    if not rounds:
        return
    table = _table(f"What {rounds} rounds of pruning left")
    for name in ("n", "removed", "left", "chance", "forest"):
        table.add_column(name, justify="right")
    for s in summaries:
        row = (str(s.n), str(s.n - s.left or ""), str(s.left), _score(s.chance_left), _score(s.forest_left))
        table.add_row(s.task, *row)
    table.add_section()
    table.add_row("all", str(n), str(n - left), str(left))
    show.console.print(table)


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("question type", no_wrap=True)
    return table


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
