"""How far questions of random flights, logs, cities and panoramas are answered from their text.

Beside the attackers of the stress test stand rules as somebody writes them after reading the questions: each gives the
options of a question their worth. The best rule of each task, found on all of its questions at once, is flattered: the
best of eighty is above chance by luck. So the last columns show what the best of all (rules, priors, forest) on half of
the flights has right on the other half, with its standard error. A file has one question per line: task, scene, text,
options, ground_truth, and from_s and until_s where the question is about a part of the video.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from rich.table import Table

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.blind.attack import CHANCE, FOREST, attack, standard_error, tasks_of
from pipeline.blind.forest import run_here
from pipeline.blind.items import UNSEEN, BlindItem, item_of, with_company
from pipeline.blind.priors import by_frequency
from pipeline.blind.shortcut_attackers import tied_accuracy
from pipeline.core.arrays import FloatArray
from pipeline.core.identity import digest
from pipeline.core.schema import AnyScene
from pipeline.core.tables import GUESSED, asked_in
from pipeline.engine.code import code_digest
from pipeline.questions.balance import balance_of
from pipeline.questions.selection import choose, select
from tests.benchmarks.cityeqa.cities import small
from tests.benchmarks.embodied4c import logs
from tests.benchmarks.ergeobench.made import selected, street
from tests.benchmarks.urbanvideo.flights import random_flight
from tests.tables import candidates

CAP: Final = 6  # per scene and task, as in flows/builds/urbanvideo.yaml
EXAM_CAP: Final = 24  # as in flows/builds/embodied4c.yaml
CITY_CAP: Final = 260  # as in flows/builds/cityeqa.yaml
# Most time goes into starts, of which text tells nothing: one of each raw task is enough.
CITY_RULES: Final = CityRules(raw_tasks_per_category=4, starts_min=1, starts_max=1, sides_min=1)
ARMS: Final = 64  # by so many the first of the episodes may differ
MOST: Final = 0.08  # above chance; more is marked
Worth = Sequence[float]
Rule = Callable[[BlindItem], Worth]

_CLOCK: Final = re.compile(r"\b(\d+):(\d\d)\b")
_ROUTE: Final = re.compile(r"Navigation route: (.*?)(?:\. (?:At|The|Which|Once)\b|$)")
_STEMS: Final = {
    "flies": "fly",
    "flying": "fly",
    "ascending": "ascend",
    "descending": "descend",
    "turns": "turn",
    "turning": "turn",
    "tilting": "tilt",
    "climb": "ascend",
    "take": "ascend",
    "rotate": "turn",
}


def questions(flights: Iterable[int]) -> list[dict[str, Any]]:
    """The questions of random flights under the caps of a build."""
    return _built(URBANVIDEO, UrbanRules(), CAP, map(random_flight, flights))


def items_of(rows: Iterable[Mapping[str, Any]]) -> list[BlindItem]:
    """As someone without the video sees them."""
    return with_company(item_of(dict.fromkeys(GUESSED) | dict(row)) for row in rows)


def stems(text: str) -> list[str]:
    return [_STEMS.get(word, word) for word in re.findall(r"[\w']+", text.casefold())]


def like(a: str, b: str) -> float:
    one, other = set(stems(a)), set(stems(b))
    return len(one & other) / max(len(one | other), 1)


def route_of(item: BlindItem) -> list[str]:
    found = _ROUTE.search(item.text)
    return found[1].split("; ") if found else []


def says(*words: str) -> Rule:
    """The options that say one of some words."""
    return lambda item: [float(any(re.search(word, o, re.IGNORECASE) for word in words)) for o in item.options]


def votes(item: BlindItem) -> Worth:
    """What most options say at each place."""
    parts = [re.split(r", then | and |, | near | / |(?<=[.*\dSE])(?=[.*\dSE])", o) for o in item.options]
    return [sum(sum(i < len(p) and p[i] == w for p in parts) for i, w in enumerate(mine)) for mine in parts]


def alike(item: BlindItem) -> Worth:
    return [sum(like(a, b) for b in item.options) for a in item.options]


def printed(item: BlindItem) -> Worth:
    """Movements that the printed route has."""
    route = route_of(item) or [item.text]
    return [max(like(option, step) for step in route) for option in item.options]


def route_place(pick: Callable[[int], int]) -> Rule:
    """The step at a place of the route."""

    def worth(item: BlindItem) -> Worth:
        route = route_of(item)
        return [like(option, route[pick(len(route))]) if route else 0.0 for option in item.options]

    return worth


def after_missing(item: BlindItem) -> Worth:
    """What follows in the route on a step that is no option."""
    route = route_of(item)
    total = [0.0] * len(item.options)
    for step, after in pairwise(route):
        if max((like(option, step) for option in item.options), default=0) < 0.5:
            total = [t + (like(option, after) >= 0.5) for t, option in zip(total, item.options, strict=True)]
    return total


def commonest_step(item: BlindItem) -> Worth:
    route = route_of(item)
    return [sum(like(option, step) >= 0.5 for step in route) for option in item.options]


def mirror_offered(item: BlindItem) -> Worth:
    """Options of which left for right, or up for down, is an option too."""
    pairs = (("left", "right"), ("ascend", "descend"), ("up", "down"), ("in front", "behind"), ("closer", "farther"))

    def image(text: str) -> set[str]:
        found = set()
        for a, b in pairs:
            swapped = re.sub(rf"\b{a}|\b{b}", lambda m, a=a, b=b: b if m[0].lower() == a else a, text.casefold())
            found.add(swapped)
        return found - {text.casefold()}

    offered = {option.casefold() for option in item.options}
    return [float(len(image(option) & offered)) for option in item.options]


def part_of_another(item: BlindItem) -> Worth:
    words = [set(stems(option)) for option in item.options]
    return [sum(a < b for b in words) - sum(a > b for b in words) for a in words]


def overlaps_text(item: BlindItem) -> Worth:
    return [like(option, item.text) for option in item.options]


def short_movements(item: BlindItem) -> Worth:
    """Tilting, hovering and turning are short."""
    long = ("fly", "ascend", "descend", "turn", "hover", "tilt")
    asked = stems(item.text)
    kinds = [next((i for i, kind in enumerate(long) if kind in stems(o)[:4]), len(long)) for o in item.options]
    least = min(kinds)
    return (
        [float(kind == least) + 0.1 * ("more" in o) for kind, o in zip(kinds, item.options, strict=True)]
        if asked
        else []
    )


def second_named(item: BlindItem) -> Worth:
    """The movement that is named last in the question."""
    return [item.text.casefold().rfind(option.split(",")[0].casefold()) for option in item.options]


def _grid(option: str) -> tuple[np.ndarray, np.ndarray] | None:
    rows = option.split(" / ")
    if len(rows) < 5:
        return None
    cells = np.array([list(row) for row in rows])
    path = np.argwhere(np.isin(cells, ["*", "S", "E"]))
    marks = np.argwhere(np.char.isdigit(cells))
    return path, marks


def near_marks(item: BlindItem) -> Worth:
    """Maps whose landmarks lie near the path."""
    worth = []
    for option in item.options:
        grid = _grid(option)
        if grid is None or not len(grid[1]):
            worth.append(0.0)
            continue
        path, marks = grid
        away = np.abs(path[:, None] - marks[None]).max(2).min(0)
        worth.append(-float(away.sum()))
    return worth


def filled(item: BlindItem) -> Worth:
    return [float(len(option) - option.count(".")) for option in item.options]


def by_clock(item: BlindItem) -> float | None:
    """The last clock of the text, or else the length of the clip; seconds."""
    found = _CLOCK.findall(item.text)
    return 60 * int(found[-1][0]) + int(found[-1][1]) if found else item.seconds


def rules_of(items: Sequence[BlindItem]) -> dict[str, Rule]:
    """All rules; those by time know the last clock of each scene, or the length of its longest clip."""
    end: dict[str, float] = defaultdict(float)
    for item in items:
        end[item.group] = max(end[item.group], by_clock(item) or 0.0)

    def share(item: BlindItem) -> float | None:
        t = by_clock(item)
        return None if t is None or not end[item.group] else t / end[item.group]

    def interpolated(shift: float) -> Rule:
        def worth(item: BlindItem) -> Worth:
            s, route = share(item), route_of(item)
            if s is None or not route:
                return [0.0] * len(item.options)
            step = route[min(len(route) - 1, max(0, int(s * len(route) + shift)))]
            return [like(option, step) for option in item.options]

        return worth

    def early_no(item: BlindItem) -> Worth:
        s = share(item)
        return [float(("No" in o) == (s is not None and s < 0.5)) + 0.1 * ("middle" in o) for o in item.options]

    found: dict[str, Rule] = {
        "longest": lambda item: [len(o) for o in item.options],
        "shortest": lambda item: [-len(o) for o in item.options],
        "votes": votes,
        "alike": alike,
        "unlike": lambda item: [-w for w in alike(item)],
        "printed": printed,
        "not printed": lambda item: [-w for w in printed(item)],
        "in the text": overlaps_text,
        "not in the text": lambda item: [-w for w in overlaps_text(item)],
        "first step": route_place(lambda n: 0),
        "second step": route_place(lambda n: min(1, n - 1)),
        "middle step": route_place(lambda n: n // 2),
        "last but one step": route_place(lambda n: max(0, n - 2)),
        "last step": route_place(lambda n: n - 1),
        "after the missing step": after_missing,
        "commonest step": commonest_step,
        "mirror offered": mirror_offered,
        "no mirror offered": lambda item: [-w for w in mirror_offered(item)],
        "part of another": part_of_another,
        "whole of another": lambda item: [-w for w in part_of_another(item)],
        "named last": second_named,
        "named first": lambda item: [-w for w in second_named(item)],
        "tilting is short": short_movements,
        "twice": says("more than twice"),
        "not twice": says("less than twice"),
        "landmarks near": near_marks,
        "landmarks far": lambda item: [-w for w in near_marks(item)],
        "map full": filled,
        "map empty": lambda item: [-w for w in filled(item)],
        "early no, late middle": early_no,
        "time interpolated": interpolated(0.0),
        "time interpolated, next": interpolated(1.0),
    }
    words = ("forward", "backward", "left", "right", "ascend", "descend", "hover", "tilt", "ahead", "behind", "below",
             "above", "ahead.*below", "closer through", "farther away through", "first comes", "first moves", "same",
             "middle", "not in view", "while", "turn", "starts and ends")  # fmt: skip
    found |= {f'says "{word}"': says(word) for word in words}
    found |= {f'does not say "{word}"': _not(says(word)) for word in words}
    found |= {f"letter {chr(65 + n)}": _letter(n) for n in range(5)}
    return found


def _not(rule: Rule) -> Rule:
    return lambda item: [-w for w in rule(item)]


def _letter(n: int) -> Rule:
    return lambda item: [float(i == n) for i in range(len(item.options))]


def rule_scores(items: Sequence[BlindItem]) -> dict[str, dict[str, FloatArray]]:
    """Task -> rule -> which of the task's questions it has right."""
    rules = rules_of(items)
    found: dict[str, dict[str, FloatArray]] = {}
    for task, index in tasks_of(items).items():
        mine = [items[i] for i in index]
        found[task] = {
            name: np.array([tied_accuracy([round(w, 9) for w in rule(item)], item.right) for item in mine])
            for name, rule in rules.items()
        }
    return found


