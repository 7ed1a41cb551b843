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
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.core.tables import QUESTIONS, REJECTIONS, SELECTED, UNCHECKED, unchecked_in
from pipeline.core.templates import load_template
from pipeline.questions.arrays import ANNOTATED, WRITTEN
from pipeline.questions.balance import CLASSES_MAX, TOO_COMMON, UNBALANCED, Balance, Classes, ClassTally, drawn, lot_of
from pipeline.questions.choices import LETTERS, balanced_letters, draw_options, lettered, numeric_choices, order_options
from pipeline.questions.gate import MOST, TOO_FINE
from pipeline.questions.task import Choice, FreeText, Number, Task

if TYPE_CHECKING:
    import pandas as pd


THINNED: Final = "thinned"
OVER_CAP: Final = "over_cap"
SHARES: Final = "shares_objects"
SAME_FACT: Final = "same_fact"  # flag of a candidate ("same_fact: NAME"): others of the name follow from the same fact
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
) -> pa.Table:
    """Questions and rejections of one scene (`SELECTED`), of each task at most as many questions as `caps_of` says.

    Classes of what one would have to guess (`Task.guess_classes`) take turns: the candidates of each are ranked by id
    (a hash), and first ranks go before second ones, those of a class of more weight before others. So the classes are
    as even as the candidates allow, and a new candidate displaces at most one other. Routes
    written by people go before all others. Of candidates that are asked less often than they occur (``share``), a lot
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
    """
    chosen = choose(candidates, tasks, cap, shares, most=most, as_released=as_released, weighed=balance.weights)
    asked = chosen.asked
    classes = zip(asked["task"].tolist(), asked["guess"].tolist(), strict=True)
    limit = [balance.limits.get(task, {}).get(guess, 1.0) for task, guess in classes]
    asked = asked.assign(limit=limit, lot=chosen.lots())
    common = asked["lot"] >= asked["limit"]
    kept = asked[asked["kept"] & ~common].sort_values(["task", "id"])
    questions = _questions(candidates.take(pa.array(kept.index)), tasks, as_released=as_released)
    rejected = [
        candidates.filter(pc.is_valid(candidates["reason"])).select(REJECTIONS.names),
        _refused(candidates, asked[asked["place"] > asked["cap"]], OVER_CAP, ("place", "cap"), "place"),
        _refused(candidates, _beyond(asked, "shared", SHARED_MAX), SHARES, ("shared", "limit"), "objects"),
        _refused(candidates, _beyond(asked, "told", TOLD_MAX), SAME_FACT, ("told", "limit"), "questions"),
        _refused(candidates, asked[common], TOO_COMMON, ("lot", "limit"), "share"),
        _refused(candidates, chosen.thinned, THINNED, ("lot", "share"), "share"),
    ]
    ordered = pa.concat_tables(rejected).sort_by([("task", "ascending"), ("id", "ascending")])
    return pa.concat_tables([questions, ordered], promote_options="default").select(SELECTED.names)


@dataclass(frozen=True)
class Chosen:
    """What is asked of one scene, before the balance over all.

    Attributes:
        asked: all that could be asked, by rows of the candidates; ``kept`` says whether it is, ``guess`` its class.
        thinned: what a lot took out before.
    """

    asked: pd.DataFrame
    thinned: pd.DataFrame

    def _counted(self) -> pd.Series[bool]:
        return ~self.asked["held"] & self.asked["found"]

    def tallies(self, scene: str) -> dict[str, ClassTally]:
        """Candidates of each class, and how many are asked, by task."""
        own = self.asked[self._counted()]
        classes: dict[str, dict[str, int]] = defaultdict(dict)
        counted = Counter(zip(own["task"].tolist(), own["guess"].tolist(), strict=True))
        for (task, guess), n in sorted(counted.items()):
            if len(classes[task]) <= CLASSES_MAX:
                classes[task][guess] = n
        reach = Counter(own["task"][own["kept"]].tolist())
        return {task: ClassTally(scene, found, reach[task]) for task, found in classes.items()}

    def lots(self) -> pd.Series[float]:
        """By rows: the lot of each question's place in its class, by which it may be too frequent."""
        import pandas as pd

        own = self.asked[self._counted() & self.asked["kept"]]
        place = own.groupby(["task", "guess"]).cumcount()
        of = zip(own["scene"].tolist(), own["task"].tolist(), own["guess"].tolist(), place.tolist(), strict=True)
        return pd.Series([lot_of(*identity) for identity in of], own.index, float)


