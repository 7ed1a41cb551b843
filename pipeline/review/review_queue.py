"""The queue of a review: assigns questions to reviewers; its state is in memory, updated event by event.

No question is assigned that two others have judged or are looking at; a reviewer who has begun one returns to it. Who
answers and then leaves keeps nobody waiting for longer than `LEASE_S`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from pipeline.review.review_bundle import ReviewItem
from pipeline.review.verdicts import (
    REFUSED,
    REVIEWERS,
    Consensus,
    ReviewEvent,
    ReviewVerdict,
    Role,
    consensus_of,
    with_event,
)

_LAST: Final = 4  # the least urgent rank
LEASE_S: Final = 900.0  # an item that somebody opened is kept for them so long


class Progress(NamedTuple):
    """How far one reviewer is, in items as they are now: judged (accepted or flagged), answered and not judged yet."""

    reviewer: str
    judged: int
    accepted: int
    flagged: int
    answered: int
    adjudicated: int


class Board:
    """The items of a pack and what was said of them. Not for several threads at once: the page has a lock.

    Args:
        items: in their order.
        events: what was said so far.
        mended: an item as it reads after a mend (`mends.mended_item`).
        raw: items -> the checks of the raw task that they were made from.
    """

    def __init__(
        self,
        items: Sequence[ReviewItem],
        events: Iterable[ReviewEvent],
        mended: Callable[[ReviewItem, str], ReviewItem] = lambda item, mend: item,
        raw: Mapping[int, Collection[int]] = MappingProxyType({}),
    ) -> None:
        self._mended, self._raw = mended, raw
        self._items = {item.id: item for item in items}
        self._verdicts: dict[int, dict[tuple[str, str, Role], ReviewVerdict]] = {item.id: {} for item in items}
        self._leases: dict[int, dict[str, float]] = {}
        self._order = list(self._items)
        for event in events:
            self.apply(event)

    def apply(self, event: ReviewEvent) -> None:
        """Takes note of an event that is stored; one about an item that is gone is nobody's work."""
        if event.item not in self._items:
            return
        if event.kind == "mend" and event.answer:
            after = self._mended(self._items[event.item], event.answer)
            if after.content == event.content:  # else the build has made another question of it since
                self._items[event.item] = after
        own, at = self._verdicts[event.item], (event.content, event.reviewer, event.role)
        start = ReviewVerdict(event.item, event.content, event.reviewer, event.role)
        verdict = own[at] = with_event(own.get(at, start), event)
        if verdict.decision or event.role == "adjudicate":
            self._leases.get(event.item, {}).pop(event.reviewer, None)
        if verdict.is_empty:
            del own[at]

    def item(self, item: int) -> ReviewItem:
        """An item as it is now, mended or not."""
        return self._items[item]

    def verdicts(self, item: int) -> list[ReviewVerdict]:
        """All verdicts on an item, also on what it was before."""
        return list(self._verdicts[item].values())

    def standing(self, item: int) -> Consensus:
        """Where an item stands."""
        return consensus_of(self.verdicts(item), self._items[item].content)

    def answer(self, item: int, reviewer: str) -> str | None:
        """The answer of a reviewer to the item as it is now; None before."""
        return next((v.answer for v in self._current(item) if v.reviewer == reviewer and v.answer is not None), None)

    def verdict_of(self, item: int, reviewer: str, role: Role) -> ReviewVerdict | None:
        """A reviewer's verdict on the item as it is now."""
        return self._verdicts[item].get((self._items[item].content, reviewer, role))

    def reviews(self, item: int) -> list[ReviewVerdict]:
        """The reviewers' verdicts on the item as it is now, without adjudication."""
        return [verdict for verdict in self._current(item) if verdict.role == "review"]

    def next_item(self, reviewer: str, now: float, after: int | None = None) -> int | None:
        """The next item for a reviewer, kept for them from now; None where there is nothing left for them.

        First what they have begun, then what needs a second opinion, then what nobody looked at. Within these in the
        order of scenes, going on after the item ``after``.
        """
        start = self._order.index(after) + 1 if after in self._items else 0
        chosen, best = None, _LAST
        for item in (*self._order[start:], *self._order[:start]):  # ``after`` comes last
            rank = self._rank(item, reviewer, now)
            if rank is not None and (rank < best or chosen is None) and (item != after or chosen is None):
                chosen, best = item, rank
                if rank == 0:
                    break
        if chosen is not None:
            self.lease(chosen, reviewer, now)
        return chosen

    def lease(self, item: int, reviewer: str, now: float) -> None:
        """Keeps an item for a reviewer who has opened it."""
        self._leases.setdefault(item, {})[reviewer] = now + LEASE_S

    def disputed(self, reviewer: str, now: float) -> list[int]:
        """The items that a reviewer may adjudicate: all that are disputed and that nobody else is just looking at."""
        found = [item for item in self._order if self.standing(item).state == "disputed"]
        return [item for item in found if not any(n != reviewer for n in self._holders(item, now))]

    def states(self) -> dict[str, Counter[str]]:
        """Per task, how many items stand where."""
        counts: dict[str, Counter[str]] = {}
        for item in self._items.values():
            counts.setdefault(item.task, Counter())[self.standing(item.id).state] += 1
        return dict(sorted(counts.items()))

    def progress(self) -> list[Progress]:
        """How far each reviewer is, by name."""
        own: dict[str, Counter[str]] = {}
        for item in self._order:
            for verdict in self._current(item):
                counts = own.setdefault(verdict.reviewer, Counter())
                if verdict.role == "adjudicate":
                    counts["adjudicated"] += verdict.decision is not None
                else:
                    counts[verdict.decision or "answered"] += 1
        return [
            Progress(name, n["accept"] + n["flag"], n["accept"], n["flag"], n["answered"], n["adjudicated"])
            for name, n in sorted(own.items())
        ]

    def left_for(self, reviewer: str, now: float) -> int:
        """How many items a reviewer could look at now."""
        return sum(self._rank(item, reviewer, now) is not None for item in self._order)

    def _current(self, item: int) -> list[ReviewVerdict]:
        content = self._items[item].content
        return [verdict for (own, _, _), verdict in self._verdicts[item].items() if own == content]

    def _holders(self, item: int, now: float) -> set[str]:
        return {name for name, until in self._leases.get(item, {}).items() if until > now}

    def _rank(self, item: int, reviewer: str, now: float) -> int | None:
        """How urgent an item is for a reviewer, 0 most; None: not theirs."""
        content, given = self._items[item].content, self._verdicts[item]
        mine = given.get((content, reviewer, "review"))
        if mine is not None:
            return 0 if mine.decision is None else None
        if (content, reviewer, "adjudicate") in given:  # who has seen the truth reviews no more
            return None
        holders = self._holders(item, now)
        if reviewer in holders:
            return 1
        judged = {v.reviewer for (own, _, role), v in given.items() if own == content and role == "review" and v.label}
        others, raw = judged | holders, self._raw.get(item, ())
        if len(others) >= REVIEWERS or any(self.standing(check).state in REFUSED for check in raw):
            return None
        is_mended = any(v.mend for (own, _, _), v in given.items() if own == content)
        knows = is_mended and any(v.reviewer == reviewer and v.answer is not None for v in given.values())
        knows = knows or any(self.answer(check, reviewer) is not None for check in raw)
        return _LAST if knows else 3 - len(others)  # who has seen the truth is asked where nobody else is
