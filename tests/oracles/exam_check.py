"""Answers of exams held against oracles: how many were answered again, and which otherwise."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, exam
from pipeline.core.schema import AnyScene
from pipeline.questions.gate import TOO_FINE, ShownScene

SLACK = 1e-4  # what a tenth of a millimetre in a place may change in a rate


class _Everything(dict[str, float]):
    """Every quantity, to any step."""

    def __contains__(self, _: object) -> bool:
        return True


ALL_SHOWN = ShownScene("log", _Everything(), complete=None)


def open_exam(scene: AnyScene, rules: ExamRules) -> Any:
    """A log's exam without the gate: as if whoever answers had the log itself, so that every kind is asked."""
    view: Any = exam(scene, rules)
    vars(view.flight if hasattr(view, "flight") else view)["shown"] = ALL_SHOWN
    return view


def every_question(scene: AnyScene, *, gated: bool = False, **rules: Any) -> list[dict[str, Any]]:
    """All that can be asked of a log, however frequent its answer; of what its film shows, if ``gated``."""
    return [row for row in asked_of(scene, gated=gated, **rules) if row["reason"] is None]


def asked_of(scene: AnyScene, *, gated: bool = True, **rules: Any) -> list[dict[str, Any]]:
    """Every candidate of a log, refused ones too."""
    own = {"far_per_log": 0, "even_answers": False} | ({} if gated else {"hidden_max": 1.0}) | rules
    view = (exam if gated else open_exam)(scene, ExamRules(**own))
    return pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()]).to_pylist()


def step_of(row: Mapping[str, Any]) -> float:
    """To what a number is rounded: the step that its question says, or else its last decimal."""
    told = (fact["value"] for fact in row["evidence"] or () if fact["name"] == TOO_FINE)
    return float(next(told, 10 ** -len(row["answer"].partition(".")[2])))


def answered_again(
    rows: Iterable[Mapping[str, Any]], answer: Callable[..., str | float | None], slack: float = SLACK
) -> tuple[int, list[str]]:
    """How many questions an oracle answered, and what it says otherwise: of a number beyond rounding."""
    wrong, asked = [], 0
    for row in rows:
        kind, t_s, *more = row["operands"]
        found = answer(kind, float(t_s), *more)
        asked += found is not None
        if isinstance(found, str):
            is_right = found == row["answer"]
        elif found is not None:
            is_right = abs(float(row["answer"]) - found) <= step_of(row) / 2 + slack * abs(found)
        else:
            continue
        if not is_right:
            wrong.append(f"{row['operands']}: {row['answer']}, the oracle has {found}")
    return asked, wrong
