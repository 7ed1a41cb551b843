"""The common base of the six categories: from raw tasks to cases with a start, a chain and a proof."""

import math
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from pipeline.benchmarks.cityeqa import wording
from pipeline.benchmarks.cityeqa.extra_starts import Start, StartChain, chains, others, spread, starts, turned
from pipeline.benchmarks.cityeqa.oracle import Observer, Oracle, steps_rules
from pipeline.benchmarks.cityeqa.raw import (
    CLOSED,
    NUMBER,
    NUMBERS,
    OPEN,
    YES_OR_NO,
    RawQuestion,
    answer_type,
    evened,
    in_turns,
    offered,
    one_way,
    split_of,
)
from pipeline.benchmarks.cityeqa.raw import YES_NO as ANSWERS
from pipeline.benchmarks.cityeqa.released import AXES, CATEGORIES, POSES, TABLE_4, UNITS
from pipeline.benchmarks.cityeqa.search import Search, SolvedTask
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import COLOURS, Phrase
from pipeline.core.arrays import FloatArray
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection
from pipeline.metrics.number_words import normalised
from pipeline.questions.arrays import WRITTEN
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.gate import NamedThing
from pipeline.questions.rules import Measure, first_broken, rule
from pipeline.questions.selection import SAME_FACT
from pipeline.questions.task import Form, FreeText
from pipeline.reading.maps.city_thing import CityThing
from pipeline.worlds.city.facts import RawTask


def parts(*asks: str) -> tuple[str, ...]:
    """Paths of the templates that texts with some questions are put together from."""
    return (*wording.PARTS, *(name for ask in asks for name in wording.wordings(ask)))


def known_of(answers: Iterable[str | None]) -> tuple[str, ...]:
    """The different ones of some answers, in alphabetical order; of "UBS" and "ubs" the first."""
    found: dict[str, str] = {}
    for answer in sorted({answer for answer in answers if answer}):
        found.setdefault(normalised(answer), answer)
    return tuple(found.values())


def others_of(view: CityView, own: str | None, known: Sequence[str], most: int, what: str) -> tuple[str, ...]:
    """At most so many others of some different answers, and the own one: those of the block that a lot deals it into.

    All of a block are offered together, so that other questions do not tell which one is right by offering it less.
    """
    blocks = max(1, math.ceil(len(known) / (most + 1)))
    ranked = sorted(known, key=lambda answer: digest(view.scene.id, what, "others", answer))
    place = next((n for n, answer in enumerate(ranked) if normalised(answer) == normalised(own or "")), 0)
    return tuple(sorted(ranked[place % blocks :: blocks]))


def names_of_split(
    view: CityView, targets: Sequence[int], named: Sequence[int] | None = None
) -> dict[int, tuple[str, ...]]:
    """For each target the names that are asked for in its split, of the release.

    What another split asks for is hardly asked for again: who has read that would leave it out.

    Args:
        view: of the city.
        targets: their indices.
        named: the thing whose name is asked for at each; by default itself.
    """
    split = {i: split_of(view.scene.id, view.things[i].id) for i in targets}
    own = [(split[i], view.read(j)) for i, j in zip(targets, targets if named is None else named, strict=True)]
    names = {name: known_of(text for of, text in own if of == name) for name in set(split.values())}
    return {i: names[name] for i, name in split.items()}


def colours_of(view: CityView, things: Collection[int], roof: bool = False) -> tuple[str, ...]:
    """The colours that some things have, in alphabetical order."""
    found = {view.things[i].roof_colour if roof else view.things[i].colour for i in things}
    return tuple(sorted(colour for colour in found if colour is not None))


def question_about(
    view: CityView,
    i: int,
    *,
    operands: tuple[str, ...] | None = None,
    phrases: tuple[Phrase, ...] | None = None,
    answer_type: str = CLOSED,
    about: tuple[int, ...] = (),
    shown: tuple[int, ...] | None = None,
    pixels_min: int | None = None,
    **more: Any,
) -> RawQuestion:
    """A raw question whose target is a thing of the city; all arguments are attributes of `RawQuestion`.

    Args:
        view: of the city.
        i: index of the target.
        operands: those after the target; by default the ids of ``about``.
        phrases: by default all that the target may be called.
        answer_type: closed text by default.
        about: indices of the things that the question names.
        shown: by default the target and ``about``.
        pixels_min: by default as many as an open answer, which is a name, is read by, or any other is seen by.
        more: the other attributes.
    """
    if pixels_min is None:
        pixels_min = view.rules.read_pixels_min if answer_type == OPEN else view.rules.pixels_min
    return RawQuestion(
        target=i,
        operands=(view.things[i].id, *((view.things[j].id for j in about) if operands is None else operands)),
        phrases=view.phrases(i) if phrases is None else phrases,
        answer_type=answer_type,
        about=about,
        shown=(i, *about) if shown is None else shown,
        pixels_min=pixels_min,
        **more,
    )


