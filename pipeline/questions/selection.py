"""Selects questions from candidates: a cap per scene and task, balanced answers, letters and wording.

`spread` selects, within a leak group, questions that name different things, since one answer can give away another:
who stands by the door and faces the bed, with the tv to the left, needs no video to know on which side the bed is for
one who faces the tv. So no two questions of one leak group share three of the things that they name.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.groups import grouped
from pipeline.core.identity import rng_for
from pipeline.core.tables import QUESTIONS, REJECTIONS, SELECTED, UNCHECKED, unchecked_in
from pipeline.core.templates import load_template
from pipeline.questions.arrays import ANNOTATED, WRITTEN
from pipeline.questions.balance import CLASSES_MAX, TOO_COMMON, UNBALANCED, Balance, ClassTally, drawn, lot_of
from pipeline.questions.choices import (
    LETTERS,
    balanced_letters,
    draw_options,
    draw_orders,
    lettered,
    numeric_choices,
    order_options,
)
from pipeline.questions.gate import MOST, TOO_FINE
from pipeline.questions.task import Choice, FreeText, Number, OrderChoice, Task

THINNED: Final = "thinned"
OVER_CAP: Final = "over_cap"
SHARES: Final = "shares_objects"
SAME_FACT: Final = "same_fact"  # flag of a candidate ("same_fact: NAME"): others of the name follow from the same fact
WORDING: Final = "wording"  # flag of a question ("wording: 1"): which wording of its template it has, 0 the first
NOT_OFFERED: Final = "answer_not_offered"


CAP_S: Final = 60.0  # of a video that caps are for: one that lasts longer holds more facts, and has more in proportion
TIMES_MAX: Final = 10.0


def times_held(seconds: float) -> float:
    """How many times as many questions, and times at which they stand, a video of some seconds has as a short one."""
    return min(max(seconds / CAP_S, 1.0), TIMES_MAX)


def caps_of(
    tasks: Iterable[str],
    cap: int,
    shares: Mapping[str, int],
    most: Mapping[str, int | None] | None = None,
    times: float = 1.0,
) -> dict[str, int]:
    """Most questions of one scene per task: ``cap`` of the commonest, of others by their share, rounded up.

    Args:
        tasks: their names.
        cap: most of any.
        shares: of every task how many questions there shall be for so many of others; empty: of all alike.
        most: task -> most of it, whatever the others say; None: these decide.
        times: see `times_held`.
    """
    whole, own = max(shares.values(), default=1), most or {}
    wanted = {task: cap * (shares[task] if shares else 1) for task in tasks}  # times ``whole``
    caps = {task: max(1, -(-n // whole), round(n * times / whole)) for task, n in wanted.items()}
    return {task: cap if (limit := own.get(task)) is None else limit for task, cap in caps.items()}


def ends_at(candidates: pa.Table) -> float:
    """Second of the video at which the last of some candidates ends; 0 where none says."""
    return float(pc.max(candidates["until_s"]).as_py() or 0.0)


def select(
    candidates: pa.Table,
    tasks: Mapping[str, Task[Any]],
    cap: int,
    shares: Mapping[str, int] | None = None,
    *,
    most: Mapping[str, int | None] | None = None,
    as_released: bool = False,
    balance: Balance = UNBALANCED,
    chosen: SceneSelection | None = None,
) -> pa.Table:
    """Questions and rejections of one scene (`SELECTED`), of each task at most as many questions as `caps_of` says.

    Classes of what one would have to guess (`Task.guess_classes`) take turns: the candidates of each are ranked by id
    (a hash), and first ranks go before second ones, those of a class with few candidates before others. So the classes
    are as even as the candidates allow, and a new candidate displaces few others. Routes written by people go before
    all others. Of candidates that are asked less often than they occur (``share``), a lot
    drawn by the id takes the others out before. Candidates of tasks with a leak group are spread over what they name
    as well (`spread`), where one new candidate may displace several. Of what is left, a lot takes out what is more
    frequent over all scenes (`Balance.limits`).

    Questions that no second model has confirmed (`UNCHECKED`) are held back from the release: they have the same caps
    and letters of their own, and take no place of another.

    Args:
        candidates: of all tasks (`tables.CANDIDATES`).
        tasks: by name.
        cap: most questions of a task.
        shares: see `caps_of`.
        most: see `caps_of`.
        as_released: repeats a released benchmark: its wording, answers that take turns, and no spreading.
        balance: of all scenes, the part of this one.
        chosen: what `choose` gives for the same, where it is known.
    """
    chosen = chosen or choose(candidates, tasks, cap, shares, most=most, as_released=as_released)
    asked = dict(chosen.asked)
    classes = zip(asked["task"].tolist(), asked["guess"].tolist(), strict=True)
    asked |= {"allowed": np.array([balance.limits.get(task, {}).get(guess, 1.0) for task, guess in classes], float)}
    asked |= {"lot": chosen.lots(str(candidates["scene"][0]) if len(candidates) else "")}
    common = asked["lot"] >= asked["allowed"]
    kept = _ordered(_rows_of(asked, asked["kept"] & ~common), "task", "id")
    questions = _questions(candidates.take(pa.array(kept["row"])), tasks, balance.usual, as_released=as_released)
    asked |= {"told_max": np.full(len(common), TOLD_MAX), "shared_max": np.full(len(common), SHARED_MAX)}
    beyond = {
        (OVER_CAP, "place"): (asked, asked["place"] > asked["cap"], "place", "cap"),
        (SHARES, "objects"): (asked, asked["shared"] > SHARED_MAX, "shared", "shared_max"),
        (SAME_FACT, "questions"): (asked, asked["told"] > TOLD_MAX, "told", "told_max"),
        (TOO_COMMON, "share"): (asked, common, "lot", "allowed"),
        (THINNED, "share"): (chosen.thinned, np.ones(len(chosen.thinned["row"]), bool), "lot", "share"),
    }
    rejected = pa.concat_tables(
        [candidates.select(REJECTIONS.names).filter(pc.is_valid(candidates["reason"])), _refused(candidates, beyond)]
    )
    ordered = rejected.sort_by([("task", "ascending"), ("id", "ascending")])
    return pa.concat_tables([questions, ordered], promote_options="default").select(SELECTED.names)


Columns = dict[str, np.ndarray]  # of some candidates; ``row`` is where they stand among all


def _rows_of(columns: Columns, rows: np.ndarray) -> Columns:
    """Some of the candidates, by a mask or by their places."""
    return {name: values[rows] for name, values in columns.items()}


def _ordered(columns: Columns, *keys: str) -> Columns:
    return _rows_of(columns, np.lexsort([columns[key] for key in reversed(keys)]))


def _places(*keys: np.ndarray) -> IntArray:
    """The place of each row (n,) among those that have the same keys, from 0."""
    order = np.lexsort(keys)
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    starts = np.flatnonzero(first)
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return places


def _codes(texts: np.ndarray) -> IntArray:
    """A number (n,) for each different text."""
    return np.asarray(pa.array(texts, pa.string()).dictionary_encode().indices.to_numpy(), dtype=np.intp)


_ASKED: Final = ["row", "guess", "held", "found", "kept", "place", "cap", "shared", "told"]
_THINNED: Final = ["row", "lot", "share"]


@dataclass(frozen=True)
class SceneSelection:
    """What is asked of one scene, before the balance over all.

    Attributes:
        asked: all that could be asked, in the order in which it goes; ``kept`` says whether it is, ``guess`` its class.
        thinned: what a lot took out before.
    """

    asked: Columns
    thinned: Columns

    def table(self) -> pa.Table:
        """What `of` makes the same from: of a row that a lot took out lot and share, of each other all else."""
        asked, thinned = pa.table({name: self.asked[name] for name in _ASKED}), pa.table(self.thinned)
        return pa.concat_tables([asked, thinned.select(_THINNED)], promote_options="default")

    @classmethod
    def of(cls, table: pa.Table, candidates: pa.Table) -> SceneSelection:
        """What is chosen, but for what `tallies` alone looks at, from a `table` and the candidates of the scene."""
        is_thinned = pc.is_valid(table["share"])
        asked, thinned = (
            {name: part[name].to_numpy() for name in names}
            for names, part in ((_ASKED, table.filter(pc.invert(is_thinned))), (_THINNED, table.filter(is_thinned)))
        )
        own = candidates.select(["id", "task"]).take(pa.array(asked["row"]))
        return cls(asked | {name: own[name].to_numpy() for name in own.column_names}, thinned)

    def _counted(self) -> BoolArray:
        return np.asarray(~self.asked["held"] & self.asked["found"])

    def tallies(self, scene: str) -> dict[str, ClassTally]:
        """Questions of each class that are asked, by task."""
        own = _rows_of(self.asked, self._counted() & self.asked["balanced"] & (self.asked["kept"] | self.asked["once"]))
        once, by_name = (set(own["task"][own[kind]].tolist()) for kind in ("once", "by_name"))
        classes: dict[str, dict[str, int]] = defaultdict(dict)
        counted = Counter(zip(own["task"].tolist(), own["guess"].tolist(), strict=True))
        for (task, guess), n in sorted(counted.items()):
            if task in once | by_name or len(classes[task]) <= CLASSES_MAX:
                classes[task][guess] = n
        numbers: dict[str, dict[str, dict[str, int]]] = {}
        rows = zip(own["task"].tolist(), own["kinds"].tolist(), own["answer"].tolist(), strict=True)
        kinds = Counter((task, kind, answer) for task, each, answer in rows for kind in each or ())
        for (task, kind, answer), n in sorted(kinds.items()):
            numbers.setdefault(task, {}).setdefault(kind, {})[answer] = n
        return {
            task: ClassTally(scene, found, task in once, task in by_name, numbers.get(task, {}))
            for task, found in classes.items()
        }

    def lots(self, scene: str) -> FloatArray:
        """The lot (n,) of each question's place in its class, by which it may be too frequent; NaN: it has none."""
        rows = np.flatnonzero(self._counted() & self.asked["kept"])
        lots, own = np.full(len(self.asked["row"]), np.nan), _rows_of(self.asked, rows)
        place = _places(_codes(own["task"]), _codes(own["guess"]))
        of = zip(own["task"].tolist(), own["guess"].tolist(), place.tolist(), strict=True)
        lots[rows] = [lot_of(scene, *identity) for identity in of]
        return lots


