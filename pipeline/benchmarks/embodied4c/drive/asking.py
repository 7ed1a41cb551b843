"""Cases of a drive: where they stand, what they are about, and how their answers are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.drive.refs import Ref, refs
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.flags import ACCEPTED, flag
from pipeline.benchmarks.embodied4c.wording import worded
from pipeline.core.arrays import FloatArray
from pipeline.questions.cases import Case


def case(view: DriveExam, kind: str, moment: int, operands: Iterable[str] = (), *about: Ref, **fields: str) -> Case:
    """A case of a kind at a moment, with the rules of the things that it is about."""
    t_s = view.second(moment)
    identity = (kind, f"{t_s:.2f}", *operands)
    text = worded(kind, (view.scene.id, *identity), us=view.us, **fields)
    found = Case(*identity, until_s=round(t_s, 3), wording=text)
    found.flags = list(view.flags)
    for ref in about:
        for measure in ref.rules:
            found.measured(measure)
    return found


def number(one: Case, value: float, unit: str, decimals: int) -> Case:
    """The case with a number as its answer, as exactly as it was measured in its evidence."""
    text = f"{value:.{decimals}f}" if np.isfinite(value) else ""
    one.require("not_measured", float(np.isfinite(value)), ">=", 1, "numbers")
    if text:
        one.fact(VALUE, "rounded to " + ("units" if decimals == 0 else f"{decimals} decimal"), value, unit)
        one.require("rounds_to_0", float(text), ">", 0, unit)
    return one.ask(text, (), least=0)


def words(one: Case, answer: str, others: Iterable[str], accepted: Iterable[str] = ()) -> Case:
    """The case with a few words as its answer, what else it might have been, and other right ways to say it."""
    one.flags += [flag(ACCEPTED, form) for form in accepted]
    return one.ask(answer, others, least=1)


def mark(view: DriveExam, one: Case, name: str, place: FloatArray) -> None:
    """A place (2,) that a picture of the question shows, in the drive's frame."""
    one.fact("x", name, float(place[0]), "m")
    one.fact("y", name, float(place[1]), "m")


def named(view: DriveExam, *, sides: bool = True) -> Iterator[tuple[int, Ref]]:
    """Every thing that can be spoken of, with its moment."""
    for moment in range(len(view.moments)):
        for ref in refs(view, moment, sides=sides):
            yield moment, ref
