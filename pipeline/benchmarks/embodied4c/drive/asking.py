"""Cases of a drive: where they stand, what they are about, and how their answers are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.benchmarks.embodied4c.drive.refs import Ref, refs
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.wording import worded
from pipeline.core.arrays import FloatArray
from pipeline.questions.cases import Case


def case(view: DriveExam, kind: str, moment: int, operands: Iterable[str] = (), /, *about: Ref, **fields: str) -> Case:
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


def mark(view: DriveExam, one: Case, name: str, place: FloatArray) -> None:
    """A place (2,) that a picture of the question shows, in the drive's frame."""
    one.fact("x", name, float(place[0]), "m")
    one.fact("y", name, float(place[1]), "m")


def named(view: DriveExam, *, sides: bool = True) -> Iterator[tuple[int, Ref]]:
    """Every thing that can be spoken of, with its moment."""
    for moment in range(len(view.moments)):
        for ref in refs(view, moment, sides=sides):
            yield moment, ref
