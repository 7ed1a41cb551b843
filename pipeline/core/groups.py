"""Groups and counts by name, in an order that does not depend on how they came about."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items of each key, keys and items in the order in which they come."""
    found: dict[K, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def by_frequency(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names with their numbers, the most frequent first; of as many, by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
