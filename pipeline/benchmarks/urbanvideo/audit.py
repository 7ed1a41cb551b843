"""Examines a released UrbanVideo-Bench file by itself: form of rows and options, and what tells answers without video.

What the videos show is not examined: that the right option is true, only people or a build of one's own can say.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Audit
from pipeline.benchmarks.urbanvideo.columns import COLUMNS
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.tables import ReleaseListing
from pipeline.core.templates import load_table
from pipeline.questions.audited import ExaminationInputs, Examined, leakage, named
from pipeline.questions.choices import LETTERS
from pipeline.questions.published import Published, read_of_benchmark
from pipeline.worlds.flight.observe.flight import COMPASS

# Check -> what holds in a row that passes it.
CHECKS: Final[dict[str, str]] = load_table("urbanvideo/audit")
_OPTION: Final = re.compile(r"([A-Z])[.:)]\s*(.*)")


@dataclass(frozen=True)
class _Row:
    """A question with the texts of its options and the checks that it fails."""

    question: Published
    texts: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def right(self) -> int | None:
        """Place of the right option."""
        place = LETTERS.find(self.question.ground_truth.strip().upper() or "?")
        return place if 0 <= place < len(self.texts) else None

    @property
    def longest(self) -> int:
        """Place of the longest option, the first of several."""
        return max(range(len(self.texts)), key=lambda place: len(self.texts[place]))


def examine(path: Path, basis: ExaminationInputs) -> Examined:
    """All that an audit of a released file says. Raises ConfigError where it cannot be read."""
    questions = read_of_benchmark(path, COLUMNS)
    asked = Counter((q.scene_name, q.question_type, _normalized(q.question)) for q in questions)
    rows = [_examined(q, asked[q.scene_name, q.question_type, _normalized(q.question)]) for q in questions]
    listings = [_checks(rows), _options(rows), _priors(rows)]
    if basis.split is not None:
        listings.append(leakage(path, basis.split, questions, "video", [q.scene_name for q in questions]))
    table = pa.table(
        {
            "id": [str(row.question.id) for row in rows],
            "question_category": [row.question.question_type for row in rows],
            "video_id": [row.question.scene_name for row in rows],
            "options": pa.array([len(row.texts) for row in rows], pa.int64()),
            "findings": [", ".join(row.failed) for row in rows],
        }
    )
    return Examined(table, listings)


AUDIT: Final = Audit(examine)


def _examined(question: Published, times: int) -> _Row:
    found = [_OPTION.fullmatch(option) for option in question.options or ()]
    texts = tuple(one[2] if one else option for one, option in zip(found, question.options or (), strict=True))
    letters = "".join(one[1] if one else "?" for one in found)
    plain = [_normalized(text) for text in texts]
    faults = {
        "options_missing": not texts,
        "options_out_of_order": bool(texts) and letters != LETTERS[: len(texts)],
        "options_repeated": len(set(plain)) < len(plain),
        "answer_not_offered": bool(texts) and question.ground_truth.strip().upper() not in set(letters),
        "category_unknown": question.question_type not in URBAN_TASKS,
        "asked_twice": times > 1,
        "compass_direction": any(COMPASS.search(text) for text in (question.question, *texts)),
    }
    return _Row(question, texts, tuple(name for name, fails in faults.items() if fails))


def _normalized(text: str) -> str:
    """A text without what sets no two apart; the signs of a map in letters do."""
    return " ".join(text.casefold().split()).strip(" .,;:!?")


def _checks(rows: Sequence[_Row]) -> ReleaseListing:
    cells = []
    for name, holds in CHECKS.items():
        ids = [str(row.question.id) for row in rows if name in row.failed]
        cells.append((holds, str(len(rows) - len(ids)), str(len(ids)), named(ids)))
    return ReleaseListing("Checks of each row", ("check", "hold", "fail", "questions"), cells, sentences=("questions",))


def _options(rows: Sequence[_Row]) -> ReleaseListing:
    counts = Counter(len(row.texts) for row in rows)
    cells = [(str(n), str(counts[n]), f"{counts[n] / len(rows):.1%}") for n in sorted(counts)]
    return ReleaseListing("Options stated", ("options", "n", "share"), cells)


def _priors(rows: Sequence[_Row]) -> ReleaseListing:
    """Per category how often the commonest letter, and the longest option, is right, beside chance."""
    cells = []
    for name in (*URBAN_TASKS, "all"):
        own = [(row, row.right) for row in rows if name in {row.question.question_type, "all"}]
        judged = [(row, right) for row, right in own if right is not None]
        if judged:
            letter, n = max(Counter(right for _, right in judged).items(), key=lambda item: (item[1], -item[0]))
            longest = sum(row.longest == right for row, right in judged)
            chance = sum(1 / len(row.texts) for row, _ in judged)
            shares = [f"{part / len(judged):.1%}" for part in (chance, n, longest)]
            cells.append((name, str(len(judged)), shares[0], f"{LETTERS[letter]} {shares[1]}", shares[2]))
    heads = ("category", "n", "chance", "commonest letter", "longest option")
    return ReleaseListing("Right without the video", heads, cells)
