"""Groups and counts by name, and the first of many."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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


def first_named(names: Sequence[object], most: int) -> str:
    """The first names, and how many more there are: ``a, b, … 3 more``."""
    more = [f"… {len(names) - most} more"] if len(names) > most else []
    return ", ".join([*map(str, names[:most]), *more])
