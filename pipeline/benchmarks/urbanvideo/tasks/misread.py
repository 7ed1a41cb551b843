"""Wrong options that do not betray the right one: a set that is the same whichever of its members is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, Generic, TypeVar

WAYS: Final = 3  # eight readings, of which five are offered

Reading = TypeVar("Reading")


@dataclass(frozen=True)
class Way(Generic[Reading]):
    """One way to misread.

    Attributes:
        misread: applied twice it gives what it was given; ways that touch nothing in common may come in any order.
        touches: what it changes that another way may change as well.
    """

    misread: Callable[[Reading], Reading]
    touches: frozenset[int] = frozenset()


def misreadings(
    right: Reading,
    ways: Iterable[Way[Reading]],
    possible: Callable[[Reading], bool],
    alike: Callable[[Reading, Reading], bool],
) -> list[Reading]:
    """What comes of the first `WAYS` ways, each alone and together, whose readings are possible and never alike.

    Each reading has all the others for its misreadings. So nothing about the options, such as what most of them say
    at a place, tells which of them is right; single changes of the right one would all agree with it in the rest.
    """
    readings, found, touched = [right], 0, frozenset[int]()
    for way in ways:
        if found == WAYS or touched & way.touches:
            continue
        more = [way.misread(reading) for reading in readings]
        if not all(map(possible, more)):
            continue
        if not any(alike(a, b) for a, b in (*product(readings, more), *combinations(more, 2))):
            readings, found, touched = readings + more, found + 1, touched | way.touches
    return readings[1:]
