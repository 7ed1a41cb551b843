"""Candidates of the released metadata answered again by `tests.oracles.scan_answers`: ``python -m tests.bench.oracle``.

For both profiles, 10,000 candidates drawn by their ids from all scenes, evenly over the tasks, and all questions that
are then asked: how many answers are wrong, and how many questions have two right options; under `strict` also where one
stands elsewhere beside an object. The first argument is their number.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.identity import digest
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.registry import READERS
from tests.bench.builds import raw_scenes
from tests.conftest import REAL_DATA
from tests.oracles.scan_answers import SECTORS, OracleScene
from tests.tables import candidates

DRAWN: Final = 10_000
CAP: Final = 6
NEAR: Final = 0.1  # options closer to the truth than a tenth of it would be right too
GRID_SLACK_M: Final = 0.1 + 1e-9  # a released distance hangs on the last bit of which points a crop keeps
console = Console(width=130)


def main() -> None:
    """A table per profile."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWN
    oracles = {name: OracleScene(raw) for name, raw in raw_scenes()[0].items()}
    for profile in PROFILES:
        tally: dict[str, Counter[str]] = defaultdict(Counter)
        tables = list(_tables(profile))
        for row in _drawn([row for found in tables for row in _kept(found)], count):
            tally[row["task"]]["candidates"] += 1
            tally[row["task"]].update(_faults(oracles[row["scene"].split("/")[1]], row, profile))
        for found in tables:
            for row in select(found, TASKS, CAP, as_released=profile == "official").to_pylist():
                if row["reason"] is None:
                    tally[row["task"]]["questions"] += 1
                    tally[row["task"]].update(_two_right(oracles[row["scene"].split("/")[1]], row, profile))
        _show(profile, tally)


def _tables(profile: str) -> Iterator[Any]:
    folder, reader = REAL_DATA / "vsi" / "meta_info", READERS["vsi_meta"]
    for ref in reader.scenes(folder).scenes:
        scene = reader.read(SceneFiles(folder, ref))
        yield candidates(IndoorView(scene, PROFILES[profile]), list(TASKS.values()))


def _kept(table: Any) -> list[dict[str, Any]]:
    columns = table.select(["id", "scene", "task", "operands", "answer", "reason"])
    return [row for row in columns.to_pylist() if row["reason"] is None]


def _drawn(rows: Iterable[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many, as evenly over the tasks as they last, by the digests of their ids."""
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: digest("oracle", str(row["id"]))):
        waiting[row["task"]].append(row)
    drawn: list[dict[str, Any]] = []
    for number, task in enumerate(sorted(waiting, key=lambda task: len(waiting[task]))):
        drawn += waiting[task][: (count - len(drawn)) // (len(waiting) - number)]
    return drawn


def _faults(oracle: OracleScene, row: Mapping[str, Any], profile: str) -> list[str]:
    """What is wrong with a candidate."""
    right = oracle.answers(row["task"], row["operands"], grids=profile == "official")
    if row["answer"] == right[0]:
        level = row["task"].removeprefix("object_rel_direction_")
        elsewhere = oracle.around(level, row["operands"]) if level in SECTORS and profile == "strict" else set()
        return ["two right"] if len(right) > 1 or elsewhere - {right[0]} else []
    near = row["task"] == "object_abs_distance" and profile == "official"
    if near and abs(float(row["answer"]) - float(right[0])) <= GRID_SLACK_M:
        return ["a decimal off"]
    console.print(f"wrong: {profile} {row['scene']} {row['task']} {row['operands']}: {row['answer']}, not {right}")
    return ["wrong"]


def _two_right(oracle: OracleScene, row: Mapping[str, Any], profile: str) -> list[str]:
    """Whether another option of a question is right too."""
    right = oracle.answers(row["task"], row["operands"], grids=profile == "official")
    if row["options"]:
        offered = [option.split(". ", 1)[1] for option in row["options"]]
        hits = [text for text in offered if text in right]
    else:
        truth = float(right[0])
        numbers = [choice.split(". ", 1)[-1] for choice in row["choices"] or right]
        hits = [text for text in numbers if abs(float(text) - truth) < NEAR * truth]
    if len(hits) == 1:
        return []
    console.print(
        f"{len(hits)} right options: {profile} {row['scene']} {row['text']} {row['options'] or row['choices']}"
    )
    return ["questions with two right" if hits else "questions with none right"]


def _show(profile: str, tally: Mapping[str, Counter[str]]) -> None:
    names = ("candidates", "wrong", "two right", "a decimal off", "questions")
    names += ("questions with two right", "questions with none right")
    table = Table("task", *names, title=f"Profile {profile}, answered by the oracle", title_justify="left")
    for task, counts in sorted(tally.items()):
        table.add_row(task, *(str(counts[name]) for name in names))
    total = sum(tally.values(), Counter())
    table.add_row("all", *(str(total[name]) for name in names))
    console.print(table)


if __name__ == "__main__":
    main()
