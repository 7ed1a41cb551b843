"""How far questions of random flights, logs, cities and panoramas are answered from their text.

Beside the attackers of the stress test stand randomised trees, which learn each kind of question for itself: alone they
know its words, numbers, time, clip and options, and "with others" also the kinds, times, words and things of all other
questions of the scene. The best of many attackers is above chance by luck: so what is best on half of the
scenes is shown as on the other half, above the best constant, chance or a lot among the answers that occur, with its
standard error. Numbers count by mean relative accuracy and by eq. 2 of Embodied4C, counts by whether they are right;
and all of them by whether the right one of their choices is taken.

A file has one question per line: task, scene, text, options, ground_truth, and from_s and until_s where the question is
about a part of the video.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from rich.table import Table
from scipy.sparse import csc_array, hstack
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.blind.attack import CHANCE, OTHERS, attack, standard_error, tasks_of
from pipeline.blind.forest import run_here
from pipeline.blind.items import UNSEEN, BlindItem, folds_of, item_of, with_company
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import digest
from pipeline.core.schema import AnyScene
from pipeline.core.tables import GUESSED, selected_questions
from pipeline.engine.code import code_digest
from pipeline.questions.balance import balance_of
from pipeline.questions.choices import number_of
from pipeline.questions.selection import choose, select
from pipeline.worlds.arm.readers.lerobot import EPISODES_MAX
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
MOST: Final = 0.08  # above chance; more is marked
FEW, ENOUGH = 40, 600  # questions of a kind that something can be learnt of, and that trees are shown
NEAR_S: Final = 3.0  # between questions that are about the same time
OWN_MAX: Final = 80  # words of a kind of question that tell its questions apart
SAID_MAX: Final = 6  # the same, for those who are asked something else
CLOSED_MAX: Final = 14  # answers of a kind that trees know one by one
COUNT_MAX: Final = 25
RANKS: Final = np.linspace(0.02, 0.98, 40)  # among right numbers, of those that are tried
CONSTANT, TREES = "constant", "trees"
_WORD: Final = r"[^\W\d_]+|\d+(?:\.\d+)?"
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
Scores = dict[str, FloatArray]
Earned = Callable[[FloatArray, FloatArray], FloatArray]


def questions(flights: Iterable[int]) -> list[dict[str, Any]]:
    """The questions of random flights under the caps of a build, as their table shows them.

    Of a clip from the middle of a flight it tells the length alone: the clip's name does not say which part it is.
    """
    rows = _built(URBANVIDEO, UrbanRules(), CAP, map(random_flight, flights))
    return [
        row if row["from_s"] is None else row | {"from_s": None, "until_s": row["until_s"] - row["from_s"]}
        for row in rows
    ]


def items_of(rows: Iterable[Mapping[str, Any]], *, among_choices: bool = False) -> list[BlindItem]:
    """As someone without the video sees them who has all questions of a scene, whatever groups it has."""
    plain = (dict.fromkeys(GUESSED) | dict(row) | {"group": None} for row in rows)
    return with_company(item_of(row, among_choices=among_choices) for row in plain)


class Known:
    """What texts tell of questions (n,): of their own, and of the others of their scene."""

    def __init__(self, items: Sequence[BlindItem], rows: Sequence[Mapping[str, Any]]) -> None:
        self.items, self.texts = items, [item.text.casefold() for item in items]
        self.offers = [f"|{'|'.join(item.options)}|".casefold() for item in items]
        self.until = np.array([row.get("until_s") or 0.0 for row in rows])
        self.words = CountVectorizer(binary=True, min_df=2, token_pattern=_WORD).fit_transform(self.texts).tocsc()
        numbers = [[*map(float, _NUMBER.findall(text)), -1.0, -1.0, -1.0][:3] for text in self.texts]
        self.plain = np.column_stack([self.until, [item.seconds or 0.0 for item in items], numbers])
        _, self.kind = np.unique([item.task for item in items], return_inverse=True)
        _, self.scene = np.unique([item.group for item in items], return_inverse=True)
        self.kinds = int(self.kind.max()) + 1
        kind = np.eye(self.kinds, dtype=np.float32)[self.kind]
        said = hstack([self._varied(self.kind == k, SAID_MAX) for k in range(self.kinds)]).tocsr()
        said_of = [
            [name for name in row.get("named") or () if name.casefold() in text]  # not what the answer names
            for row, text in zip(rows, self.texts, strict=True)
        ]
        self.named = [*map(frozenset, said_of)]
        things = CountVectorizer(binary=True, analyzer=tuple).fit_transform([*said_of, ("",)]).tocsr()
        self.company = np.zeros((len(items), 5 * self.kinds + 2 * said.shape[1]), np.float32)
        self.among = [np.flatnonzero(self.scene == scene) for scene in range(self.scene.max() + 1)]
        for mine in self.among:
            off = self.until[mine] - self.until[mine][:, None]
            other = ~np.eye(len(mine), dtype=bool)
            near, same = other & (np.abs(off) <= NEAR_S), other & ((things[mine] @ things[mine].T).toarray() > 0)
            whens = (other, near & (off < 0), near & (off > 0), near & (np.abs(off) < 1), same)
            told = said[mine].toarray()
            self.company[mine] = np.hstack([when @ kind[mine] for when in whens] + [other @ told, near @ told])

    def _varied(self, mine: BoolArray, most: int) -> csc_array:
        """(n, w) the words, ``most`` of them, that tell some questions (n,) apart; 0 for all others."""
        count = np.asarray(self.words[mine].sum(axis=0)).ravel()
        varies = np.minimum(count, mine.sum() - count)
        chosen = np.argsort(-varies, kind="stable")[:most]
        return csc_array(self.words[:, chosen[varies[chosen] >= FEW / 8]].multiply(mine[:, None]))

    def features(self, index: IntArray, *, others: bool) -> FloatArray:
        """(m, f) of the questions of one kind."""
        mine = np.isin(np.arange(len(self.texts)), index)
        own = [self.plain[index], self._varied(mine, OWN_MAX).tocsr()[index].toarray()]
        found = np.hstack([*own, self.company[index]] if others else own).astype(np.float32)
        return found[:, np.ptp(found, axis=0) > 0]

    def of_options(self, index: IntArray, *, others: bool) -> FloatArray:
        """(o, f) of options of some questions: how long or large, like the text, how often in others of each kind."""
        found = []
        for i in index.tolist():
            stems = [option.casefold().removeprefix("the ") for option in self.items[i].options]
            rest = [j for j in self.among[self.scene[i]].tolist() if j != i] if others else []
            own = [j for j in rest if self.kind[j] == self.kind[i] and self.named[j] & self.named[i]]
            rows = []
            for place, stem in enumerate(stems):
                size = number_of(stem)
                said = [j for j in rest if stem in self.texts[j]]
                near = [j for j in said if abs(self.until[j] - self.until[i]) <= NEAR_S]
                within = stem if size is None else f"|{stem}|"
                offered = [j for j in rest if within in self.offers[j]]
                words = set(stem.split())
                plain = [place, len(stem), self.texts[i].find(stem), sum(word in self.texts[i] for word in words)]
                alike = sum(len(words & set(other.split())) for other in stems)
                rows.append(
                    [
                        *plain,
                        alike,
                        float(size or 0),
                        sum(within in self.offers[j] for j in own),
                        *(n for js in (said, near, offered) for n in np.bincount(self.kind[js], minlength=self.kinds)),
                    ]
                )
            table = np.array(rows, np.float32)
            found.append(np.hstack([table, table - table.mean(0)]))
        return np.concatenate(found)


def _trees(features: FloatArray, target: FloatArray) -> ExtraTreesRegressor:
    return ExtraTreesRegressor(50, min_samples_leaf=4, max_features=0.15, random_state=0).fit(features, target)


def by_number(features: FloatArray, truth: FloatArray, fold: IntArray, ways: Sequence[Earned]) -> list[Scores]:
    """By each way to count, score (n,) of numbers that trees guess, learnt in other folds, and of the best constant.

    That is chosen on the very questions, as on the card: of even answers the most frequent one elsewhere is rare here.
    """
    tried = np.unique(np.quantile(truth, RANKS))
    features = features if features.shape[1] else np.zeros((len(truth), 1))  # all its questions read alike
    worths = [earned(tried, truth[:, None]) for earned in ways]
    found = [{CONSTANT: worth[:, worth.mean(0).argmax()], TREES: np.zeros(len(truth))} for worth in worths]
    for test in np.unique(fold):
        train, there = fold != test, np.flatnonzero(fold == test)
        trees = _trees(features[train], np.log(np.maximum(truth[train], 1e-3)))
        leaves = OneHotEncoder().fit(trees.apply(features[train]))
        known, asked = (leaves.transform(trees.apply(features[some])) for some in (train, there))
        for worth, scores in zip(worths, found, strict=True):
            expected = asked @ (known.T @ worth[train] / known.sum(axis=0).reshape(-1, 1))
            scores[TREES][there] = worth[there, np.asarray(expected).argmax(1)]
    return found


def by_option(items: Sequence[BlindItem], features: FloatArray, options: FloatArray, fold: IntArray) -> Scores:
    """Score (n,) of options that trees take, learnt in other folds, and of the answer that is most frequent there."""
    question = np.repeat(np.arange(len(items)), [len(item.options) for item in items])
    place = np.concatenate([np.arange(len(item.options)) for item in items])
    right = place == np.array([item.right for item in items])[question]
    names, name = np.unique([option for item in items for option in item.options], return_inverse=True)
    known = name[:, None] == np.arange(len(names)) if len(names) <= CLOSED_MAX else name[:, None]
    rows = np.hstack([known, options, features[question]]).astype(np.float32)
    found = {key: np.zeros(len(items)) for key in (CONSTANT, TREES)}
    for test in np.unique(fold):
        train, there = fold[question] != test, fold[question] == test
        often = np.bincount(name[train & right], minlength=len(names))[name]
        guesses = {
            CONSTANT: often[there],
            TREES: _trees(rows[train], right[train]).predict(rows[there]),
        }
        for key, worth in guesses.items():
            best = np.full(len(items), -1.0)
            np.maximum.at(best, question[there], worth)
            top = worth >= best[question[there]] - 1e-9
            won = np.bincount(question[there], top & right[there], len(items))
            found[key] += won / np.maximum(np.bincount(question[there], top, len(items)), 1)
    return found


def _scores(known: Known, index: IntArray, fold: IntArray) -> Iterator[tuple[str, Scores, Scores]]:
    """Of one kind, by each way to count: its name, and the scores of who reads its text alone, and of who reads all."""
    items = [known.items[i] for i in index.tolist()]
    features = [known.features(index, others=others) for others in (False, True)]
    if items[0].options:
        options = [known.of_options(index, others=others) for others in (False, True)]
        yield "", *(by_option(items, *both, fold) for both in zip(features, options, strict=True))
        return
    truth = np.array([float(item.number or 0) for item in items])
    counts = len(set(truth.tolist())) <= COUNT_MAX and truth.max() <= COUNT_MAX and (truth == truth.round()).all()
    ways = {"": _exact} if counts else {" (MRA)": _mra, " (eq. 2)": _eq_2}
    found = [by_number(some, truth, fold, list(ways.values())) for some in features]
    yield from zip(ways, *found, strict=True)


def _exact(guess: FloatArray, truth: FloatArray) -> FloatArray:
    return (np.round(guess) == truth).astype(np.float64)


def _mra(guess: FloatArray, truth: FloatArray) -> FloatArray:
    off = np.abs(guess - truth) / np.maximum(np.abs(truth), 1e-9)
    return np.floor(np.clip(11 - 20 * off + 1e-9, 0, 10)) / 10


def _eq_2(guess: FloatArray, truth: FloatArray) -> FloatArray:
    return np.clip(1 - 10 * np.abs(guess - truth) / np.maximum(np.abs(truth), 1e-9), 0, 1)


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


def shown(rows: Sequence[Mapping[str, Any]], only: str = "") -> Table:
    """One row per kind of question and way to count it; ``only`` those of some kinds, with commas between."""
    table = Table("task", "n", "scenes", "level", "alone", "±", "with others", "±")
    open_, chosen = items_of(rows), items_of(rows, among_choices=True)
    numeric = {item.task for item in open_ if not item.options}
    for items, asked, note in ((open_, None, ""), (chosen, numeric, " among choices")):
        known = Known(items, rows)
        for task, every in tasks_of(items).items():
            index = every[:ENOUGH]  # in the order of ids, which are drawn
            is_asked = (asked is None or task in asked) and task in (only.split(",") if only else [task])
            if len(index) >= FEW and is_asked:
                for name, *cells in _cells(known, index):
                    table.add_row(f"{task}{name}{note}", str(len(every)), *cells)
    return table


def _cells(known: Known, index: IntArray) -> Iterator[list[str]]:
    """By each way to count some questions of one kind, its name and what the table shows after their number."""
    items = [known.items[i] for i in index.tolist()]
    groups, stress = [item.group for item in items], attack(items, run_here, UNSEEN[:1])
    for name, *found in _scores(known, index, folds_of(groups, dealing=UNSEEN[0])):
        level = float(found[0][CONSTANT].mean())
        if items[0].options:
            answers = Counter(item.options[item.right] for item in items)
            # Who knows how often each answer is right, and takes them by lot.
            drawn = sum(n * n for n in answers.values()) / len(index) ** 2
            level = max(level, drawn, float(stress[CHANCE].mean()))
        cells = [name, str(len(set(groups))), f"{100 * level:.1f}"]
        for scores, more in zip(found, (False, True), strict=True):
            if items[0].options:
                scores |= {
                    n: s for n, s in stress.items() if n != CHANCE and (more or n != OTHERS) and not np.isnan(s).any()
                }
            honest = chosen_elsewhere(scores, groups)
            above, error = float(honest.mean()) - level, standard_error(honest, groups) or 0.0
            cells += [f"{'[red]' if above > MOST else ''}{100 * above:.1f}", f"{100 * error:.1f}"]
        yield cells


def _built(benchmark: Benchmark[Any, Any], rules: Any, cap: int, scenes: Iterable[AnyScene]) -> list[dict[str, Any]]:
    """What a build would ask of some scenes, balanced over all of them."""
    tasks, shares = benchmark.by_name(), benchmark.shares
    views = (benchmark.view(scene, rules) for scene in scenes)
    offered = [found.filter(pc.is_null(found["reason"])) for found in (candidates(v, tasks.values()) for v in views)]
    tallies = [choose(own, tasks, cap, shares).tallies(own["scene"][0].as_py()) if len(own) else {} for own in offered]
    balance = balance_of(tallies)
    asked = (
        selected_questions(select(own, tasks, cap, shares, balance=balance.of(tally)))
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
    "arms": lambda seeds: _exams(logs.episodes(seed % EPISODES_MAX for seed in seeds)),
    "cities": lambda seeds: _built(CITYEQA, CITY_RULES, CITY_CAP, map(small, seeds)),
    "panoramas": lambda seeds: [
        row for n in seeds for row in selected_questions(selected(street(n), None, CAP)).to_pylist()
    ],
}


def leaks(subject: str = "flights", count: str = "600", only: str = "") -> Iterator[Table | str]:
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
    with threadpool_limits(1):
        yield shown(rows, only)
    yield str(Counter(row["task"] for row in rows))