def chosen_elsewhere(scores: Mapping[str, FloatArray], groups: Sequence[str]) -> FloatArray:
    """Which questions (n,) are answered by what is best on the half of the flights that theirs is not in."""
    half = np.array([digest(group, "half")[0] % 2 for group in groups])
    right = np.zeros(len(groups))
    for test in (0, 1):
        train, there = half != test, half == test
        if train.any() and there.any():
            best = max(scores, key=lambda name: float(scores[name][train].mean()))
            right[there] = scores[best][there]
    return right


def shown(rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row per task; of numbers "chance" is the best constant, and there are no rules."""
    items = items_of(rows)
    by_rule = rule_scores([item for item in items if item.options])
    scores = attack(items, run_here, UNSEEN[:1])
    heads = ("n", "scenes", "chance", "best rule", "", "best attacker", "", "forest", "elsewhere", "above", "±")
    table = Table("task", *heads)
    for task, index in tasks_of(items).items():
        groups = [items[i].group for i in index]
        level = float(scores[CHANCE][index].mean())
        if not items[index[0]].options:
            level = max(level, by_frequency(None, [str(items[i].number) for i in index]))
        fitted = {n: s[index] for n, s in scores.items() if n != CHANCE and not np.isnan(s[index]).any()}
        rules = by_rule.get(task, {})
        rule = max(rules, key=lambda name: float(rules[name].mean()), default="")
        best = max(fitted.keys() - {FOREST}, key=lambda name: (float(fitted[name].mean()), name))
        honest = chosen_elsewhere(rules | fitted, groups)
        above, error = float(honest.mean()) - level, standard_error(honest, groups) or 0.0
        told = (level, float(fitted[best].mean()), float(fitted[FOREST].mean()), float(honest.mean()), above, error)
        chance, prior, forest, elsewhere, over, off = (f"{100 * value:.1f}" for value in told)
        mark = "[red]" if above > MOST and above > 2 * error else ""
        counts = (task, str(len(index)), str(len(set(groups))), chance)
        found = f"{100 * rules[rule].mean():.0f}" if rule else ""
        table.add_row(*counts, found, rule, prior, best, forest, elsewhere, f"{mark}{over}", off)
    return table


def _built(benchmark: Benchmark[Any, Any], rules: Any, cap: int, scenes: Iterable[AnyScene]) -> list[dict[str, Any]]:
    """What a build would ask of some scenes, balanced over all of them."""
    tasks, shares = benchmark.by_name(), benchmark.shares
    views = (benchmark.view(scene, rules) for scene in scenes)
    offered = [found.filter(pc.is_null(found["reason"])) for found in (candidates(v, tasks.values()) for v in views)]
    tallies = [choose(own, tasks, cap, shares).tallies(own["scene"][0].as_py()) if len(own) else {} for own in offered]
    balance = balance_of(tallies)
    asked = (
        asked_in(select(own, tasks, cap, shares, balance=balance.of(tally)))
        for own, tally in zip(offered, tallies, strict=True)
    )
    return [row for found in asked for row in found.to_pylist()]


def _exams(scenes: Iterable[AnyScene]) -> list[dict[str, Any]]:
    """Of an exam, domain-far questions apart; by kind of wording."""
    rows = _built(EMBODIED4C, ExamRules(far_per_log=0), EXAM_CAP, scenes)
    return [row | {"task": row["operands"][0]} for row in rows]


SUBJECTS: Final[dict[str, Callable[[range], list[dict[str, Any]]]]] = {
    "flights": questions,
    "drives": lambda seeds: _exams(map(logs.drive, seeds)),
    "exam-flights": lambda seeds: _exams(map(logs.flight, seeds)),
    # Sample episodes are numbered from 0 on.
    "arms": lambda seeds: _exams(logs.episodes(seeds.start % ARMS + len(seeds))[seeds.start % ARMS :]),
    "cities": lambda seeds: _built(CITYEQA, CITY_RULES, CITY_CAP, map(small, seeds)),
    "panoramas": lambda seeds: [row for n in seeds for row in asked_in(selected(street(n), None, CAP)).to_pylist()],
}


def leaks(subject: str = "flights", count: str = "600") -> Iterator[Table | str]:
    """Of so many random scenes of a subject (`SUBJECTS`), or of a file of questions.

    The scenes are others with every change of the code that asks, so that nobody tunes it to their luck.
    """
    path = Path(subject)
    if path.is_file():
        rows = [*map(json.loads, path.read_text().splitlines())]
    else:
        first = int(code_digest(("pipeline.benchmarks.registry", "pipeline.questions.selection"))[:6], 16)
        rows = SUBJECTS[subject](range(first, first + int(count)))
        yield f"{count} {subject} from seed {first} on"
    yield shown(rows)
    yield str(Counter(row["task"] for row in rows))