CHOSEN_BY: Final = ["id", "scene", "task", "operands", "answer", "until_s", "flags", "share", "reason"]  # `choose`


def choose(
    candidates: pa.Table,
    tasks: Mapping[str, Task[Any]],
    cap: int,
    shares: Mapping[str, int] | None = None,
    *,
    most: Mapping[str, int | None] | None = None,
    as_released: bool = False,
) -> SceneSelection:
    """What of one scene's candidates is asked; see `select`."""
    able = np.flatnonzero(candidates["reason"].is_null().to_numpy())
    own = candidates.select(["id", "task", "answer", "share"]).take(pa.array(able))
    columns: Columns = {"row": able} | {name: own[name].to_numpy() for name in own.column_names}
    columns["share"] = columns["share"].astype(float)
    columns |= {"found": ~_written(candidates)[able], "held": unchecked_in(candidates).to_numpy()[able]}
    rare = np.flatnonzero(columns["share"] < 1)
    columns["lot"] = np.zeros(len(able))
    columns["lot"][rare] = [rng_for(number, THINNED).random() for number in columns["id"][rare].tolist()]
    is_thinned = columns["lot"] >= columns["share"]
    asked = _ordered(_rows_of(columns, ~is_thinned), "found", "id")
    asked |= _classified(asked, candidates, tasks, as_released=as_released)
    rank = _places(asked["class"], asked["held"], asked["found"])
    asked |= {"turn": (rank + asked["start"]) / asked["weight"], "shared": np.zeros(len(rank), dtype=np.intp)}
    caps = caps_of(tasks, cap, shares or {}, most, times_held(ends_at(candidates)))
    coded = pa.array(asked["task"], pa.string()).dictionary_encode()
    names, which = coded.dictionary.to_pylist(), coded.indices.to_numpy()
    for name in ("balanced", "once", "by_name"):
        asked[name] = np.array([getattr(tasks[task], name) for task in names], dtype=bool)[which]
    if not as_released:
        _spread(asked, candidates, tasks, caps)
    asked["cap"] = np.array([caps[task] for task in names], dtype=np.intp)[which]
    asked = _ordered(asked, "found", "turn", "id")
    apart = asked["shared"] <= SHARED_MAX
    asked["told"] = np.ones(len(apart), dtype=np.intp)
    if not as_released:
        _count_implied(asked, np.flatnonzero(apart & ~asked["held"]), _facts(candidates))
    placed = np.flatnonzero(apart & (asked["told"] <= TOLD_MAX))
    asked["place"] = np.full(len(apart), np.nan)
    asked["place"][placed] = 1 + _places(_codes(asked["task"][placed]), asked["held"][placed])
    asked["kept"] = asked["place"] <= asked["cap"]
    return SceneSelection(asked, _rows_of(columns, is_thinned))


