"""What questions rest on of a log as a whole, and what doubts about it take that away."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from pipeline.core.schema import Finding
from pipeline.questions.cases import Case

LOG: Final = "log"  # subject of findings about all of a log
THINGS, CLOCK, WAY = ALL = ("things", "clock", "way")
# A finding about the log -> what is no longer sure: which things there were, when it was, or how we moved without a
# break. One that is not here shakes all three.
SHAKEN: Final[dict[str, frozenset[str]]] = {
    "bad_line": frozenset({THINGS}),
    "damaged_packet": frozenset({THINGS, CLOCK, WAY}),
    "no_ego_pose": frozenset({WAY}),
    "unusable_pose": frozenset({WAY}),
    "times_run_backwards": frozenset({CLOCK, WAY}),
    "times_assumed": frozenset({CLOCK}),
    "rows_missing": frozenset({CLOCK, WAY}),
}


def about_log(findings: Iterable[Finding]) -> list[Finding]:
    """The doubts about all of a log."""
    return [one for one in findings if one.severity == "doubt" and one.subject == LOG and one.stretches is None]


def require_sure(one: Case, doubts: Iterable[Finding], rests: Collection[str]) -> None:
    """Refuses a case that rests on what a doubt about the log shakes, by the doubt's own name and numbers."""
    for found in doubts:
        if SHAKEN.get(found.name, frozenset(ALL)) & set(rests):
            one.refuse(found.name, found.measured, found.limit, found.unit)