def other_names(names: Iterable[str], own: str | None) -> Measure:
    """Whether there are other names to choose from."""
    others = {normalised(name) for name in names} - {normalised(own or "")}
    return rule("other_names", len(others), ">=", 1, "names")


def called_business(view: CityView, i: int) -> Measure:
    """Whether one would call premises a business."""
    return rule("is_no_business", float(not view.is_business(i)), "<=", 0, "sorts")


def name_known(name: str | None) -> Measure:
    """Whether there is a name to read."""
    return rule("no_name_to_read", float(name is not None), ">=", 1, "names")


def colour_known(thing: CityThing) -> Measure:
    """Whether the colour of a thing is known."""
    return rule("colour_unknown", float(thing.colour is not None), ">=", 1, "colours")


def name_flags(thing: CityThing) -> tuple[str, ...]:
    """The remark that the name of a thing stands for its sign, where the map has no sign."""
    return () if thing.sign else ("name_as_sign",)


def numbers_to(most: int) -> tuple[str, ...]:
    """The numbers from one on, as words."""
    return NUMBERS[1 : most + 1]


def plural(noun: str) -> str:
    """Several of a kind."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


OTHERS: Final = 9  # other answers that are offered to who guesses
DEFAULT: Final = "Object Recognition"  # of a task whose category nobody told


def written(view: CityView, category: str) -> Iterator[RawQuestion]:
    """The tasks of a category; those of one that is none are refused with the tasks of `DEFAULT`."""
    for task in view.city.tasks:
        known = task.category is None or task.category in CATEGORIES
        if (task.category if task.category and known else DEFAULT) == category:
            yield _raw(view, task, known)


def _raw(view: CityView, task: RawTask, sorted_in: bool) -> RawQuestion:
    known = task.target is not None and task.target in view.index
    i = view.index.get(task.target or "", 0)
    answer = task.answer.casefold()
    phrases = tuple(p for p in view.phrases(i) if known and not _gives_answer(p, answer))
    kind = answer_type(task.question, task.answer)
    return RawQuestion(
        kind=WRITTEN,
        target=i,
        operands=(task.target or "unknown", task.id),
        phrases=phrases,
        part="",
        answer=task.answer,
        others=_other_answers(view, i, kind, answer),
        answer_type=kind,
        shown=(i,),
        pixels_min=view.rules.pixels_min // 4,
        written=task.question,
        pose=tuple(float(v) for v in task.p_obs),
        checks=(
            rule("category_unknown", float(sorted_in), ">=", 1, f"categories of {', '.join(CATEGORIES)}"),
            rule("target_unknown", float(known), ">=", 1, "targets"),
            rule("name_says_the_answer", len(phrases), ">=", 1, "names"),
        ),
        flags=(WRITTEN,),
    )


def _gives_answer(phrase: Phrase, answer: str) -> bool:
    """Whether what the target is called tells the answer."""
    return any(part is not None and part.casefold() == answer for part in (phrase.noun, phrase.colour, phrase.name))


def _other_answers(view: CityView, i: int, kind: str, answer: str) -> tuple[str, ...]:
    """Other answers that people or things of the city have."""
    if kind == YES_OR_NO:
        return ANSWERS
    if kind == NUMBER:
        return NUMBERS[1:] if answer in NUMBERS else tuple(str(n) for n in range(1, OTHERS + 1))
    if answer in COLOURS:
        return COLOURS
    said = [task.answer for task in view.city.tasks if answer_type(task.question, task.answer) == kind]
    names, nouns = (view.read(j) for j in range(len(view.things))), (thing.noun for thing in view.things)
    return others_of(view, answer, known_of([*said, *(names if kind == OPEN else nouns)]), OTHERS, "written")


AT_ONCE: Final = 4  # raw tasks: their trees of shortest ways are kept at a time
TILE_M: Final = 128.0
UNSURE: Final = -1
SPARE: Final = 3  # times as many raw tasks are tried as are to succeed, at most
MEAN: Final = sum(map(sum, TABLE_4.values())) / len(TABLE_4)  # tasks of a category in the paper
COVERED: Final = 0.95  # of all things of a kind, so that a map that is not declared complete has them all
UNCOVERED: Final = "coverage_unknown"  # remark: no more than the map itself shows that nothing else fits
PROVEN: Final = "possible_targets"  # the rule that a text leads to one thing
ASKED_TWICE: Final = rule(SAME_FACT, 2, "<=", 1, "things asked about")


@dataclass(frozen=True)
class ObservedTask:
    """A raw task, the pose that shows its answer, and what was measured there."""

    raw: RawQuestion
    pose: FloatArray
    rules: tuple[Measure, ...]


class EqaTask(CaseTask[CityView]):
    """One category. A subclass says which raw tasks there are."""

    share = 1  # in a subclass the tasks of its category in the paper (table 4)
    form: Form = FreeText()
    template = "cityeqa/question"
    parts = wording.PARTS
    about: frozenset[str] | None = None  # kinds of the things that it asks about; None: all
    tried_at_most: Mapping[str, float] = MappingProxyType({})  # kind of question -> share of its raw tasks

    def _tried(self, raws: Iterable[RawQuestion], most: int) -> tuple[list[RawQuestion], list[Case]]:
        """The raw tasks that are tried, and the others refused: so many before them are of their kind."""
        tried: list[RawQuestion] = []
        refused = []
        before: Counter[str] = Counter()
        for raw in raws:
            before[raw.kind] += 1
            limit = math.ceil(most * self.tried_at_most.get(raw.kind, before[raw.kind]))
            if before[raw.kind] > limit:
                refused.append(_refused(raw, rule("more_than_are_tried", before[raw.kind], "<=", limit, "raw tasks")))
            else:
                tried.append(raw)
        return tried, refused

    def raws(self, view: CityView) -> Iterator[RawQuestion]:
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
        asked: list[RawQuestion] = []
        for raw in (*self.raws(view), *written(view, self.name)):
            unseen = [i for i in raw.shown if i not in view.solid_things]
            if raw.broken is not None:
                yield _refused(raw, raw.broken)
            elif unseen:
                yield _refused(raw, rule("extent_unknown", len(unseen), "<=", 0, "things"))
            elif not (phrases := tuple(p for p in raw.phrases if not raw.gives_away(p))) and raw.phrases:
                yield _refused(raw, rule("answer_in_the_question", len(raw.phrases), "<=", 0, "wordings"))
            else:
                asked.append(replace(raw, phrases=phrases, split=split_of(view.scene.id, view.things[raw.target].id)))
        even = evened(asked, SPARE)
        yield from (_refused(raw, _surplus(asked, even)) for raw in asked if raw.key not in even)
        most = max(1, round(view.rules.raw_tasks_per_category * self.share / MEAN))
        in_order = in_turns((raw for raw in asked if raw.key in even and raw.written is None), view.scene.id)
        ordered, refused = self._tried(in_order, most)
        yield from refused
        people = [raw for raw in asked if raw.written is not None]
        yield from self._until_enough(view, people, ordered, most)

    def _until_enough(
        self, view: CityView, people: Sequence[RawQuestion], ordered: Sequence[RawQuestion], most: int
    ) -> Iterator[Case]:
        """Cases of raw tasks that are tried in order until ``most`` of them succeed, and of all that people wrote."""
        observer, oracle = Observer(view), Oracle(view)
        solved: dict[tuple[str, ...], list[SolvedTask]] = {}
        seen: list[ObservedTask] = []
        waiting, limit = iter(ordered), SPARE * most
        batch: list[RawQuestion] = [*people]
        tried = 0
        while True:
            now: list[ObservedTask] = []
            for raw in batch:
                observed = observer.of_raw(raw)
                if observed.pose is None:
                    yield _refused(raw, next(r for r in observed.rules if not r.holds))
                else:
                    now.append(ObservedTask(raw, observed.pose, observed.rules))
            found = yield from _supplemented(view, oracle, sorted(now, key=_tile))
            solved |= found
            seen += now
            succeeded = [one.raw for one in seen if one.raw.written is None and one.raw.key in solved]
            ways = one_way(succeeded)
            own = len(evened([raw for raw in succeeded if raw.key in ways]))
            batch = list(islice(waiting, max(0, min(most - own, limit - tried))))
            tried += len(batch)
            if not batch:
                break
        for place, raw in enumerate(waiting, start=tried + 1):
            yield _refused(raw, rule("more_than_are_tried", place, "<=", tried, "raw tasks"))
        yield from _asked_cases(view, sorted((one for one in seen if one.raw.key in solved), key=_tile), solved)


def _supplemented(
    view: CityView, oracle: Oracle, seen: Sequence[ObservedTask]
) -> Generator[Case, None, dict[tuple[str, ...], list[SolvedTask]]]:
    """Yields what is refused of raw tasks that can be observed, and returns the starts of those that succeed.

    A few at a time: shortest ways to them are kept so long.
    """
    solved: dict[tuple[str, ...], list[SolvedTask]] = {}
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
    return solved


def _asked_cases(
    view: CityView, seen: Sequence[ObservedTask], solved: Mapping[tuple[str, ...], Sequence[SolvedTask]]
) -> Iterator[Case]:
    """Cases of what can be solved from enough starts, even over the answers."""
    ways = one_way([one.raw for one in seen])
    yield from (_refused(one.raw, ASKED_TWICE) for one in seen if one.raw.key not in ways)
    raws = [one.raw for one in seen if one.raw.key in ways]
    kept = evened(raws)
    yield from (_refused(raw, _surplus(raws, kept)) for raw in raws if raw.key not in kept)
    own = {raw.key: raw for raw in offered([raw for raw in raws if raw.key in kept])}
    for one in seen:
        if one.raw.key in own:
            told = replace(one, raw=own[one.raw.key])
            yield from (_case(view, found, told) for found in solved[one.raw.key])


def _is_enough(view: CityView, found: Sequence[SolvedTask]) -> bool:
    sides = {own.start.side for own in found}
    return len(found) >= view.rules.starts_min and len(sides) >= view.rules.sides_min


def _tile(one: ObservedTask) -> tuple[float, float, float, tuple[str, ...]]:
    """Raw tasks of one part of the city follow one another: they share the ways of its grid."""
    x, y, z = (float(v) for v in one.pose[:3])
    return z, y // TILE_M, x // TILE_M, one.raw.key


def _proofs(
    view: CityView, seen: Sequence[ObservedTask], tried: Sequence[list[list[StartChain]]]
) -> list[list[list[list[int]]]]:
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
    one: ObservedTask,
    places: Sequence[Start],
    tried: Sequence[Sequence[StartChain]],
    proofs: Sequence[Sequence[list[int]]],
) -> tuple[list[SolvedTask], list[tuple[str, Case]]]:
    """Up to as many starts as are asked, each with the first chain that leads to the target alone and can be gone.

    Also the cases of those that are refused, with their places.
    """
    raw = one.raw
    mine: list[SolvedTask] = []
    refused: list[tuple[str, Case]] = []
    for m in spread(places):
        if len(mine) >= view.rules.starts_max:
            break
        unproven = []
        for chain, fits in zip(tried[m], proofs[m], strict=True):
            if fits == [raw.target]:
                start = turned(view, raw, places[m], chain.way)
                way = oracle.solve(start, chain, one.pose, raw.pixels_min)
                broken = first_broken(steps_rules(view.rules, way))
                if way is not None and broken is None:
                    mine.append(SolvedTask(raw, start, chain, way))
                    break
                unproven.append(broken or rule("no_way_along_the_chain", 0, ">=", 1, "ways"))
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


def _refused(raw: RawQuestion, why: Measure, *more: str) -> Case:
    return _refused_as(why, *raw.key, *more)


def _refused_as(why: Measure, *operands: str) -> Case:
    case = Case(*operands)
    case.refuse(why.name, why.value, why.limit, why.unit)
    return case


def _surplus(raws: Sequence[RawQuestion], kept: Collection[tuple[str, ...]]) -> Measure:
    return rule("answer_more_frequent", len(raws), "<=", len(kept), "raw tasks")


def _case(view: CityView, found: SolvedTask, one: ObservedTask) -> Case:
    raw, start, chain, solved = one.raw, found.start, found.chain, found.solved
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
    for measure in steps_rules(rules, solved):
        case.measured(measure)
    case.fact("oracle_steps", "until found", solved.found_after, "steps")
    for number, stop in enumerate(solved.stops):
        case.fact("oracle_x", f"{number}", float(stop[0]), "m")
        case.fact("oracle_y", f"{number}", float(stop[1]), "m")
    case.name(NamedThing(chain.text, target.kind, mark="the stated route to it"))
    share = view.coverage.least(target.kind, target.center)
    case.fact("coverage", target.kind, share, "share at least")
    # One more that the map lacks would fit the words too.
    case.flags = [raw.answer_type, *raw.flags, *([] if share >= COVERED else [UNCOVERED])]
    others = {normalised(other): other for other in raw.others}
    # As the choices of others have it: "ubs" among "UBS" would be told by its letters.
    right = others.pop(normalised(raw.answer), raw.answer)
    return case.ask(right, list(others.values()), least=1)
