"""The rules of the review page: hands out items, stores answers, and shows the truth only after an answer."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.core.video_spec import VIDEOS
from pipeline.review.database import AnsweredBeforeError, ReviewDatabase
from pipeline.review.maps import map_after, map_before, operand_ids
from pipeline.review.mends import QuestionEdit, mended_item, problem_of, read_mend
from pipeline.review.review_bundle import SCENE_CHECK, ReviewBundle, ReviewItem, ReviewTruth, flag_of
from pipeline.review.review_queue import Board, Progress
from pipeline.review.reviewed import Agreement, agreements, reviews_in
from pipeline.review.sheets import LONGEST_NOTE
from pipeline.review.verdicts import REASONS, Consensus, Kind, ReviewEvent, ReviewVerdict, Role, matches, read_answer

MOMENTS: Final = frozenset({"start", "end", "first_seen"})  # evidence that is a time of the video, not a duration


class RefusedError(Exception):
    """Raised for input that cannot be accepted; the text gives the reason and the remedy."""


class Seek(NamedTuple):
    """A moment of the video that bears on the answer."""

    label: str
    at_s: float


class RevealedAnswer(NamedTuple):
    """The part of an item that is shown only after a reviewer has answered."""

    answer: str
    truth: ReviewTruth
    agrees: bool
    other_verdicts: list[ReviewVerdict]  # for who adjudicates
    standing: Consensus
    seeks: list[Seek]


class PageView(NamedTuple):
    """All that a page about one item shows."""

    item: ReviewItem
    role: Role
    map: str | None
    proof: bool  # whether a drawing of what proves the answer stands above the map
    number: int  # of the item among all
    revealed: RevealedAnswer | None
    own_verdict: ReviewVerdict | None  # before an answer: a flag was raised instead of one
    undoable: bool  # whether there is a decision to take back; that by an answer which is the truth is none


class ReviewOverview(NamedTuple):
    """The progress of the review."""

    states: dict[str, Counter[str]]
    progress: list[Progress]
    agreements: list[Agreement]
    left: int
    disputed: int


class ReviewSite:
    """One build's review. Safe for several threads: one lock goes over the board and the database.

    Args:
        build: its name.
        pack: what is reviewed.
        database: where events are kept.
        folder: of the build: what the pack names is below it, videos in their own folder.
        salt: the build's secret (`review_bundle.content_of`).
        drawings: files (SVG or PNG) of what proves answers, by the questions' ids.
        clock: seconds that only rise, for what is kept for whom.
    """

    def __init__(
        self,
        build: str,
        pack: ReviewBundle,
        database: ReviewDatabase,
        folder: Path,
        salt: bytes,
        drawings: Mapping[int, Path] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.build = build
        self._pack, self._database, self._folder, self._clock = pack, database, folder.resolve(), clock
        self._drawings = drawings or {}
        self._salt = salt
        self._numbers = {item.id: number for number, item in enumerate(pack.items, start=1)}
        self._board = Board(pack.items, database.events(), self._mended, pack.raw)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, item: int) -> bool:
        return item in self._numbers

    def view(self, item: int, reviewer: str, role: Role) -> PageView:
        """An item as this reviewer may see it: the truth only where their answer is stored."""
        with self._lock:
            shown = self._board.item(item)
            sketch = self._pack.maps[shown.scene]
            answer, own = self._board.answer(item, reviewer), self._board.verdict_of(item, reviewer, role)
            if answer is None:
                self._board.lease(item, reviewer, self._clock())
                before = map_before(sketch, shown.map)
                return PageView(shown, role, before, False, self._numbers[item], None, own, own is not None)
            truth = self._pack.truths[item]
            others = [v for v in self._board.reviews(item) if v.reviewer != reviewer] if role == "adjudicate" else []
            revealed = RevealedAnswer(
                answer=answer,
                truth=truth,
                agrees=self._agrees(shown, answer),
                other_verdicts=others,
                standing=self._board.standing(item),
                seeks=self._seeks(shown, truth),
            )
            is_scene = shown.task == SCENE_CHECK  # whose map answers the questions that follow
            drawn = None if is_scene else map_after(sketch, truth.operands, truth.until_s, truth.from_s or 0.0)
            undoable = self._is_undoable(shown, own)
            proof = item in self._drawings
            return PageView(shown, role, drawn, proof, self._numbers[item], revealed, own, undoable)

    def picture(self, item: int, number: int) -> Path | None:
        """A picture that the question of an item shows, counted from 1; None where it shows no such picture."""
        names = self._board.item(item).pictures
        return self._path_below(self._folder, names[number - 1]) if 1 <= number <= len(names) else None

    def drawing(self, item: int, reviewer: str) -> Path | None:
        """The drawing of what proves the truth of an item; None where there is none, or before an answer."""
        with self._lock:
            path = self._drawings.get(item) if self._board.answer(item, reviewer) is not None else None
        return path if path and path.is_file() else None  # the build may have been made again

    def answer(self, item: int, reviewer: str, role: Role, content: str, given: str) -> None:
        """Stores an answer; one that is the truth accepts what is not flagged. A second answer changes nothing.

        Of a whole scene, which has no truth yet, an answer is a decision, and a second one replaces it. Raises
        RefusedError.
        """
        shown = self._checked(item, content)
        answer = read_answer(given[:LONGEST_NOTE], shown.options, shown.question)
        if answer is None:
            wanted = f"one of the letters A to {shown.options[-1][0]}" if shown.options else "a number, such as 2.5"
            raise RefusedError(f"This is no answer: give {wanted}.")
        decides = shown.task == SCENE_CHECK
        with self._lock:
            is_first = self._board.answer(item, reviewer) is None
            if not (is_first or decides):
                return
            events = [self._event(shown, reviewer, role, "answer", answer=answer)] if is_first else []
            # Who adjudicates says what holds; and a flag that was raised before the answer stays.
            by_itself = role == "review" and self._board.verdict_of(item, reviewer, role) is None
            if self._agrees(shown, answer) and (by_itself or decides):
                events.append(self._event(shown, reviewer, role, "accept"))
            elif (flag := flag_of(shown.task, answer)) is not None:  # what is wrong is the answer itself
                events.append(self._event(shown, reviewer, role, "flag", answer=flag[1], reason=flag[0]))
            try:
                self._store(events)
            except AnsweredBeforeError:  # by another process
                return
            if len(events) == 1 and is_first:  # to be decided: nobody settles it meanwhile
                self._board.lease(item, reviewer, self._clock())

    def accept(self, item: int, reviewer: str, role: Role, content: str) -> None:
        """Stores that the truth holds. Raises RefusedError."""
        shown = self._checked(item, content)
        with self._lock:
            if self._board.answer(item, reviewer) is None:
                raise RefusedError("Answer first: the truth is shown after that.")
            own = self._board.verdict_of(item, reviewer, role)
            if own is None or own.decision != "accept":
                self._store([self._event(shown, reviewer, role, "accept")])

    def flag(
        self,
        item: int,
        reviewer: str,
        role: Role,
        content: str,
        reason: str,
        note: str,
        correction: str,
        mend: QuestionEdit | None = None,
    ) -> None:
        """Stores a flag, before or after an answer, and other words for a second reviewer. Raises RefusedError."""
        shown = self._checked(item, content)
        if reason not in REASONS:
            raise RefusedError("Choose a reason for the flag.")
        note = note.strip()[:LONGEST_NOTE]
        if reason == "other" and not note:
            raise RefusedError("Say in the note what is wrong.")
        right = read_answer(correction, shown.options, shown.question) if correction.strip() else None
        if correction.strip() and right is None:
            raise RefusedError(
                "The right answer is a letter of the options, or a number; leave it out if none is right."
            )
        event = self._event(shown, reviewer, role, "flag", answer=right, reason=reason, note=note or None)
        with self._lock:
            answered = self._board.answer(item, reviewer) is not None
            if right == self._pack.truths[item].truth and answered:
                raise RefusedError("That is the answer the question has already: accept it, or leave this field out.")
            own = self._board.verdict_of(item, reviewer, role)
            said = (own.decision, own.reason, own.note, own.correction) if own else None
            events = [] if said == ("flag", event.reason, event.note, event.answer) else [event]
            if mend is not None:
                events += self._mending(item, reviewer, content, right, mend)
            if events:
                self._store(events)

    def _mending(
        self, item: int, reviewer: str, content: str, right: str | None, mend: QuestionEdit
    ) -> list[ReviewEvent]:
        """The events by which a reviewer gives a question other words. Raises RefusedError."""
        shown, truth = self._checked(item, content), self._pack.truths[item]
        answer = self._board.answer(item, reviewer)
        if answer is None:
            raise RefusedError("Answer first: which words may change is known after that.")
        if right is not None:
            raise RefusedError("Give other words or another right answer, not both.")
        if problem := problem_of(shown, truth, mend):
            raise RefusedError(problem)
        after = mended_item(self._salt, shown, truth, mend)
        told: list[tuple[Kind, str]] = [("answer", answer), ("mend", mend.written())]  # the letters are the same
        own = (v for v in self._board.verdicts(item) if (v.content, v.reviewer) == (after.content, reviewer))
        if any(verdict.answer for verdict in own):  # it reads again as this reviewer had it before
            told = told[1:]
        return [self._event(after, reviewer, "review", kind, answer=said) for kind, said in told]

    def reads(self, item: int, mend: QuestionEdit | None) -> bool:
        """Whether a question reads so already."""
        if mend is None:
            return True
        with self._lock:
            shown = self._board.item(item)
        options = tuple(" ".join(option.split()) for option in shown.options) if shown.options else None
        return (" ".join(shown.question.split()), options) == mend

    def undo(self, item: int, reviewer: str, role: Role, content: str) -> None:
        """Takes a reviewer's last decision back: what it was before holds again. Raises RefusedError."""
        shown = self._checked(item, content)
        with self._lock:
            if not self._is_undoable(shown, self._board.verdict_of(item, reviewer, role)):
                raise RefusedError("There is nothing to undo: the answer itself stays.")
            self._store([self._event(shown, reviewer, role, "undo")])

    def next_item(self, reviewer: str, after: int | None) -> int | None:
        """The next item for a reviewer; None where nothing is left for them."""
        with self._lock:
            return self._board.next_item(reviewer, self._clock(), after)

    def next_dispute(self, reviewer: str, after: int | None) -> int | None:
        """The next item on which reviewers disagree; None where there is none."""
        with self._lock:
            disputed = self._board.disputed(reviewer, self._clock())
            later = [item for item in disputed if after is None or self._numbers[item] > self._numbers.get(after, 0)]
            return next(iter([*later, *disputed]), None)

    def overview(self, reviewer: str) -> ReviewOverview:
        """The progress of the review, and the questions left for a reviewer."""
        with self._lock:
            now = self._clock()
            reviews = {item: own for item in self._numbers if (own := reviews_in(self._board.reviews(item)))}
            numeric = {item.task for item in self._pack.items if not item.options}
            tasks = {item.id: item.task for item in self._pack.items}
            return ReviewOverview(
                states=self._board.states(),
                progress=self._board.progress(),
                agreements=[row for row in agreements(reviews, tasks, numeric) if row.items],
                left=self._board.left_for(reviewer, now),
                disputed=len(self._board.disputed(reviewer, now)),
            )

    def video(self, item: int) -> Path | None:
        """The video of an item; None where there is none. Nothing outside the folder of videos."""
        name = self._board.item(item).video
        return self._path_below(self._folder / VIDEOS, name) if name else None

    @staticmethod
    def _path_below(folder: Path, name: str) -> Path | None:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None

    def _mended(self, item: ReviewItem, mend: str) -> ReviewItem:
        return mended_item(self._salt, item, self._pack.truths[item.id], read_mend(mend))

    def _agrees(self, item: ReviewItem, answer: str) -> bool:
        return matches(answer, self._pack.truths[item.id].truth, item.options, item.question)

    def _is_undoable(self, item: ReviewItem, own: ReviewVerdict | None) -> bool:
        """Whether there is a decision, and not the one that the answer made by itself."""
        if own is None or own.previous is None or (own.mend and own.decision == "accept"):
            return False
        by_itself = own.role == "review" and own.answer is not None and self._agrees(item, own.answer)
        return not (by_itself and own.decision == "accept" and own.previous.decision is None)

    def _checked(self, item: int, content: str) -> ReviewItem:
        shown = self._board.item(item)
        if content != shown.content:
            raise RefusedError("The question has changed since this page was opened. Reload the page.")
        return shown

    def _event(self, item: ReviewItem, reviewer: str, role: Role, kind: Kind, **told: Any) -> ReviewEvent:
        fields: dict[str, str | None] = {"answer": None, "reason": None, "note": None, **told}
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        return ReviewEvent(
            item.id, item.content, reviewer, kind, role, fields["answer"], fields["reason"], fields["note"], at
        )

    def _store(self, events: list[ReviewEvent]) -> None:
        self._database.append(events)
        for event in events:
            self._board.apply(event)

    def _seeks(self, item: ReviewItem, truth: ReviewTruth) -> list[Seek]:
        """Moments of the evidence, or when what the question speaks of first appears; in order."""
        if item.video is None:
            return []
        times = [
            Seek(f"{e['subject']}: {e['name'].replace('_', ' ')}", e["value"])
            for e in truth.evidence
            if e["unit"] == "s" and e["name"] in MOMENTS
        ]
        if not times:
            sketch = self._pack.maps[item.scene]
            spoken = operand_ids(sketch, truth.operands)
            first = [t for t in sketch.things if t.label in spoken and t.seen_s is not None]
            times = [Seek(f"{t.label} first seen", t.seen_s) for t in first if t.seen_s is not None]
        begin, end = truth.from_s or 0.0, truth.until_s
        kept = {Seek(s.label, s.at_s - begin) for s in times if s.at_s >= begin and (end is None or s.at_s <= end)}
        return sorted(kept, key=lambda s: (s.at_s, s.label))
