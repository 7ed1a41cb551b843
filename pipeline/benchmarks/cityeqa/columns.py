"""The public columns of CityEQA, those of the release and ours, and what its dataset card says."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.benchmarks.cityeqa.raw import ANSWER_TYPES, split_of
from pipeline.benchmarks.cityeqa.released import AXES, CATEGORIES, POSES, TABLE_4
from pipeline.core.templates import load_table
from pipeline.questions.published import Columns, Splits

# Moves and turns of the oracle, up to which a task is easy, and up to which it is medium. Ours; people needed 9 in the
# mean, the paper's agent 24 of at most 50 (CityEQA, table 2).
EASY_STEPS: Final = 12
MEDIUM_STEPS: Final = 25
STEPS_MAX: Final = 50  # that agents have (CityEQA, table 2)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`COLUMNS`) of questions (`core.tables.QUESTIONS`)."""
    return pa.Table.from_pylist([_public(row) for row in asked.to_pylist()], schema=COLUMNS.schema)


def _public(row: Mapping[str, Any]) -> dict[str, Any]:
    facts = {(fact["name"], fact["subject"]): fact["value"] for fact in row["evidence"] or ()}
    steps = steps_of(row)
    return {
        "question_id": row["id"],
        "question": row["text"],
        "answer": row["answer"],
        "category": row["task"],
        **{name: [facts[name, axis] for axis in AXES] for name in POSES},
        "city": row["scene"].partition("/")[2],
        "group": f"{row['scene'].partition('/')[2]}/{row['group']}",
        "split": split_of(row["scene"], row["group"]),
        "answer_type": next((flag for flag in row["flags"] or () if flag in ANSWER_TYPES), None),
        "hops": round(facts["hops", "chain"]),
        "difficulty": "easy" if steps <= EASY_STEPS else "medium" if steps <= MEDIUM_STEPS else "hard",
        "oracle_steps": steps,
        "path_m": facts["path", "shortest"],
        "landmarks": row["operands"][-1].split(" > ")[:-1],
        "oracle_x": [x for x, _ in way_of(row["evidence"] or ())],
        "oracle_y": [y for _, y in way_of(row["evidence"] or ())],
    }


def steps_of(row: Mapping[str, Any]) -> int:
    """Moves and turns of the oracle in a question's evidence."""
    return next(
        round(f["value"]) for f in row["evidence"] or () if (f["name"], f["subject"]) == ("oracle_steps", "all")
    )


def within_steps(steps: Iterable[tuple[str, float]]) -> list[str]:
    """Of categories and oracle steps of tasks, a line that tells the share by category; none where none is known."""
    return _solved_within_limit(Counter((category, count <= STEPS_MAX) for category, count in steps))


def _solved_within_limit(solved: Counter[tuple[str, bool]]) -> list[str]:
    of = {name: (solved[name, True], solved[name, True] + solved[name, False]) for name in CATEGORIES}
    told = [f"{name} {some / n:.2f} of {n}" for name, (some, n) in of.items() if n]
    return [f"Within {STEPS_MAX} steps the oracle solves: {', '.join(told)}."] if told else []


def _counts(asked: pa.Table) -> Counter[tuple[Any, ...]]:
    """Tasks by category and whether the oracle solves them, and by category and answer type."""
    rows = asked.select(["task", "evidence", "flags"]).to_pylist()
    kinds = ((row["task"], kind) for row in rows for kind in row["flags"] or () if kind in ANSWER_TYPES)
    return Counter((row["task"], steps_of(row) <= STEPS_MAX) for row in rows) + Counter(kinds)


def _remarks(found: Counter[tuple[Any, ...]]) -> list[str]:
    return _solved_within_limit(found) + _beside_table_4(found)


def _beside_table_4(found: Counter[tuple[Any, ...]]) -> list[str]:
    """Tasks by category and answer type beside the paper's, in shares of all tasks."""
    n_tasks = sum(n for (_, what), n in found.items() if isinstance(what, bool))
    all_of = sum(map(sum, TABLE_4.values()))
    lines = []
    for category, paper in TABLE_4.items():
        ours = [found[category, kind] for kind in ANSWER_TYPES]
        told = [f"{n} {kind} ({own})" for n, kind, own in zip(ours, ANSWER_TYPES, paper, strict=True) if n or own]
        shares = f"{sum(ours) / max(n_tasks, 1):.0%} of all tasks (in the paper {sum(paper) / all_of:.0%})"
        lines.append(f"{category}: {shares}: {', '.join(told)}.")
    return [*lines, "A category that the maps support less than table 4 stays below it; no other is cut for it."]


def way_of(evidence: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Where the oracle stood, x and y."""
    x, y = ([f["value"] for f in evidence if f["name"] == name] for name in ("oracle_x", "oracle_y"))
    return [list(stop) for stop in zip(x, y, strict=True)]


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row; None for a row with other columns."""
    if "question_id" not in raw or "initial_pose" not in raw:
        return None
    return {
        "id": raw["question_id"],
        "scene_name": raw.get("city") or "EmbodiedCity",
        "question_type": raw.get("category"),
        "question": raw.get("question"),
        "options": None,
        "ground_truth": raw.get("answer"),
    }


SPLITS: Final = Splits(
    "by_target",
    "split",
    ("train", "validation", "test"),
    "group",
    "the tasks of `default` for training, validation and test, by target: tasks of one target give one another away.",
)
COLUMNS: Final = Columns.described(load_table("cityeqa/release")["columns"], table, row, SPLITS)


CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"answer_more_frequent"}),
    full_findings=frozenset({"map_quality"}),
    counts=_counts,
    remarks=_remarks,
    **load_table("cityeqa/release")["card"],
)
