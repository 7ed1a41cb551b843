"""Raw tasks that people wrote (`City.tasks`): they get starts and chains like all others, and the same proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.benchmarks.cityeqa.answers import NUMBER, OPEN, YES_NO, answer_type
from pipeline.benchmarks.cityeqa.phrases import COLOURS, Phrase
from pipeline.benchmarks.cityeqa.raw import NUMBERS, Raw
from pipeline.benchmarks.cityeqa.raw import YES_NO as ANSWERS
from pipeline.benchmarks.cityeqa.released import CATEGORIES
from pipeline.benchmarks.cityeqa.tasks.answers import known_of, others_of
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.arrays import WRITTEN
from pipeline.questions.rules import rule
from pipeline.worlds.city.facts import RawTask

OTHERS: Final = 9  # other answers that are offered to who guesses
DEFAULT: Final = "Object Recognition"  # of a task whose category nobody told


def written(view: CityView, category: str) -> Iterator[Raw]:
    """The tasks of a category; those of one that is none are refused with the tasks of `DEFAULT`."""
    for task in view.city.tasks:
        known = task.category is None or task.category in CATEGORIES
        if (task.category if task.category and known else DEFAULT) == category:
            yield _raw(view, task, known)


def _raw(view: CityView, task: RawTask, sorted_in: bool) -> Raw:
    known = task.target is not None and task.target in view.index
    i = view.index.get(task.target or "", 0)
    answer = task.answer.casefold()
    phrases = tuple(p for p in view.phrases(i) if known and not _says(p, answer))
    kind = answer_type(task.question, task.answer)
    return Raw(
        kind=WRITTEN,
        target=i,
        operands=(task.target or "unknown", task.id),
        phrases=phrases,
        part="",
        answer=task.answer,
        others=_others(view, i, kind, answer),
        answer_type=kind,
        shown=(i,),
        pixels_min=view.rules.pixels_min // 4,
        told=task.question,
        pose=tuple(float(v) for v in task.p_obs),
        checks=(
            rule("category_unknown", float(sorted_in), ">=", 1, f"categories of {', '.join(CATEGORIES)}"),
            rule("target_unknown", float(known), ">=", 1, "targets"),
            rule("name_says_the_answer", len(phrases), ">=", 1, "names"),
        ),
        flags=(WRITTEN,),
    )


def _says(phrase: Phrase, answer: str) -> bool:
    """Whether what the target is called tells the answer."""
    return any(part is not None and part.casefold() == answer for part in (phrase.noun, phrase.colour, phrase.name))


def _others(view: CityView, i: int, kind: str, answer: str) -> tuple[str, ...]:
    """What else people or things of the city would have it."""
    if kind == YES_NO:
        return ANSWERS
    if kind == NUMBER:
        return NUMBERS[1:] if answer in NUMBERS else tuple(str(n) for n in range(1, OTHERS + 1))
    if answer in COLOURS:
        return COLOURS
    said = [task.answer for task in view.city.tasks if answer_type(task.question, task.answer) == kind]
    names, nouns = (view.read(j) for j in range(len(view.things))), (thing.noun for thing in view.things)
    return others_of(view, i, known_of([*said, *(names if kind == OPEN else nouns)]), OTHERS, "written")
