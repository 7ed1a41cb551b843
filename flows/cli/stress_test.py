"""The command `scan2qa stress-test`: measures how well a released benchmark can be answered without its videos."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from flows.cli.output.console import console, errors, print_wrapped
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import numbers, print_table, table_writer
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.parquet import files_of, read_files
from pipeline.questions.published import Published, read_published

if TYPE_CHECKING:
    from pipeline.blind.items import BlindItem
    from pipeline.blind.totals import GuessScores

GROUP: Final = "scene_name"


def stress_test(
    questions: Path,
    out: Path,
    group: str | None,
    ungrouped: bool,
    budget: int | None,
    tau: float | None,
    finetune: Path | None = None,
) -> None:
    """Says how far questions and options alone give the answers away, and prunes the worst with --budget or --tau."""
    from pipeline.blind.attack import attack, attack_in, stress_table, summarise  # scikit-learn takes a second to start
    from pipeline.blind.attack import stress_test as run_stress_test
    from pipeline.blind.config import PruneConfig
    from pipeline.blind.fine_tuned import fine_tuned
    from pipeline.blind.forest import on_all_cores
    from pipeline.blind.items import folds_of
    from pipeline.blind.prune import prune

    write = table_writer(out)
    if group and ungrouped:
        raise ConfigError(f"--group {group} and --ungrouped exclude each other; leave one out")
    column = "id" if ungrouped else group or GROUP
    items = _read_items(questions, column)
    fold = folds_of([item.group for item in items])
    removed_in = np.zeros(len(items), dtype=np.intp)
    pruned: dict[str, GuessScores] = {}
    lora = None
    if finetune:
        with progress_shown("loading the model") as progress:
            lora = fine_tuned(items, fold, finetune, progress)
    tuned = {lora.name: lora.earned} if lora else {}
    with on_all_cores(len(items)) as run:
        with errors.status("Stress test"):
            scores = run_stress_test(items, fold, run)
            before = summarise(items, attack_in(items, fold, scores) | tuned)
        if budget is not None or tau is not None:
            config = PruneConfig(budget=budget, tau=tau or 0.0)
            with progress_shown() as progress:

                def told(_: int, removed: int) -> None:
                    progress("prune", removed, len(items))

                removed_in = prune(items, config, run, told, tuned=tuned)
            stays = removed_in == 0
            left = [item for item, mine in zip(items, stays.tolist(), strict=True) if mine]
            informed = {name: scores[stays] for name, scores in (attack(items, run) | tuned).items()}
            pruned = summarise(left, attack(left, run, informed=informed))
    write(stress_table(items, fold, scores, removed_in, lora.bias if lora else None))
    mixed = {} if ungrouped else _mixed(items)
    _print_scores(before, mixed, column)
    if pruned:
        _show_pruned(before, pruned, rounds=int(removed_in.max()))
    console.print(f"All rows: {out}")


def _mixed(items: Sequence[BlindItem]) -> dict[str, float]:
    """Task -> what the guess by name earns where folds part the questions of a group."""
    from pipeline.blind.attack import tasks_of
    from pipeline.blind.items import folds_of
    from pipeline.blind.priors import by_name

    fold = folds_of([str(item.id) for item in items])
    return {
        task: float(by_name([items[i] for i in index], fold[index]).mean()) for task, index in tasks_of(items).items()
    }


def _read_items(path: Path, column: str) -> list[BlindItem]:
    """The questions of a file, grouped by a column. Ids are all whole numbers or all texts."""
    from pipeline.blind.items import make_item, with_company

    published = read_published(
        path, [columns for benchmark in BENCHMARKS.values() for columns in benchmark.all_columns]
    )
    groups = _read_column(path, published, column)
    if len(set(groups)) < 2:
        remedy = "name another with --group, or give --ungrouped"
        raise ConfigError(
            f"{path}: folds need two values of {column}, and there is {len(set(groups)) or 'none'}; {remedy}"
        )
    whole = all(isinstance(q.id, int) for q in published)
    try:
        return with_company(
            make_item(q.id if whole else str(q.id), q.question_type, group, q.question, q.options, q.ground_truth)
            for q, group in zip(published, groups, strict=True)
        )
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _read_column(path: Path, published: Sequence[Published], name: str) -> list[str]:
    values: list[Any]
    if name in {field.name for field in fields(Published)}:
        values = [getattr(question, name) for question in published]
    elif path.suffix == ".parquet":
        found = read_files(files_of(path)).to_pydict()
        values = found.get(name, [None] * len(published))
    else:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if path.suffix == ".json" else [json.loads(r) for r in text.splitlines() if r.strip()]
        values = [row.get(name) for row in rows]
    for question, value in zip(published, values, strict=True):
        if value is None:
            raise ConfigError(f"{path}: question {question.id} has no {name}; name another column with --group")
    return [str(value) for value in values]


def _print_scores(before: Mapping[str, GuessScores], mixed: Mapping[str, float], column: str) -> None:
    """Per task what each way of guessing earns."""
    from pipeline.blind.shortcut_attackers import best_guess

    names = _names(before)
    folds = "folds mix scenes" if column == "id" else f"folds by {column}"
    heads = numbers("n", "chance", *names, "best of the others", *(["by name, mixed"] if mixed else []))
    table = Table("question type", *heads, title=f"Score of guessing without the video, {folds}")
    for task, found in before.items():
        cells = [_score(found.earned.get(name)) for name in names]
        cells[-1] += _error(found.errors.get(names[-1]))
        cells.append(best_guess(found.earned))
        table.add_row(task, str(found.n), _score(found.chance), *cells, *([_score(mixed[task])] if mixed else []))
    table.add_section()
    table.add_row("all", str(sum(found.n for found in before.values())))
    print_table(table)
    print_wrapped(
        "Accuracy for options, equal guesses sharing the point; mean relative accuracy for numbers; ± standard error.\n"
        "By name: the median for the same names in other folds; of options the one most often right beside them."
    )


def _show_pruned(before: Mapping[str, GuessScores], after: Mapping[str, GuessScores], rounds: int) -> None:
    """Per task what pruning left, on folds that it never saw."""
    from pipeline.blind.shortcut_attackers import best_guess

    names = _names(before)
    heads = numbers("n", "removed", "left", "chance", *names, "best of the others")
    title = f"Attackers after {rounds} rounds of pruning, on folds that pruning never saw"
    table = Table("question type", *heads, title=title)
    for task, was in before.items():
        if (now := after.get(task)) is None:
            table.add_row(task, str(was.n), f"{was.n} (100%)", "0")
            continue
        cells = [_score(now.earned.get(name)) for name in names]
        cells[-1] += _error(now.errors.get(names[-1]))
        cells.append(best_guess(now.earned))
        gone = was.n - now.n
        share = f"{gone} ({gone / was.n:.0%})" if gone else ""
        table.add_row(task, str(was.n), share, str(now.n), _score(now.chance), *cells)
    n, left = (sum(found.n for found in split.values()) for split in (before, after))
    table.add_section()
    table.add_row("all", str(n), f"{n - left} ({(n - left) / n:.0%})", str(left))
    print_table(table)


def _names(found: Mapping[str, GuessScores]) -> list[str]:
    """The attackers with a column; the forest, whose error is told, is the last."""
    from pipeline.blind.attack import ATTACKERS, SHOWN

    tuned = {name: None for task in found.values() for name in task.earned if name not in ATTACKERS}
    return [*tuned, *SHOWN]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _error(value: float | None) -> str:
    return "" if value is None else f" ± {value:.3f}"
