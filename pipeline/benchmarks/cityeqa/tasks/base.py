"""What all six categories have in common: from raw tasks to cases with a start, a chain and a proof."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pipeline.benchmarks.cityeqa import phrases, wording
from pipeline.benchmarks.cityeqa.observing import Observer
from pipeline.benchmarks.cityeqa.oracle import Oracle
from pipeline.benchmarks.cityeqa.raw import Raw, evened, in_turns
from pipeline.benchmarks.cityeqa.search import Found, Search
from pipeline.benchmarks.cityeqa.supplement import Chain, Start, chains, others, spread, starts, turned
from pipeline.benchmarks.cityeqa.tasks.poses import AXES, POSES, UNITS
from pipeline.benchmarks.cityeqa.tasks.written import written
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Rejection
from pipeline.metrics.number_words import normalised
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.rules import Measure, rule
from pipeline.questions.task import Form, FreeText

AT_ONCE: Final = 4  # raw tasks: their trees of shortest ways are kept at a time
TILE_M: Final = 128.0
UNSURE: Final = -1
SPARE: Final = 2  # times as many raw tasks are looked at as are tried, since some cannot be seen
PROVEN: Final = "possible_targets"  # the rule that a text leads to one thing


@dataclass(frozen=True)
class Seen:
    """A raw task, the pose that shows its answer, and what was measured there."""

    raw: Raw
    pose: FloatArray
    rules: tuple[Measure, ...]


class EqaTask(CaseTask[CityView]):
    """One category. A subclass says which raw tasks there are."""

    share = 1
    form: Form = FreeText()
    template = "cityeqa/question"
    parts = (*phrases.PARTS, *wording.PARTS)
    about: frozenset[str] | None = None  # kinds of the things that it asks about; None: all

    def raws(self, view: CityView) -> Iterator[Raw]:
        """Every raw task of a city."""
        raise NotImplementedError

    def obstacle(self, view: CityView) -> Rejection | None:
        """Without a map nothing can be proven."""
        return None if view.city.bounds else Rejection(reason="no_map", measured=None, limit=None, unit=None)

    def ask_once(self, view: CityView, cases: Iterable[Case]) -> None:
        """The same words from another start are another task."""

    def cases(self, view: CityView) -> Iterator[Case]:
        """Every raw task with its starts, or what refuses it."""
        for kind, drawn in view.left_out(view.kinds if self.about is None else self.about):
            yield _refused_as(drawn, kind)
        asked: list[Raw] = []
        for raw in (*self.raws(view), *written(view, self.name)):
            unseen = [i for i in raw.shown if i not in view.solid_things]
            if raw.broken is not None:
                yield _refused(raw, raw.broken)
            elif unseen:
                yield _refused(raw, rule("extent_unknown", len(unseen), "<=", 0, "things"))
            elif raw.phrases and all(raw.gives_away(phrase) for phrase in raw.phrases):
                yield _refused(raw, rule("answer_in_the_question", len(raw.phrases), "<=", 0, "wordings"))
            else:
                asked.append(replace(raw, phrases=tuple(p for p in raw.phrases if not raw.gives_away(p))))
        even = evened(asked, SPARE)
        yield from (_refused(raw, _surplus(asked, even)) for raw in asked if raw.key not in even)
        ordered = in_turns((raw for raw in asked if raw.key in even and raw.told is None), view.scene.id)
        most = view.rules.tried_per_category
        observer = Observer(view)
        seen: list[Seen] = []
        people = [raw for raw in asked if raw.told is not None]
        for place, raw in enumerate((*people, *ordered), start=1 - len(people)):
            if place > SPARE * most or (place > 0 and sum(one.raw.told is None for one in seen) >= most):
                yield _refused(raw, rule("more_than_are_tried", place, "<=", most, "raw tasks"))
                continue
            observed = observer.of_raw(raw)
            if observed.pose is None:
                yield _refused(raw, next(r for r in observed.rules if not r.holds))
            else:
                seen.append(Seen(raw, observed.pose, observed.rules))
        yield from self._supplemented(view, sorted(seen, key=_tile))

    def _supplemented(self, view: CityView, seen: Sequence[Seen]) -> Iterator[Case]:
        """Cases of raw tasks that can be observed, a few at a time: shortest ways to them are kept so long."""
        oracle = Oracle(view)
        solved: dict[tuple[str, ...], list[Found]] = {}
        for first in range(0, len(seen), AT_ONCE):
            part = seen[first : first + AT_ONCE]
            places: list[list[Start]] = []
            drawn: list[FloatArray] = []
            for one in part:
                right, poses = starts(view, one.raw, one.pose)
                places.append(right)
                drawn.append(poses)
            tried = [chains(view, one.raw, found) for one, found in zip(part, places, strict=True)]
            proofs = _proofs(view, part, tried)
            for n, one in enumerate(part):
                found, refused = _solved(view, oracle, one, places[n], tried[n], proofs[n])
                if not _is_enough(view, found):
                    search = Search(view, oracle, one.raw, one.pose, drawn[n], found)
                    broken = search.run()
                    found = search.found if broken is None else []
                    if broken is not None:
                        yield _refused(one.raw, broken)
                taken = {_place(own.start) for own in found}
                yield from (case for place, case in refused if place not in taken)
                if found:
                    solved[one.raw.key] = found
        yield from _asked(view, [one for one in seen if one.raw.key in solved], solved)


def _asked(view: CityView, seen: Sequence[Seen], solved: Mapping[tuple[str, ...], Sequence[Found]]) -> Iterator[Case]:
    """Cases of what can be solved from enough starts, even over the answers."""
    raws = [one.raw for one in seen]
    kept = evened(raws)
    for raw in raws:
        if raw.key not in kept:
            yield _refused(raw, _surplus(raws, kept))
    for one in seen:
        if one.raw.key in kept:
            yield from (_case(view, found, one) for found in solved[one.raw.key])


def _is_enough(view: CityView, found: Sequence[Found]) -> bool:
    sides = {own.start.side for own in found}
    return len(found) >= view.rules.starts_min and len(sides) >= view.rules.sides_min


def _tile(one: Seen) -> tuple[float, float, float, tuple[str, ...]]:
    """Raw tasks of one part of the city follow one another: they share the ways of its grid."""
    x, y, z = (float(v) for v in one.pose[:3])
    return z, y // TILE_M, x // TILE_M, one.raw.key


def _proofs(view: CityView, seen: Sequence[Seen], tried: Sequence[list[list[Chain]]]) -> list[list[list[list[int]]]]:
    """Per task, start and chain the things that its text may lead to, `UNSURE` beside them where not surely to its own.

    All of them are asked of the map together.
    """
    found = view.query.lead([chain.way for by_start in tried for own in by_start for chain in own])
    row = 0
    out = []
    for one, by_start in zip(seen, tried, strict=True):
        mine = []
        for own in by_start:
            fits = []
            for _ in own:
                maybe, sure = (_row(matrix, row) for matrix in (found.maybe, found.sure))
                fits.append(sorted(maybe) if one.raw.target in sure else sorted({*maybe, UNSURE}))
                row += 1
            mine.append(fits)
        out.append(mine)
    return out


def _row(matrix: Any, row: int) -> list[int]:
    found: list[int] = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
    return found


def _solved(
    view: CityView,
    oracle: Oracle,
    one: Seen,
    places: Sequence[Start],
    tried: Sequence[Sequence[Chain]],
    proofs: Sequence[Sequence[list[int]]],
) -> tuple[list[Found], list[tuple[str, Case]]]:
    """Up to as many starts as are asked, each with the first chain that leads to the target alone and can be gone.

    Also the cases of those that are refused, with their places.
    """
    raw = one.raw
    mine: list[Found] = []
    refused: list[tuple[str, Case]] = []
    for m in spread(places):
        if len(mine) >= view.rules.starts_max:
            break
        unproven = []
        for chain, fits in zip(tried[m], proofs[m], strict=True):
            if fits == [raw.target]:
                start = turned(view, raw, places[m], chain.way)
                way = oracle.solve(start, chain, one.pose, raw.pixels_min)
                if way is not None:
                    mine.append(Found(raw, start, chain, way))
                    break
                unproven.append(rule("no_way_along_the_chain", 0, ">=", 1, "ways"))
            else:
                other = [i for i in fits if i not in (raw.target, UNSURE)]
                unit = f"things: also {others(view, other)}" if other else "things: the target within the margin"
                unproven.append(rule(PROVEN, len(fits), "<=", 1, unit))
        else:
            why = unproven[0] if unproven else rule("no_chain", 0, ">=", 1, "chains")
            refused.append((_place(places[m]), _refused(raw, why, _place(places[m]))))
    return mine, refused


def _place(start: Start) -> str:
    x, y, z = start.pose[:3]
    return f"{x:.1f} {y:.1f} {z:g}"


def _refused(raw: Raw, why: Measure, *more: str) -> Case:
    return _refused_as(why, *raw.key, *more)


def _refused_as(why: Measure, *operands: str) -> Case:
    case = Case(*operands)
    case.refuse(why.name, why.value, why.limit, why.unit)
    return case


def _surplus(raws: Sequence[Raw], kept: Collection[tuple[str, ...]]) -> Measure:
    return rule("answer_more_frequent", len(raws), "<=", len(kept), "raw tasks")


def _case(view: CityView, found: Found, one: Seen) -> Case:
    raw, start, chain, solved = found.raw, found.start, found.chain, found.solved
    target = view.things[raw.target]
    over = " > ".join(view.things[i].id for i in chain.landmarks)
    case = Case(*raw.key, _place(start), over, wording=chain.text, group=target.id)
    foot = 0.0 if target.base_m is None or raw.target not in view.solid_things else target.base_m
    at = (*target.center, foot, 0.0, 0.0, target.facing_deg or 0.0)
    for name, values in zip(POSES, (one.pose.tolist(), at, start.pose.tolist()), strict=True):
        for axis, value, unit in zip(AXES, values, UNITS, strict=True):
            case.fact(name, axis, float(value), unit)
    for measure in (*raw.checks, *one.rules):
        case.measured(measure)
    rules = view.rules
    case.require("start_too_near", start.away_m, ">=", rules.start_min_m, "m")
    case.require("start_too_far", start.away_m, "<=", rules.start_max_m, "m")
    case.require(PROVEN, 1, "<=", 1, "things")
    case.fact("hops", "chain", chain.hops, "hops")
    case.fact("path", "shortest", start.path_m, "m")
    case.fact("path", "oracle", solved.length_m, "m")
    case.fact("oracle_steps", "all", solved.steps, "steps")
    case.fact("oracle_steps", "until found", solved.found_after, "steps")
    for number, stop in enumerate(solved.stops):
        case.fact("oracle_x", f"{number}", float(stop[0]), "m")
        case.fact("oracle_y", f"{number}", float(stop[1]), "m")
    case.flags = [raw.answer_type, *raw.flags]
    return case.ask(raw.answer, [other for other in raw.others if normalised(other) != normalised(raw.answer)], least=1)