def choose(
    candidates: pa.Table,
    tasks: Mapping[str, Task[Any]],
    cap: int,
    shares: Mapping[str, int] | None = None,
    *,
    most: Mapping[str, int | None] | None = None,
    as_released: bool = False,
    weighed: Classes | None = None,
) -> Chosen:
    """What of one scene's candidates is asked; see `select`."""
    frame = candidates.select(["id", "scene", "task", "answer", "reason", "share"]).to_pandas()
    frame["found"] = ~_written(candidates)
    frame["held"] = unchecked_in(candidates).to_numpy()
    rare = frame[frame["share"] < 1]
    frame["lot"] = 0.0
    frame.loc[rare.index, "lot"] = [rng_for(number, THINNED).random() for number in rare["id"].tolist()]
    thinned = frame[frame["reason"].isna() & (frame["lot"] >= frame["share"])]
    asked = frame[frame["reason"].isna()].drop(index=thinned.index).sort_values(["found", "id"])
    asked["guess"], asked["start"], asked["weight"] = asked["answer"], 0.0, 1.0
    if not as_released:
        _classify(asked, candidates, tasks, weighed or {})
    rank = asked.groupby(["task", "held", "found", "guess"], sort=False).cumcount()
    asked["turn"] = (rank + asked["start"]) / asked["weight"]
    caps = caps_of(tasks, cap, shares or {}, most, times_held(ends_at(candidates)))
    asked["turn"], asked["shared"] = (asked["turn"], 0) if as_released else _spread(asked, candidates, tasks, caps)
    asked = asked.sort_values(["found", "turn", "id"])
    apart = asked["shared"] <= SHARED_MAX
    told = _times_told(asked[apart & ~asked["held"] & (not as_released)], _facts(candidates), caps)
    asked["told"] = told.reindex(asked.index, fill_value=1).astype("int64")
    apart &= asked["told"] <= TOLD_MAX
    asked["place"] = asked[apart].groupby(["task", "held"], sort=False).cumcount() + 1
    asked["cap"] = asked["task"].map(caps).astype("int64")
    asked["kept"] = asked["place"] <= asked["cap"]
    return Chosen(asked, thinned)


def _classify(asked: pd.DataFrame, candidates: pa.Table, tasks: Mapping[str, Task[Any]], weighed: Classes) -> None:
    """Enters of each askable candidate its class (`Task.guess_classes`), and the start and weight of that."""
    guess, of, operands = asked["answer"].to_numpy(object), asked["task"].to_numpy(str), candidates["operands"]
    rows = asked.index.to_numpy()
    for name in np.unique(of):
        own = of == name
        lists = operands.take(pa.array(rows[own])).combine_chunks()
        guess[own] = tasks[name].guess_classes(lists, guess[own])
    classes = list(zip(of.tolist(), guess.tolist(), strict=True))
    start = {key: drawn(str(candidates["scene"][0]), *key) for key in set(classes)}
    asked["guess"] = guess
    asked["start"] = [start[key] for key in classes]
    asked["weight"] = [weighed.get(task, {}).get(name, 1.0) for task, name in classes]


def _beyond(asked: pd.DataFrame, column: str, limit: int) -> pd.DataFrame:
    """The candidates of which a number is beyond its limit, with the limit."""
    return asked[asked[column] > limit].assign(limit=limit)


TOLD_MAX: Final = 1  # questions that follow from one fact


def _facts(candidates: pa.Table) -> pd.Series[str]:
    """The facts that candidates follow from (`SAME_FACT`), by their rows, of which one may follow from several."""
    import pandas as pd

    flags = candidates["flags"].combine_chunks()
    rows, values = pc.list_parent_indices(flags), pc.list_flatten(flags)
    told = pc.starts_with(values, f"{SAME_FACT}: ")
    at = rows.filter(told).to_numpy(zero_copy_only=False)
    return pd.Series(values.filter(told).to_numpy(zero_copy_only=False), index=at, dtype=object)


def _times_told(asked: pd.DataFrame, facts: pd.Series[str], caps: Mapping[str, int]) -> pd.Series[int]:
    """How many candidates that go before follow from a fact of each, and itself; 1 where none of them is asked.

    Those that their task has room for go before others, and of these those of tasks with the fewest candidates.
    """
    import pandas as pd

    rows = asked.assign(
        over=asked.groupby("task", sort=False).cumcount() >= asked["task"].map(caps).astype("int64"),
        many=asked.groupby("task")["id"].transform("size"),
        whole=np.floor(asked["turn"]),  # where a class starts within its turn is a lot, and says nothing of facts
    )
    rows = rows[rows.index.isin(facts.index)]
    of: dict[int, list[str]] = {}
    for row, fact in zip(facts.index.tolist(), facts.tolist(), strict=True):
        of.setdefault(row, []).append(fact)
    told: dict[int, int] = {}
    before, taken = Counter[str](), set[str]()
    for row in rows.sort_values(["found", "over", "whole", "many", "turn", "id"]).index.tolist():
        told[row] = 1 + max((before[fact] for fact in of[row] if fact in taken), default=0)
        before.update(of[row])
        if told[row] <= TOLD_MAX:
            taken.update(of[row])
    return pd.Series(told, dtype="int64")