def _classified(asked: Columns, candidates: pa.Table, tasks: Mapping[str, Task[Any]], *, as_released: bool) -> Columns:
    """Of each askable candidate its class (`Task.guess_classes`), and the start and weight of that.

    A class of which a scene has few candidates is rare elsewhere too, so it has more weight. As released the class is
    the answer, and all start and weigh alike.
    """
    guess, of, operands = asked["answer"].copy(), asked["task"], candidates["operands"]
    kinds = np.full(len(guess), None, dtype=object)
    names = sorted(set(of.tolist()))
    number = np.searchsorted(np.array(names, dtype=str), of.astype(str)) if names else np.empty(0, dtype=np.intp)
    for task, name in enumerate(() if as_released else names):
        own = number == task
        lists = operands.take(pa.array(asked["row"][own])).combine_chunks()
        guess[own] = tasks[name].guess_classes(lists, guess[own])
        for row, about in zip(np.flatnonzero(own).tolist(), lists.to_pylist(), strict=True):
            kinds[row] = _kinds(tasks[name], about)
    of_guess = _codes(guess)
    _, first, which = np.unique(
        number * (of_guess.max(initial=0) + 1) + of_guess, return_index=True, return_inverse=True
    )
    start, weight = np.zeros(len(first)), np.ones(len(first))
    if len(first) and not as_released:
        scene = str(candidates["scene"][0])
        start[:] = [drawn(scene, *key) for key in zip(of[first].tolist(), guess[first].tolist(), strict=True)]
        count, most = np.bincount(which), np.zeros(len(names))
        np.maximum.at(most, number[first], count)
        weight[:] = np.sqrt(most[number[first]] / count)
    return {"guess": guess, "kinds": kinds, "class": which, "start": start[which], "weight": weight[which]}


