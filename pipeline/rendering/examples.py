"""Questions to look at, drawn by their ids, each beside the candidate that was refused most narrowly."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from pipeline.benchmarks.benchmark import PictureMark
from pipeline.core.groups import grouped
from pipeline.core.identity import digest
from pipeline.core.spatial import TopDownMap
from pipeline.core.templates import in_unit
from pipeline.release.comparison import ReleasedQuestion
from pipeline.rendering.glossary import words
from pipeline.rendering.near_misses import Key, NearMiss, significant_digits
from pipeline.review.maps import map_after

DRAWN: Final = 10  # shown at once
KEPT: Final = 310  # in the page at most: 31 draws
FACTS: Final = 14  # measured numbers shown of a question; the rest is in the provenance
MANY: Final = 5  # numbers of one name that share a row
MANY_SHOWN: Final = 8  # of them
_SEED: Final = "report"
MarkedPicture = tuple[bytes, Sequence[PictureMark]]
_OPTION: Final = re.compile(r"([A-Z])\. (.*)", re.DOTALL)


class ShownRejection(NamedTuple):
    """The near miss of a question; ``picture`` is SVG: what it would have asked about, and its value at the limit."""

    near: NearMiss
    picture: bytes | None


class ShownOption(NamedTuple):
    """An option of a question; ``letter`` is empty where it has none."""

    letter: str
    text: str
    right: bool


class ShownQuestion(NamedTuple):
    """A question with all that shows why its answer is right.

    Attributes:
        options: empty where a number or words are asked for.
        facts: what was measured: name, of what, value with unit.
        more: how many other numbers there are.
        rules: checks that it passed, named by what they reject: name, of what, value, limit, both with unit.
        margin: of these the distance to the limit, in shares of the limit, that is smallest; counts take no part, and
            None is where there are no others.
        map: SVG; None where there is none.
        pictures: of the release, each with what is marked in it.
        near: the candidate of the same scene and task that was refused most narrowly; None: none was measured.
    """

    id: int
    scene: str
    task: str
    text: str
    answer: str
    options: tuple[ShownOption, ...]
    operands: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    more: int
    rules: tuple[tuple[str, str, str, str], ...]
    margin: float | None
    proof: str | None
    map: str | None
    pictures: tuple[MarkedPicture, ...]
    near: ShownRejection | None


def drawn(tasks: Mapping[int, str]) -> list[int]:
    """Some of the questions (id -> task), the first ones `in_turn`."""
    return in_turn(tasks)[:KEPT]


def in_turn(tasks: Mapping[int, str]) -> list[int]:
    """Questions (id -> task), all tasks in turn, in an order that their ids alone decide."""
    turns: Counter[str] = Counter()
    order: list[tuple[int, int, int]] = []
    for number in sorted(tasks, key=lambda number: digest(_SEED, str(number))):
        order.append((turns[tasks[number]], len(order), number))
        turns[tasks[number]] += 1
    return [number for _, _, number in sorted(order)]


def examples(
    rows: Iterable[Mapping[str, Any]],
    asked: Mapping[int, ReleasedQuestion],
    maps: Mapping[str, TopDownMap],
    pictures: Mapping[int, Sequence[MarkedPicture]],
    refused: Mapping[Key, NearMiss],
    near_misses: Mapping[Key, bytes],
) -> list[ShownQuestion]:
    """The examples of some questions.

    Args:
        rows: of the provenance.
        asked: the questions of the release.
        maps: of their scenes, as far as there are any.
        pictures: of the release, by question.
        refused: `refused.Nearest.of_scenes`.
        near_misses: pictures of those, as far as there are any.
    """
    return [
        _example(row, asked[row["id"]], maps.get(row["scene"]), pictures.get(row["id"], ()), refused, near_misses)
        for row in rows
    ]


def _example(
    row: Mapping[str, Any],
    asked: ReleasedQuestion,
    sketch: TopDownMap | None,
    pictures: Sequence[MarkedPicture],
    refused: Mapping[Key, NearMiss],
    near_misses: Mapping[Key, bytes],
) -> ShownQuestion:
    evidence = row["evidence"] or []
    facts = _facts([e for e in evidence if e["limit"] is None])
    rules = [
        (
            words(e["name"]),
            e["subject"],
            _with_unit(e["value"], e["unit"]),
            f"{_BOUND[e['relation']]} {_with_unit(e['limit'], e['unit'])}",
        )
        for e in evidence
        if e["limit"] is not None
    ]
    key = (row["scene"], row["task"])
    near = refused.get(key)
    until_s, from_s = row.get("until_s"), row.get("from_s") or 0.0
    operands = tuple(row["operands"] or ())
    return ShownQuestion(
        id=row["id"],
        scene=row["scene"],
        task=row["task"],
        text=asked.text,
        answer=row["answer"],
        options=_options(asked, row),
        operands=operands,
        facts=tuple(facts[:FACTS]),
        more=max(0, len(facts) - FACTS),
        rules=tuple(rules),
        margin=margin(evidence),
        proof=row.get("proof"),
        map=map_after(sketch, operands, until_s, from_s) if sketch else None,
        pictures=tuple(pictures),
        near=ShownRejection(near, near_misses.get(key)) if near else None,
    )


def _facts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The measured values; the many numbers of one name, such as those of a pose, in one row."""
    facts = []
    for name, own in grouped(rows, itemgetter("name")).items():
        if len(own) < MANY:
            facts += [(words(name), row["subject"], _with_unit(row["value"], row["unit"])) for row in own]
        else:
            texts = [f"{row['subject']} {_with_unit(row['value'], row['unit'])}" for row in own[:MANY_SHOWN]]
            more = ["…"] if len(own) > MANY_SHOWN else []
            facts.append((words(name), "", ", ".join(texts + more)))
    return facts


def _options(asked: ReleasedQuestion, row: Mapping[str, Any]) -> tuple[ShownOption, ...]:
    """The options as they stand in the release, the right one marked; none of a question for a number or words.

    The four of ``choices`` are for evaluations that need letters, and for asking models without the video.
    """
    if row["choices"]:
        return ()
    options = []
    for option in asked.options:
        match = _OPTION.fullmatch(option)
        letter, text = (match[1], match[2]) if match else ("", option)
        options.append(ShownOption(letter, text, letter == row["choice"] if row["choice"] else text == row["answer"]))
    return tuple(options)


def margin(evidence: Iterable[Mapping[str, Any]]) -> float | None:
    """The smallest distance of a rule's value from its limit (`ShownQuestion.margin`); rows of `tables.EVIDENCE`."""
    bounded = ((row["value"], row["limit"]) for row in evidence if row["limit"] is not None)
    scales = ((v, limit) for v, limit in bounded if not (float(v).is_integer() and float(limit).is_integer()))
    return min((abs(v - limit) / (abs(limit) or 1.0) for v, limit in scales), default=None)


_BOUND: Final = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}


def _with_unit(value: float, unit: str | None) -> str:
    return in_unit(significant_digits(value), unit)
