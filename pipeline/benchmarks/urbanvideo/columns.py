"""The release of UrbanVideo-Bench: public columns, dataset card and prompts."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.benchmarks.urbanvideo.legends import LEGENDS
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.tables import picture_file
from pipeline.core.templates import load_table
from pipeline.core.video_spec import video_file
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt
from pipeline.questions.published import Columns, Published

_FIRST_OPTION: Final = re.compile(r"\s*A[.:)]\s")


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released UrbanVideo-Bench (`COLUMNS`): the options stand in the question's text.

    ``video_id`` is the video's path below the build's folder of videos; where the question is about a part of it, that
    of a clip of this part, whose name does not say which (`video_file`).
    """
    films = asked.select(["scene", "until_s", "from_s"]).to_pylist()
    texts = zip(asked["text"].to_pylist(), asked["options"].to_pylist(), strict=True)
    columns = {
        "Question_id": asked["id"],
        "video_id": pa.array([video_file(**film) for film in films], pa.string()),
        "question_category": asked["task"],
        "question": pa.array(["\n".join([text, *(options or ())]) for text, options in texts], pa.string()),
        "answer": asked["ground_truth"],
    }
    return pa.table(columns, schema=COLUMNS.schema)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row, whose options are lines of the question's text."""
    if "Question_id" not in raw:
        return None
    lines = str(raw.get("question", "")).splitlines()
    first = next((n for n, line in enumerate(lines) if _FIRST_OPTION.match(line)), len(lines))
    options = [line.strip() for line in lines[first:] if line.strip()]
    return {
        "id": raw["Question_id"],
        "scene_name": raw.get("video_id"),
        "question_type": raw.get("question_category"),
        "question": "\n".join(lines[:first]).removesuffix("Choices:").strip(),
        "options": options or None,
        "ground_truth": raw.get("answer"),
    }


COLUMNS: Final = Columns.described(load_table("urbanvideo/release")["columns"], table, row)


def _counts(asked: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter((task,) for task in asked["task"].to_pylist())


def _remarks(counted: Counter[tuple[Any, ...]]) -> list[str]:
    """Shares of categories and tasks beside the paper's."""
    found = Counter({task: n for (task,), n in counted.items()})
    ours, theirs = max(found.total(), 1), sum(task.share for task in URBAN_TASKS.values())
    lines = []
    for category in dict.fromkeys(task.category for task in URBAN_TASKS.values()):
        tasks = [task for task in URBAN_TASKS.values() if task.category == category]
        shares = [f"{task.name} {found[task.name]} ({task.share})" for task in tasks]
        own = sum(found[task.name] for task in tasks) / ours
        paper = sum(task.share for task in tasks) / theirs
        lines.append(f"{category}: {own:.0%} of all questions (in the paper {paper:.0%}): {', '.join(shares)}.")
    return lines


CARD: Final = Card(
    module=__name__,
    counts=_counts,
    remarks=_remarks,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    **load_table("urbanvideo/release")["card"],
)


POST: Final[str] = load_table("urbanvideo/asking")["choice"]


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """A question with its options, shown the video that ends where it stands, and its legend where it has one."""
    legend = picture_file(LEGENDS.folder, question.id)
    return QuestionPrompt(f"{question.rest['question']}\n{POST}", question.scene_name, legend=legend)


ASKING: Final = Asking.of("urbanvideo", prompt, ends_asked=True)