def _kinds(task: Task[Any], operands: Sequence[str]) -> tuple[str, ...]:
    """Of a question of which a build measures what is usual (`Number.by_kind`), the narrowest first; none of others."""
    if not (isinstance(task.form, Number) and task.form.by_kind):
        return ()
    kind, _, *about = operands
    return (" ".join((kind, *about)), kind) if about else (kind,)


Usual = Mapping[str, Sequence[float]]  # kind -> `balance.Balance.usual`
TOLD_MAX: Final = 1  # questions that follow from one fact


def _facts(candidates: pa.Table) -> dict[int, list[str]]:
    """The facts that candidates follow from (`SAME_FACT`), by their rows, of which one may follow from several."""
    flags = candidates["flags"].combine_chunks()
    rows, values = pc.list_parent_indices(flags), pc.list_flatten(flags)
    is_same_fact = pc.starts_with(values, f"{SAME_FACT}: ")
    of: dict[int, list[str]] = {}
    for row, fact in zip(rows.filter(is_same_fact).to_pylist(), values.filter(is_same_fact).to_pylist(), strict=True):
        of.setdefault(row, []).append(fact)
    return of


def _count_implied(asked: Columns, where: IntArray, facts: Mapping[int, list[str]]) -> None:
    """Enters how many candidates that go before follow from a fact of each, and itself; 1 where none of them is asked.

    Those that their task has room for go before others; of these those of tasks with the lowest cap, which have the
    fewest to choose from, so that others do not choose for them; and of these of tasks with the fewest candidates.
    """
    if not facts:
        return
    rows, task = _rows_of(asked, where), _codes(asked["task"][where])
    rows["at"], rows["over"] = where, _places(task) >= rows["cap"]
    rows["many"] = np.bincount(task)[task]
    rows["whole"] = np.floor(rows["turn"])  # where a class starts within its turn is a lot, and says nothing of facts
    rows = _rows_of(rows, np.array([row in facts for row in rows["row"].tolist()], dtype=bool))
    before, taken = Counter[str](), set[str]()
    rows = _ordered(rows, "found", "over", "whole", "cap", "many", "turn", "id")
    for at, row in zip(rows["at"].tolist(), rows["row"].tolist(), strict=True):
        implied = 1 + max((before[fact] for fact in facts[row] if fact in taken), default=0)
        before.update(facts[row])
        if implied <= TOLD_MAX:
            taken.update(facts[row])
        asked["told"][at] = implied


