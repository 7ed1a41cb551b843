"""A trial: a few questions of a release for people to answer from the videos, with a key, and how they did.

Questions are spread over tasks and, within each task, over scenes; their ids alone decide which. A choice is right or
wrong, a number scores its mean relative accuracy, as in the benchmark.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from pipeline.core.csv_tables import csv_bytes, csv_rows
from pipeline.core.errors import ConfigError
from pipeline.core.groups import grouped
from pipeline.core.identity import digest
from pipeline.core.video_spec import video_file
from pipeline.metrics.mra import mean_relative_accuracy
from pipeline.metrics.numbers import find_number, unit_of_question
from pipeline.questions.choices import is_number
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer, find_option
from pipeline.release.comparison import page_environment

_VIDEO: Final = ".mp4"
ANSWERS: Final = ("number", "video", "question", "options", "answer")
KEY: Final = ("number", "id", "task", "scene", "truth")
_MEND: Final = "keep the first line as `scan2qa trial` wrote it"


class TrialMedia(NamedTuple):
    """The media of a question, as addresses seen from the sheet; ``video`` is None where it has none."""

    video: str | None
    pictures: tuple[str, ...] = ()


class MarkedReply(NamedTuple):
    """One question: number, id, task, score from 0 to 1 (None: it was left out), what was said, and the truth."""

    number: int
    id: str
    task: str
    score: float | None
    reply: str
    truth: str


def choose(questions: Sequence[Published], count: int) -> list[Published]:
    """``count`` questions, as many of each task as can be, each of a scene that its task has used least so far.

    In the order of their scenes, so that a person watches each video once. Fewer if there are no more. Questions whose
    answers are neither options nor numbers are left out: nobody could mark them here.
    """
    able = (question for question in questions if question.options or is_number(question.ground_truth))
    by_lot = sorted(able, key=lambda q: digest("trial", str(q.id)))
    waiting = grouped(by_lot, lambda question: question.question_type)
    used: Counter[tuple[str, str]] = Counter()
    busy: Counter[str] = Counter()
    chosen: list[Published] = []
    while len(chosen) < count and any(waiting.values()):
        for task in sorted(waiting):
            if waiting[task] and len(chosen) < count:
                best = min(waiting[task], key=lambda q: (used[task, scene_of(q)], busy[scene_of(q)]))
                waiting[task].remove(best)
                used[task, scene_of(best)] += 1
                busy[scene_of(best)] += 1
                chosen.append(best)
    return sorted(chosen, key=lambda q: (scene_of(q), video_of(q), digest("trial", str(q.id))))


def scene_of(question: Published) -> str:
    """The scene's id; of a benchmark that names videos, that of the scene that a video shows a part of."""
    named = f"{question.dataset}/{question.scene_name}" if question.dataset else question.scene_name
    return "/".join(PurePosixPath(named).with_suffix("").parts[:2]) if named.endswith(_VIDEO) else named


def video_of(question: Published) -> str:
    """Path of its video below a build's folder of videos."""
    return question.scene_name if question.scene_name.endswith(_VIDEO) else video_file(scene_of(question))


def answer_sheet(chosen: Sequence[Published]) -> bytes:
    """The sheet as CSV, its last column blank; videos as paths below the build's folder of videos."""
    rows = [
        (number, video_of(q), q.question.strip(), " | ".join(q.options or ()), "") for number, q in enumerate(chosen, 1)
    ]
    return csv_bytes(ANSWERS, rows)


def key_sheet(chosen: Sequence[Published]) -> bytes:
    """The answers, apart from the questions."""
    rows = [(n, q.id, q.question_type, scene_of(q), q.ground_truth) for n, q in enumerate(chosen, 1)]
    return csv_bytes(KEY, rows)


def page(chosen: Sequence[Published], shown: Sequence[TrialMedia]) -> bytes:
    """The sheet as a page with what is ``shown`` for each of the chosen questions; it saves the answers as CSV."""
    rows: list[tuple[int, str, str | None, bool, Published, Sequence[str]]] = []
    before: tuple[str, str | None] | None = None
    for number, (question, media) in enumerate(zip(chosen, shown, strict=True), 1):
        place = scene_of(question), media.video
        rows.append((number, *place, place != before, question, media.pictures))
        before = place
    text = page_environment().get_template("trial.html.jinja").render(rows=rows)
    return f"{text}\n".encode()


def marked(answers: bytes, key: bytes, released: Iterable[Published]) -> list[MarkedReply]:
    """The scores of a filled sheet, in the order of the key.

    Raises ConfigError where the sheet, the key and the release do not belong together.
    """
    given = {row["number"]: row["answer"] for row in csv_rows(answers, "the answers", ("number", "answer"), _MEND)}
    known = {str(question.id): question for question in released}
    truths = csv_rows(key, "the key", KEY, _MEND)
    gone = [row["id"] for row in truths if row["id"] not in known]
    if gone:
        raise ConfigError(f"the key names question {gone[0]}, which is not in this release: it has been rebuilt since")
    unknown = sorted(given.keys() - {row["number"] for row in truths})
    if unknown:
        raise ConfigError(
            f"the answers have a question {unknown[0]} that the key has not; is it another trial's sheet?"
        )
    found = []
    for row in truths:
        reply = given.get(row["number"], "").strip()
        found.append(
            MarkedReply(
                int(row["number"]), row["id"], row["task"], _score(known[row["id"]], reply), reply, row["truth"]
            )
        )
    return found


def answers_by_id(found: Sequence[MarkedReply]) -> bytes:
    """The answers that were given, as a result file (`scan2qa score`)."""
    return csv_bytes(("id", "answer"), [(one.id, one.reply) for one in found if one.score is not None])


def _score(question: Published, reply: str) -> float | None:
    if not reply:
        return None
    if question.options:
        return float(find_option(Answer(question, reply)).value == question.ground_truth)
    value = find_number(reply, unit_of_question(question.question)).value
    return mean_relative_accuracy(value, float(question.ground_truth))