def _spread(
    asked: pd.DataFrame, candidates: pa.Table, tasks: Mapping[str, Task[Any]], caps: Mapping[str, int]
) -> tuple[pd.Series[int], pd.Series[int]]:
    """Turn, and most things shared with one question that is asked, of each askable candidate.

    Of the candidates of a leak group, those that are chosen have the first turns, the others the last one.
    """
    import pandas as pd  # takes half a second, which a build that finds nothing to do need not spend

    turn, shared = asked["turn"].copy(), pd.Series(0, index=asked.index)
    leak_groups = asked["task"].map({name: task.leak_group for name, task in tasks.items()})
    for _, members in asked[leak_groups.notna() & ~asked["held"]].groupby(leak_groups):
        rows = members.sort_values("id")
        named = candidates["operands"].combine_chunks().take(pa.array(rows.index)).flatten().dictionary_encode()
        things = named.indices.to_numpy().astype(np.intp).reshape(len(rows), -1)
        task, names = pd.factorize(rows["task"], sort=True)
        _, first, which = np.unique(
            (rows["task"] + "\0" + rows["guess"]).to_numpy(str), return_index=True, return_inverse=True
        )
        offered = SpreadInput(task, which, things, *rows.iloc[first][["start", "weight"]].to_numpy(float).T)
        found = spread(offered, [caps[name] for name in names])
        turn[rows.index] = len(rows)
        turn[rows.index[found.chosen]] = range(len(found.chosen))
        shared[rows.index] = found.shared
    return turn, shared


def _written(candidates: pa.Table) -> np.ndarray:
    """Which candidates (n,) people wrote."""
    flags = candidates["flags"].combine_chunks()
    rows = pc.list_parent_indices(flags).filter(pc.equal(pc.list_flatten(flags), WRITTEN))
    written = np.zeros(len(flags), dtype=bool)
    written[rows.to_numpy(zero_copy_only=False)] = True
    return written


def _refused(candidates: pa.Table, rows: pd.DataFrame, reason: str, columns: tuple[str, str], unit: str) -> pa.Table:
    """Askable candidates that are not asked, with the columns that hold what was measured and its limit."""
    refused = candidates.take(pa.array(rows.index)).select(REJECTIONS.names)
    n = len(rows)
    measured, limit = (pa.array(rows[column].to_numpy(float), pa.float64()) for column in columns)
    for name, values in (
        ("reason", pa.repeat(reason, n)),
        ("measured", measured),
        ("limit", limit),
        ("unit", pa.repeat(unit, n)),
    ):
        refused = refused.set_column(REJECTIONS.get_field_index(name), REJECTIONS.field(name), values)
    return refused


def _questions(kept: pa.Table, tasks: Mapping[str, Task[Any]], *, as_released: bool) -> pa.Table:
    """Options, letters and text for the kept candidates of one scene, given in order of task and id."""
    rows = []
    by_task: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for row in kept.to_pylist():
        by_task.setdefault((row["task"], UNCHECKED in (row["flags"] or ())), []).append(row)
    for (name, _), group in by_task.items():
        task = tasks[name]
        offered = [_offer(row, task) for row in group]
        positions = balanced_letters(str(group[0]["scene"]), name, list(map(len, offered)))
        for row, options, position in zip(group, offered, positions, strict=True):
            rows.append(_question(row, task, options, position, as_released=as_released))
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def _offer(row: dict[str, Any], task: Task[Any]) -> tuple[str, ...]:
    """The options of one question, in no order yet."""
    if isinstance(task.form, Number):
        told = {fact["name"]: fact["value"] for fact in row["evidence"] or () if fact["name"] in (TOO_FINE, MOST)}
        return numeric_choices(row["id"], row["answer"], task.form, told.get(TOO_FINE), told.get(MOST, math.inf))
    own = row["wrong"] is not None
    labels = (row["answer"], *row["wrong"]) if own else task.labels(tuple(row["operands"]), row["answer"])
    return draw_options(row["id"], row["answer"], labels, task.form.most, _other_answers(row))


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
        text = template.render(fields, mended=not as_released, annotated=annotated)
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
class Spread:
    """The selection of n candidates, and why others are not asked.

    Attributes:
        chosen: rows, in the order in which they were chosen.
        shared: (n,) most things that one question chosen for good names as well; 0 for the chosen.
    """

    chosen: IntArray
    shared: IntArray


def spread(offered: SpreadInput, caps: Sequence[int]) -> Spread:
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
    return Spread(np.array(chosen, dtype=np.intp), shared)


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
        burdens = (self._guessed, self._again, self._paired, self._used)
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

    def _again(self, rows: IntArray) -> IntArray:
        return np.asarray((self._named[self._offered.things[rows]] > 0).sum(1))

    def _guessed(self, rows: IntArray) -> FloatArray:
        guess = self._offered.guess[rows]
        return np.asarray((self._right[guess] + self._offered.start[guess]) / self._offered.weight[guess])

    def _paired(self, rows: IntArray) -> IntArray:
        things = self._offered.things[rows]
        return np.asarray(self._together[things[:, self._one], things[:, self._other]].sum(1))

    def _used(self, rows: IntArray) -> IntArray:
        return np.asarray(self._named[self._offered.things[rows]].sum(1))