def _spread(asked: Columns, candidates: pa.Table, tasks: Mapping[str, Task[Any]], caps: Mapping[str, int]) -> None:
    """Enters turn, and most things shared with one question that is asked, of candidates of tasks with a leak group.

    Of the candidates of a leak group, those that are chosen have the first turns, the others the last one.
    """
    leak_groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(asked["task"].tolist())):
        if (group := tasks[name].leak_group) is not None:
            leak_groups[group].append(name)
    for _, names in sorted(leak_groups.items()):
        task = np.searchsorted(np.array(names), asked["task"].astype(str))  # of others any number
        rows = np.flatnonzero(np.isin(asked["task"], names) & ~asked["held"])
        rows = rows[np.argsort(asked["id"][rows], kind="stable")]
        named = candidates["operands"].combine_chunks().take(pa.array(asked["row"][rows]))
        things = named.flatten().dictionary_encode().indices.to_numpy().astype(np.intp).reshape(len(rows), -1)
        _, first, which = np.unique(asked["class"][rows], return_index=True, return_inverse=True)
        start, weight = asked["start"][rows[first]], asked["weight"][rows[first]]
        found = spread(SpreadInput(task[rows], which, things, start, weight), [caps[name] for name in names])
        asked["turn"][rows] = len(rows)
        asked["turn"][rows[found.chosen]] = range(len(found.chosen))
        asked["shared"][rows] = found.shared


def _written(candidates: pa.Table) -> np.ndarray:
    """Which candidates (n,) people wrote."""
    flags = candidates["flags"].combine_chunks()
    rows = pc.list_parent_indices(flags).filter(pc.equal(pc.list_flatten(flags), WRITTEN))
    written = np.zeros(len(flags), dtype=bool)
    written[rows.to_numpy(zero_copy_only=False)] = True
    return written


def _refused(candidates: pa.Table, beyond: Mapping[tuple[str, str], tuple[Columns, np.ndarray, str, str]]) -> pa.Table:
    """Askable candidates that are not asked.

    Args:
        candidates: all.
        beyond: reason and unit -> columns, which of their rows, and the columns with what was measured and its limit.
    """
    parts = [
        (key, _rows_of({"row": of["row"], "at": of[at], "limit": of[limit]}, rows))
        for key, (of, rows, at, limit) in beyond.items()
    ]
    columns = {name: np.concatenate([part[name] for _, part in parts]) for name in ("row", "at", "limit")}
    refused = candidates.select(REJECTIONS.names).take(pa.array(columns["row"]))
    own = {
        "reason": pa.concat_arrays([pa.repeat(reason, len(part["row"])) for (reason, _), part in parts]),
        "measured": pa.array(columns["at"].astype(float)),
        "limit": pa.array(columns["limit"].astype(float)),
        "unit": pa.concat_arrays([pa.repeat(unit, len(part["row"])) for (_, unit), part in parts]),
    }
    for name, values in own.items():
        refused = refused.set_column(REJECTIONS.get_field_index(name), REJECTIONS.field(name), values)
    return refused


