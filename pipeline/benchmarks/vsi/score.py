"""VSI-Bench's score: accuracy of letters, mean relative accuracy (MRA) of numbers, three directions averaged.

Replies are also read as public tools do it, to the last digit, with their ways of going wrong: published scores are
made this way. The released VSI-Bench takes what stands before the first blank, without trailing dots, without case:
"The answer is B" is wrong and so is " B"; "2.5m" is no number. lmms-eval, its successor (0.7), does so for letters, and
of numbers takes the first in the reply, in digits or in English words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from pydantic import Field

from pipeline.benchmarks.vsi import cognitive_maps
from pipeline.benchmarks.vsi.card import COLUMNS, REVSI_COLUMNS
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Model
from pipeline.core.tables import TWIN
from pipeline.metrics.mra import mean_relative_accuracy
from pipeline.metrics.number_words import VALUES
from pipeline.metrics.numbers import find_number, unit_of_question
from pipeline.questions.choices import is_number
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import Published, read_of_benchmark
from pipeline.questions.scoring_protocol import (
    TOO_LONG,
    Answer,
    Ask,
    Figure,
    Metric,
    Score,
    Scores,
    find_option,
    group_by,
    is_too_long,
)
from pipeline.questions.twins import says_no_answer

# As the released code makes them, in doubles: 1 - 0.8 is a little less than a fifth, so 4 for 5 earns 0.6 and not 0.7.
_CONFIDENCES: Final = np.linspace(0.5, 0.95, 10)
_DIGITS: Final = re.compile(r"-?\d+(?:\.\d+)?")
_WORD: Final = re.compile(r"[a-z]+")
_LARGEST: Final = 10**300  # "hundred hundred hundred …": beyond it doubles end
_SCALES: Final = {"hundred": 100, "thousand": 1000}


def first_word(reply: str) -> str:
    """The word that the released scorer takes for the answer; "" for an empty reply or one that begins with a blank."""
    return reply.split(" ", maxsplit=1)[0].rstrip(".").strip()


def accuracy(reply: str, truth: str) -> float:
    """1 where the first word is the truth, whatever its case, else 0."""
    return float(first_word(reply).lower() == truth.lower())


def relative_accuracy(guess: float | None, truth: float) -> float:
    """Mean relative accuracy in the arithmetic of the released code; 0 where there is no number."""
    if guess is None or np.isnan(guess):
        return 0.0
    if truth == 0:  # where the released code fails
        return float(guess == 0)
    return float((abs(guess - truth) / truth <= 1 - _CONFIDENCES).mean())


def number_of_first_word(reply: str) -> float | None:
    """The first word as a number; None where it is none."""
    try:
        return float(first_word(reply))
    except ValueError:
        return None


def first_number(reply: str) -> float | None:
    """The number that stands first in a reply, in digits or in words, as lmms-eval reads it; None where it has none."""
    text = reply.strip().lower()
    digits = _DIGITS.search(text)
    words = list(_WORD.finditer(text))
    first = next((n for n, word in enumerate(words) if word[0] in VALUES or word[0] in _SCALES), None)
    if digits and (first is None or digits.start() < words[first].start()):
        return float(digits[0])
    if first is None:
        return None
    total = current = 0
    for word in (word[0] for word in words[first:]):
        if word in VALUES:
            current += VALUES[word]
        elif word == "hundred":
            current = max(current, 1) * _SCALES[word]
        elif word == "thousand":
            total, current = total + max(current, 1) * _SCALES[word], 0
        elif word != "and":
            break
    return float(min(total + current, _LARGEST))


SCORE_OF: Final = "score"
HALLUCINATED: Final = "hallucination"  # of twins
ON_MAP: Final = "map"  # of cognitive maps
DIRECTION: Final = "object_rel_direction"
LEVELS: Final = tuple(f"{DIRECTION}_{level}" for level in ("easy", "medium", "hard"))
# The eight of the benchmark's overall figure, in the paper's order; directions are one.
EIGHT: Final = (
    "object_counting",
    "object_abs_distance",
    "object_size_estimation",
    "room_size_estimation",
    "object_rel_distance",
    DIRECTION,
    "route_planning",
    "obj_appearance_order",
)
# The types of tasks (section 3.1).
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "configurational": ("object_counting", "object_rel_distance", DIRECTION, "route_planning"),
    "measurement estimation": ("object_size_estimation", "room_size_estimation", "object_abs_distance"),
    "spatiotemporal": ("obj_appearance_order",),
}
# ReVSI averages its types within a family, and the seven families.
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "object_counting": ("object_counting_single", "object_counting_multiple"),
    "object_abs_distance": ("object_abs_distance",),
    "object_size_estimation": ("object_size_estimation",),
    "room_size_estimation": ("room_size_estimation_single", "room_size_estimation_multiple"),
    "object_rel_distance": ("object_rel_distance_closest", "object_rel_distance_farthest"),
    DIRECTION: tuple(f"{DIRECTION}_{way}_{level}" for level in ("easy", "hard") for way in ("forward", "backward")),
    "route_planning": ("route_planning",),
}
_ONLY_REVSI: Final = frozenset(name for types in FAMILIES.values() if len(types) > 1 for name in types)


class VsiScoreSettings(Model):
    """How replies are read."""

    parse: Literal["released", "lmms_eval", "careful"] = Field(
        default="careful",
        description="careful: the letter or number that the reply states, with its unit; released: the first word, as "
        "published scores are made; lmms_eval: as lmms-eval 0.7 does, of numbers the first",
    )


def read(path: Path) -> list[Published]:
    """The questions of a file. Raises ConfigError, also where the answer to a question without options is no number."""
    questions = read_of_benchmark(path, COLUMNS, REVSI_COLUMNS)
    for question in questions:
        if _is_map(question):
            _check_map(path, question)
            continue
        if not question.options and not is_number(question.ground_truth) and not _is_twin(question):
            raise ConfigError(
                f"{path}: question {question.id} has no options, and its answer {question.ground_truth!r} is no "
                "number; correct it"
            )
    return questions


def _is_twin(question: Published) -> bool:
    """Whether it is asked of frames that do not show what it asks about."""
    return question.rest.get("hidden") is not None


def _is_map(question: Published) -> bool:
    """Whether it asks for a cognitive map."""
    return question.question_type in cognitive_maps.KINDS


def _check_map(path: Path, question: Published) -> None:
    try:
        cognitive_maps.truth_of(question.ground_truth)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: question {question.id} has no true map: {error}; correct it") from error


def _maps(answers: Sequence[Answer]) -> Scores:
    """Of each map the share of its pairs whose distance is right; a note tells the shares by distance."""
    unread: list[str | None] = []
    shares, true, right = [], [], []
    for answer in answers:
        is_long = is_too_long(answer.reply)
        distance, is_right, why = cognitive_maps.compared(
            None if is_long else answer.reply, answer.question.ground_truth
        )
        unread.append(TOO_LONG if is_long else why)
        shares.append(is_right.mean())
        true.append(distance)
        right.append(is_right)
    nothing = np.full(len(answers), np.nan)
    values = {SCORE_OF: nothing, HALLUCINATED: nothing, ON_MAP: np.array(shares)}
    return Scores(values, unread, notes=cognitive_maps.locality(np.concatenate(true), np.concatenate(right)))


def _hallucinated(answer: Answer) -> float:
    """1 where a twin is answered as if what it asks about were seen; a count of none is no such answer."""
    question, reply = answer.question, answer.reply or ""
    if not reply.strip() or says_no_answer(reply):
        return 0.0
    if question.options:
        letter, _ = find_option(answer)
        return float(letter is not None and letter != question.ground_truth.strip().upper())
    number, _ = find_number(reply, unit_of_question(question.question))
    return float(number is not None and number != 0)


def _released(answer: Answer) -> float:
    reply, truth = answer.reply or "", answer.question.ground_truth
    if answer.question.options:
        return accuracy(reply, truth)
    return relative_accuracy(number_of_first_word(reply), float(truth))


def _lmms_eval(answer: Answer) -> float:
    reply, truth = answer.reply or "", answer.question.ground_truth
    return accuracy(reply, truth) if answer.question.options else relative_accuracy(first_number(reply), float(truth))


def _careful(answer: Answer) -> tuple[float, str | None]:
    """The mark, and why the reply holds no answer."""
    reply, question = answer.reply or "", answer.question
    if is_too_long(reply):
        return 0.0, TOO_LONG
    if question.options:
        letter, unread = find_option(answer)
        return float(letter == question.ground_truth.strip().upper()), unread
    number, unread = find_number(reply, unit_of_question(question.question))
    return mean_relative_accuracy(number, float(question.ground_truth)), unread


_READINGS: Final[Mapping[str, Callable[[Answer], float]]] = {"released": _released, "lmms_eval": _lmms_eval}


def mark(answers: Sequence[Answer], settings: VsiScoreSettings, ask: Ask | None = None) -> Scores:
    """Marks in [0, 1]; what another way of reading would earn is said in a note.

    Twins earn no marks: of them it is measured how many are answered all the same.
    """
    nothing = np.full(len(answers), np.nan)
    if answers and all(_is_twin(answer.question) for answer in answers):
        made_up = np.array([_hallucinated(answer) for answer in answers])
        return Scores({SCORE_OF: nothing, HALLUCINATED: made_up, ON_MAP: nothing}, [None] * len(answers))
    if answers and all(_is_map(answer.question) for answer in answers):
        return _maps(answers)
    with_care = [_careful(answer) for answer in answers]
    readings: dict[str, FloatArray] = {
        name: np.array([read(answer) for answer in answers]) for name, read in _READINGS.items()
    }
    readings["careful"] = np.array([score for score, _ in with_care])
    chosen = readings.pop(settings.parse)
    notes = [
        f"Read as parse={name}: {n} marks differ, by {(other - chosen).mean():+.4f} in the mean of all questions."
        for name, other in readings.items()
        if (n := int((other != chosen).sum()))
    ]
    values = {SCORE_OF: chosen, HALLUCINATED: nothing, ON_MAP: nothing}
    return Scores(values, [unread for _, unread in with_care], notes=notes)


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """The families in order, the types of each below their mean, and the mean of the families or of those there are."""
    types = dict.fromkeys(a.question.question_type for a in answers)
    own = {f.name: f for f in group_by(answers, "task", {name: name for name in types})}
    families = (
        FAMILIES if _ONLY_REVSI & set(types) else {name: LEVELS if name == DIRECTION else (name,) for name in EIGHT}
    )
    found: list[Figure] = []
    for family, members in families.items():
        there = [name for name in members if name in own]
        if there and members != (family,):
            found.append(Figure(family, "task", parts=tuple(there)))
            found += [Figure(name, "task", own[name].members, inset=True) for name in there]
        elif there:
            found.append(own[family])
    means = tuple(figure.name for figure in found if not figure.inset)
    groups = {} if _ONLY_REVSI & set(types) else {name: [m for m in GROUPS[name] if m in means] for name in GROUPS}
    found += [Figure(name, "group", parts=tuple(parts)) for name, parts in groups.items() if parts]
    others = [own[name] for name in sorted(set(own) - {name for members in families.values() for name in members})]
    of, n = len(families), len(means)
    whole = [Figure(f"mean of {of}" if n == of else f"mean of {n} of {of}", parts=means)] if means else []
    return [*found, *others, *whole]


SCORE: Final = Score[VsiScoreSettings](
    read=read,
    metrics={
        SCORE_OF: Metric("accuracy, MRA", is_guessed=True),
        HALLUCINATED: Metric("rate of hallucination"),
        ON_MAP: Metric("pairs of categories within one cell"),
    },
    settings=VsiScoreSettings,
    mark=mark,
    figures=figures,
)


_FAMILY: Final = {
    **{name: family for family, members in FAMILIES.items() for name in members},
    **dict.fromkeys(LEVELS, DIRECTION),
    **{name: name for name in EIGHT},
}


def _marking(question: Published, split: str) -> Marking:
    """By the harnesses' own functions for the types of VSI-Bench and ReVSI; others stand beside the mean."""
    if split == TWIN:
        return Marking("twin")
    family = _FAMILY.get(question.question_type)
    known_to = "revsi" if "scene_id" in question.rest else "vsibench"
    kind = "letter" if question.options else "mra"
    return Marking(kind, family=family, marked_as=known_to if family else None)


# lmms-eval's models behind their makers' own interfaces (appendix C.1, table 9)
HARNESS: Final = Harness(_marking, proprietary=("gemini_api", "gpt4v"))
