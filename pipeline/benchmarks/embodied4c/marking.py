"""Marks from 0 to 100 of one reply: eq. 2 for numbers, and a normalised match for words where there is no judge.

The paper contradicts itself. Eq. 2 gives 100 (1 - |a' - a| / (0.01 |a|)), at least 0; the judge's code (table 6) has
0.1 a for 0.01 |a|, and takes the reply's absolute value, so that signs are lost and a negative truth never matches.
Here the share is `tolerance` (0.1 unless said otherwise; 0.01 is eq. 2) and signs count; ``as_judge`` is table 6 to the
letter. A truth of 0 has no relative deviation: as in table 6, 0 earns 100 and all else nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from pipeline.metrics.number_words import normalised
from pipeline.metrics.numbers import Unit, find_number
from pipeline.metrics.replies import plain

FULL: Final = 100.0
JUDGE_SHARE: Final = 0.1  # of the truth, in the code of table 6
_UNITS: Final[Mapping[str, Unit]] = {
    "m": Unit("length", Decimal(1)),
    "cm": Unit("length", Decimal("0.01")),
    "s": Unit("time", Decimal(1)),
    "°": Unit("angle", Decimal(1)),
}


class Mark(NamedTuple):
    """What one reply earns, and why nothing was found in it; None: something was."""

    points: float
    unread: str | None


def numeric(reply: str | None, truth: float, unit: str | None, tolerance: float, *, as_judge: bool = False) -> Mark:
    """Eq. 2, or with ``as_judge`` the code of table 6. A reply without a number earns 0 (table 6)."""
    if reply is None:
        return Mark(0.0, None)
    number, why = find_number(reply, _UNITS.get(unit or ""))
    if number is None:
        return Mark(0.0, why)
    said = float(number)
    return Mark(as_table_6(said, truth) if as_judge else relative(said, truth, tolerance), None)


def relative(said: float, truth: float, tolerance: float) -> float:
    """Eq. 2: 100 where a number is the truth, falling to 0 where it is off by ``tolerance`` times the truth."""
    if truth == 0:
        return FULL if said == 0 else 0.0
    return max(0.0, FULL * (1 - abs(said - truth) / (tolerance * abs(truth))))


def as_table_6(said: float, truth: float) -> float:
    """The judge's `numeric_score`, to the letter."""
    said = abs(said)
    if truth == 0:
        return FULL if said == 0 else 0.0
    if (1 - JUDGE_SHARE) * truth <= said <= (1 + JUDGE_SHARE) * truth:
        return FULL * (1 - abs(said - truth) / (JUDGE_SHARE * truth))
    return 0.0


def matched(reply: str | None, forms: Iterable[str]) -> float:
    """100 for one of the accepted forms, but for case, punctuation, article and how numbers are written."""
    if reply is None:
        return 0.0
    said = normalised(plain(reply)).removeprefix("answer ")  # as `plain` gives a JSON reply
    return FULL if said in {normalised(form) for form in forms} else 0.0


def forms_of(row: Mapping[str, Any], truth: str) -> tuple[str, ...]:
    """The canonical answer of a released row and what else is accepted for it."""
    accepted = row.get("accepted")
    return (truth, *map(str, accepted if isinstance(accepted, list) else ()))