def _questions(
    kept: pa.Table, tasks: Mapping[str, Task[Any]], usual: Mapping[str, Usual], *, as_released: bool
) -> pa.Table:
    """Options, letters and text for the kept candidates of one scene, given in order of task and id."""
    rows = []
    by_task = grouped(kept.to_pylist(), lambda row: (row["task"], UNCHECKED in (row["flags"] or ())))
    for (name, _), group in by_task.items():
        task = tasks[name]
        offered = [_offer(row, task, usual.get(name, {}), as_released=as_released) for row in group]
        positions = balanced_letters(str(group[0]["scene"]), name, list(map(len, offered)))
        for row, options, position in zip(group, offered, positions, strict=True):
            rows.append(_question(row, task, options, position, as_released=as_released))
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def _offer(row: dict[str, Any], task: Task[Any], usual: Usual, *, as_released: bool) -> tuple[str, ...]:
    """The options of one question, in no order yet."""
    if isinstance(task.form, Number):
        if row["wrong"]:
            return tuple(sorted((row["answer"], *row["wrong"]), key=float))
        measured = (usual[kind] for kind in _kinds(task, row["operands"]) if kind in usual)
        known = next(measured, None) or task.form.quantiles_of(row["operands"])
        held = {fact["name"]: fact["value"] for fact in row["evidence"] or () if fact["name"] in (TOO_FINE, MOST)}
        return numeric_choices(row["id"], row["answer"], task.form, held.get(TOO_FINE), held.get(MOST, math.inf), known)
    own = row["wrong"] is not None
    labels = (row["answer"], *row["wrong"]) if own else task.labels(tuple(row["operands"]), row["answer"])
    draw = draw_orders if isinstance(task.form, OrderChoice) and not as_released else draw_options
    return draw(row["id"], row["answer"], labels, task.form.most, _other_answers(row))


