"""What everybody knows of things by their names: usual sizes and counts, and what usually stands beside what.

The tables (``templates/tables/blind/usual.yaml``) are written by hand and from no benchmark. Attackers guess with them,
and benchmarks choose questions in which that does not help.
"""

from functools import lru_cache
from typing import Any, Final

from pipeline.core.templates import load_table

_TABLE: Final[dict[str, Any]] = load_table("blind/usual")
USUAL: Final[dict[str, dict[str, float]]] = {name: _TABLE[name] for name in ("size_cm", "count")}
_BESIDE: Final = 2  # times as much as a kind of room in common, where things usually stand side by side
_GROUPS: Final = [
    *((frozenset(names), _BESIDE) for names in _TABLE["near"]),
    *((frozenset(names), 1) for names in _TABLE["rooms"].values()),
]


@lru_cache(1 << 15)
def nearness(one: str, other: str) -> int:
    """How near two things usually are to each other, by their names: 0 where the tables do not say."""
    pair = {_head(one), _head(other)}
    return sum(weight for names, weight in _GROUPS if pair <= names)


@lru_cache(1 << 12)
def _head(name: str) -> str:
    """What the tables may know of a name: all of it, or its last word ("the red car")."""
    noun = name.casefold().removeprefix("the ")
    known = noun in USUAL["size_cm"] or any(noun in names for names, _ in _GROUPS)
    return noun if known else noun.split()[-1] if noun.split() else noun
