"""The public columns of Embodied4C. The paper released none: these are ours."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.benchmarks.embodied4c.rules import (
    ACCEPTED,
    CAPABILITY,
    CONDITIONS,
    DOMAIN,
    GEN,
    MODALITY,
    SENSORS,
    SHOWN,
    SUB,
    SUBS,
    of_flags,
)
from pipeline.core.templates import load_table
from pipeline.core.video_spec import video_file
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt
from pipeline.questions.published import Columns, Published

VALUE: Final = "answer"  # the fact that holds a numeric answer before it was rounded, with its unit


def sub_of(task: str) -> str:
    """The sub-capability of a task, whose name may go on: "M/T speed" is of M/T."""
    return task.partition(" ")[0]


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`COLUMNS`) of questions (`core.tables.QUESTIONS`)."""
    return pa.Table.from_pylist([_public(row) for row in asked.to_pylist()], schema=COLUMNS.schema)


def _public(row: Mapping[str, Any]) -> dict[str, Any]:
    sub = next(iter(of_flags(row["flags"], SUB)), sub_of(row["task"]))
    unit = next((fact["unit"] for fact in row["evidence"] or () if fact["name"] == VALUE), None)
    numeric = unit is not None
    domain = next(iter(of_flags(row["flags"], DOMAIN)), None)
    modality = next(iter(of_flags(row["flags"], MODALITY)), None)
    return {
        "question_id": row["id"],
        "log": row["scene"],
        "domain": domain,
        "capability": CAPABILITY[sub],
        "sub_capability": sub,
        "question": row["text"],
        "answer": row["answer"],
        "accepted": of_flags(row["flags"], ACCEPTED),
        "value": float(row["answer"]) if numeric else None,
        "unit": unit,
        "decimals": len(row["answer"].partition(".")[2]) if numeric else None,
        "from_s": row["from_s"],
        "until_s": row["until_s"],
        "sensors": of_flags(row["flags"], SENSORS),
        **{name: next(iter(of_flags(row["flags"], name)), None) for name in CONDITIONS},
        "modality": modality,
        "video": video_file(row["scene"], row["until_s"], row["from_s"]) if modality in SHOWN else None,
    }


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row; None for a row with other columns."""
    if "question_id" not in raw or "sub_capability" not in raw:
        return None
    return {
        "id": raw["question_id"],
        "dataset": raw.get("domain"),
        "scene_name": raw.get("log"),
        "question_type": raw.get("sub_capability"),
        "question": raw.get("question"),
        "options": None,
        "ground_truth": raw.get("answer"),
    }


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """A question alone, shown the video that ends where it stands; the map with the answer is never shown."""
    return QuestionPrompt(question.question, question.rest.get("video"))


ASKING: Final = Asking.of("embodied4c", prompt, ends_asked=True)
COLUMNS: Final = Columns.described(load_table("embodied4c/release")["columns"], table, row)


PAPER: Final[Mapping[str, Mapping[str, int]]] = load_table("embodied4c/release")["paper"]


def _counts(asked: pa.Table) -> Counter[tuple[Any, ...]]:
    """Questions by embodiment and capability."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in asked.select(["task", "flags"]).to_pylist():
        sub = next(iter(of_flags(row["flags"], SUB)), sub_of(row["task"]))
        found.update((domain, CAPABILITY[sub]) for domain in of_flags(row["flags"], DOMAIN))
    return found


def _remarks(found: Counter[tuple[Any, ...]]) -> list[str]:
    """Shares of the four capabilities, and GEN, beside the paper's."""
    lines = []
    for domain, paper in PAPER.items():
        ours, theirs = sum(found[domain, name] for name in SUBS), sum(paper[name] for name in SUBS)
        if ours:
            shares = [f"{name} {found[domain, name] / ours:.0%} ({paper[name] / theirs:.0%})" for name in SUBS]
            far = f"{GEN} {found[domain, GEN]} ({paper[GEN]})"
            lines.append(f"{domain}, with the paper's in brackets: {', '.join(shares)} of {ours} ({theirs}); {far}.")
    return lines


CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"answer_too_frequent"}),
    counts=_counts,
    remarks=_remarks,
    **load_table("embodied4c/release")["card"],
)