def _other_answers(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What the answer is in frame budgets where it is another one, in their order."""
    answers = (own["answer"] for own in row["budgets"] or ())
    return tuple(dict.fromkeys(answer for answer in answers if answer not in {None, row["answer"]}))


def _in_budgets(row: Mapping[str, Any], offered: Sequence[str], most: int) -> dict[str, Any]:
    """What becomes of a question with options in each frame budget: refused where the answer is no option."""
    found = [
        own
        if own["answer"] is None or own["answer"] in offered
        else {**own, "answer": None, "evidence": None, "reason": NOT_OFFERED}
        | {"measured": 1.0 + len(_other_answers(row)), "limit": float(most), "unit": "answers"}
        for own in row["budgets"] or ()
    ]
    asked = [own["budget"] for own in found if own["answer"] is not None]
    return {"budgets": found, "visible_in": asked} if row["budgets"] is not None else {}


def _guessed(label: str, task: Task[Any]) -> str:
    """The part of an answer in words of one's own that is guessed."""
    return task.form.guessed(label) if isinstance(task.form, FreeText) else label


def _question(
    row: dict[str, Any], task: Task[Any], offered: tuple[str, ...], position: int, *, as_released: bool
) -> dict[str, Any]:
    template = load_template(task.template)
    operands = tuple(row["operands"])
    ordered = order_options(row["id"], row["answer"], offered, position)
    letter, offers = LETTERS[position], isinstance(task.form, Choice)
    text = row["wording"]  # its operands need not be the template's
    if text is None:
        annotated = ANNOTATED in (row["flags"] or ())
        fields = task.fields(operands, ordered if offers else None)
        worded, number = template.drawn(row["id"])
        text = worded.render(fields, mended=not as_released, annotated=annotated)
        row["flags"] = [*(row["flags"] or ()), f"{WORDING}: {number}"] if template.wordings else row["flags"]
    held = _in_budgets(row, offered, task.form.most) if isinstance(task.form, Choice) else {}
    common = {
        k: row[k]
        for k in (
            "id",
            "scene",
            "task",
            "group",
            "named",
            "answer",
            "from_s",
            "until_s",
            "visible_in",
            "budgets",
            "evidence",
            "proof",
            "flags",
        )
    }
    return (
        common
        | held
        | {
            "task_version": task.version,
            "template": template.id,
            "template_version": template.version,
            "operands": operands,
            "text": text,
            "options": lettered(ordered) if offers else None,
            "ground_truth": letter if offers else row["answer"],
            "choices": None if offers else lettered([_guessed(label, task) for label in ordered]),
            "choice": None if offers else letter,
        }
    )


SHARED_MAX: Final = 2  # things that two questions of a leak group may both name


@dataclass(frozen=True)
class SpreadInput:
    """The n askable candidates of one leak group of tasks, in order of their ids.

    Attributes:
        task: (n,) number of the task.
        guess: (n,) number of the class of what one would have to guess, of its task (`Task.guess_classes`).
        things: (n, k) number of each thing that the candidate names.
        start: (G,) in [0, 1), of each class: of classes that were right equally often the lowest goes first.
        weight: (G,) how many times as often as others each class shall be right.
    """

    task: IntArray
    guess: IntArray
    things: IntArray
    start: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class SpreadSelection:
    """The selection of n candidates, and why others are not asked.

    Attributes:
        chosen: rows, in the order in which they were chosen.
        shared: (n,) most things that one question chosen for good names as well; 0 for the chosen.
    """

    chosen: IntArray
    shared: IntArray


def spread(offered: SpreadInput, caps: Sequence[int]) -> SpreadSelection:
    """Chooses at most ``caps[t]`` candidates of task t, one after the other.

    The task with the fewest chosen goes first, of equals that with the fewest candidates left. Of its candidates that
    share at most `SHARED_MAX` things with each question chosen before, the first by these is taken: what one would
    have to guess was right least often in this task, by start and weight; it names the fewest things that were named
    before, so that everything is asked about before anything twice; its pairs of things were named together least
    often; its things were named least often; its id is the lowest.
    """
    state = _State(offered)
    free, shared = np.ones(len(offered.task), dtype=bool), np.zeros(len(offered.task), dtype=np.intp)
    tasks = np.unique(offered.task)
    asked = dict.fromkeys(tasks.tolist(), 0)
    chosen: list[int] = []
    while rows := {t: found for t in asked if asked[t] < caps[t] and len(found := _rows(free, offered.task, t))}:
        task = min(rows, key=lambda t: (asked[t], len(rows[t]), t))
        best = state.best(rows[task])
        state.ask(best)
        chosen.append(best)
        asked[task] += 1
        shared = np.maximum(shared, np.isin(offered.things, offered.things[best]).sum(1))
        free = shared <= SHARED_MAX
        free[chosen] = False
    shared[chosen] = 0
    return SpreadSelection(np.array(chosen, dtype=np.intp), shared)


def _rows(free: BoolArray, of: IntArray, task: int) -> IntArray:
    return np.flatnonzero(free & (of == task))


class _State:
    """How often things, pairs of them and answers were asked for."""

    def __init__(self, offered: SpreadInput) -> None:
        self._offered = offered
        things = int(offered.things.max(initial=-1)) + 1
        self._named = np.zeros(things, dtype=np.intp)
        self._together = np.zeros((things, things), dtype=np.intp)
        self._right = np.zeros(len(offered.start), np.intp)
        pairs = list(combinations(range(offered.things.shape[1]), 2))
        self._one, self._other = (np.array(column, dtype=np.intp) for column in zip(*pairs, strict=True))

    def best(self, rows: IntArray) -> int:
        """The first of some rows by the order that `spread` tells."""
        burdens = (self._guessed, self._named_before, self._paired, self._used)
        for burden in burdens:
            value = burden(rows)
            rows = rows[value == value.min()]
        return int(rows[0])

    def ask(self, row: int) -> None:
        """Counts a row as asked."""
        things = self._offered.things[row]
        self._named[things] += 1
        self._together[things[self._one], things[self._other]] += 1
        self._together[things[self._other], things[self._one]] += 1
        self._right[self._offered.guess[row]] += 1

    def _named_before(self, rows: IntArray) -> IntArray:
        return np.asarray((self._named[self._offered.things[rows]] > 0).sum(1))

    def _guessed(self, rows: IntArray) -> FloatArray:
        guess = self._offered.guess[rows]
        return np.asarray((self._right[guess] + self._offered.start[guess]) / self._offered.weight[guess])

    def _paired(self, rows: IntArray) -> IntArray:
        things = self._offered.things[rows]
        return np.asarray(self._together[things[:, self._one], things[:, self._other]].sum(1))

    def _used(self, rows: IntArray) -> IntArray:
        return np.asarray(self._named[self._offered.things[rows]].sum(1))
