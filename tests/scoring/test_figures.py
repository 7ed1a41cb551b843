from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.cityeqa.score import JUDGE
from pipeline.benchmarks.ergeobench.score import GLS, GeoScoreSettings
from pipeline.benchmarks.ergeobench.score import SCORE as ERGEOBENCH
from pipeline.benchmarks.vsi.score import SCORE, VsiScoreSettings
from pipeline.core.errors import ConfigError
from pipeline.core.identity import rng_for
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import MAX_CHARS, Answer, Figure, Metric, group_by, is_too_long
from pipeline.scoring.figures import SAMPLES, composed, rows_of, sampled
from pipeline.scoring.leaderboard import MODELS_LEAST, _item_rest, leaderboard
from pipeline.scoring.score import ScoreResults, Split, _mean_of, scored, scored_people
from tests.benchmarks.ergeobench.test_score import geo
from tests.environment import fastest_s, pace
from tests.scoring.made import file_of, said, vsi

NAN = float("nan")


def part_of(folder: Path, *others: int) -> Split:
    """A split of a release that has these questions too."""
    pq.write_table(pa.table({"id": [*others]}), folder / "full.parquet")
    return Split("part", folder / "part.parquet", None, folder / "full.parquet")


def test_figures_by_hand() -> None:
    figures = [
        Figure("both", parts=("few", "many")),
        Figure("few", "task", (0, 1)),
        Figure("many", "task", (2, 3, 4, 5)),
        Figure("none", "task", (6,)),
    ]
    marks = np.array([1, 0, 1, 1, 0, 1, NAN])
    priors = np.array([0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.1])
    both, few, many, none = rows_of(figures, "score", marks, list("aabbccd"), priors)
    assert (few.value, many.value, both.value, none.value) == (0.5, 0.75, 0.625, None)
    assert (few.n, many.n, both.n, none.n) == (2, 4, 6, 0)
    assert few.deviation == pytest.approx(0.5**0.5)
    assert (few.prior, many.prior, both.prior, none.prior) == (0.5, 0.25, 0.375, None)
    assert (both.above, none.above) == (0.25, None)
    assert none.low is None
    assert {found.shape for _, found in sampled(figures, marks, list("aabbccd"), samples=5).values()} == {(6,)}
    (unknown,) = rows_of(figures[1:2], "score", marks, list("aabbccd"), np.full(7, NAN))
    assert (unknown.prior, unknown.above) == (None, None)


def test_intervals_are_those_of_a_plain_loop() -> None:
    """Scene by scene, draw by draw; of samples that lack a part the rest counts."""
    rng = np.random.default_rng(4)
    scenes = [f"s{n}" for n in rng.integers(0, 9, 60)]
    names = sorted(set(scenes))
    marks = rng.random(60)
    figures = [
        Figure("one", "", tuple(range(20))),
        Figure("two", "", tuple(range(20, 60))),
        Figure("rare", "", (7,)),
        Figure("mean", "", parts=("one", "two", "rare")),
    ]
    drawn = rng_for("bootstrap", len(names)).multinomial(len(names), np.full(len(names), 1 / len(names)), size=SAMPLES)
    means: dict[str, list[float]] = {figure.name: [] for figure in figures}
    for counts in drawn:
        own = {}
        for figure in figures[:3]:
            weights = np.array([counts[names.index(scenes[i])] for i in figure.members])
            own[figure.name] = float(np.average(marks[list(figure.members)], weights=weights)) if weights.any() else NAN
            means[figure.name].append(own[figure.name])
        means["mean"].append(float(np.nanmean(list(own.values()))))
    one, two, rare, mean = rows_of(figures, "score", marks, scenes)
    assert (rare.low, rare.high) == (None, None)  # of one scene
    for row in (one, two, mean):
        low, high = np.nanquantile(means[row.figure.name], [0.025, 0.975])
        assert (row.low, row.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_one_scene_has_no_interval() -> None:
    (row,) = rows_of([Figure("all", "", (0, 1))], "score", np.array([0.0, 1.0]), ["a", "a"])
    assert (row.value, row.low, row.high) == (0.5, None, None)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Scenes differ by 0.2, questions by 0.1: an interval over questions would hold it far less often."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(60):
        level = rng.normal(0.5, 0.2, 40)
        marks = np.repeat(level, 10) + rng.normal(0, 0.1, 400)
        (row,) = rows_of([Figure("all", "", tuple(range(400)))], "score", marks, [str(n // 10) for n in range(400)])
        held += row.low <= 0.5 <= row.high
    assert 52 <= held <= 60


def test_what_follows_from_two_others_is_of_what_both_come_to() -> None:
    """Twice the first less the second, in every part: 2 x 0.5 - 0.25 and 2 x 1 - 0.5; and the first less the second."""
    figures = [Figure("a", "", (0, 1)), Figure("b", "", (2, 3)), Figure("gap", parts=("a", "b"), difference=True)]
    marks = [np.array(own) for own in ([0.0, 1, 1, 1], [0.5, 0, 1, NAN])]
    parts = [sampled(figures, own, ["s"] * 4) for own in marks]
    found = {row.figure.name: row for row in composed(figures, "both", parts, lambda own: 2 * own[0] - own[1])}
    assert {name: (row.n, row.value, row.low) for name, row in found.items()} == {
        "a": (2, 0.75, None), "b": (2, 1.0, None), "gap": (4, -0.25, None),
    }  # fmt: skip


def test_many_questions_take_a_moment() -> None:
    n = 100_000
    marks, scenes = np.random.default_rng(0).random(n), [str(i % 1000) for i in range(n)]
    figures = [Figure(str(t), "task", tuple(range(t, n, 8))) for t in range(8)]
    figures.append(Figure("all", parts=tuple(f.name for f in figures)))
    assert fastest_s(lambda: rows_of(figures, "score", marks, scenes)) < 3 * pace()


# ---- models side by side


def test_five_models_side_by_side(tmp_path: Path) -> None:
    """Of four routes and four distances in two rooms each is right in the first so many."""
    tasks = ["route_planning"] * 4 + ["object_rel_distance"] * 4
    rows = [vsi(n, task, "B", f"room{n % 2}") for n, task in enumerate(tasks, 1)]
    asked, few = file_of(tmp_path / "q.jsonl", rows), file_of(tmp_path / "few.jsonl", rows[:2])
    right = {"best": (4, 2), "third": (3, 1), "second": (2, 3), "last but one": (1, 0), "last": (0, 0)}
    models, debiased = {}, {}
    for name, (routes, distances) in right.items():
        replies = {n: "B" if (n - 1) % 4 < (routes, distances)[n > 4] else "A" for n in range(1, 9)}
        given = [said(tmp_path / "r.jsonl", replies)]
        models[name] = scored(SCORE, asked, given, VsiScoreSettings())
        debiased[name] = scored(SCORE, few, given, VsiScoreSettings(), of=part_of(tmp_path, *range(3, 9)))
    persons = [said(tmp_path / "a.jsonl", {1: "B", 2: "A"}), said(tmp_path / "b.jsonl", {1: "A"})]
    people = scored_people(SCORE, asked, persons, VsiScoreSettings())
    assert {row.metric for row in people.rows} == {"score"}, "no other was measured"
    board = leaderboard(SCORE, models, {"debiased": debiased, "tiny": {"best": debiased["best"]}}, people)
    told = [(one.rank, one.name, one.answered, one.figures["mean of 2 of 8"].value) for one in board.standings]
    assert told[:5] == [
        (1, "best", 8, 0.75), (2, "second", 8, 0.625), (3, "third", 8, 0.5), (4, "last but one", 8, 0.125),
        (5, "last", 8, 0.0),
    ]  # fmt: skip
    assert told[5][:3] == (None, "people", 2)
    assert board.standings[5].figures["route_planning"].value == 0.25, "half of the first, none of the second"
    assert [one.behind and one.behind.value for one in board.standings] == [None, 0.125, 0.25, 0.625, 0.75, None]
    assert [one.others["debiased"].value for one in board.standings[:5]] == [1, 1, 1, 0.5, 0]
    names, related = board.correlations
    assert list(names) == ["object_rel_distance", "route_planning", "debiased"], "not of the split that one alone has"
    earned = [[2, 3, 1, 0, 0], [4, 2, 3, 1, 0], [2, 2, 2, 1, 0]]
    np.testing.assert_allclose(related, np.corrcoef(earned))
    assert board.difficulty["failed_by_all"].to_pylist() == [False] * 7 + [True]
    assert board.difficulty["mean_mark"].to_pylist() == [0.8, 0.6, 0.4, 0.2, 0.6, 0.4, 0.2, 0]
    hard = replace(SCORE, metrics={"score": replace(SCORE.metrics["score"], highest=4)})
    four = leaderboard(hard, {name: models[name] for name in ("best", "second", "third", "last")}, {})
    assert four.difficulty["failed_by_all"].to_pylist() == [True] * 8, "1 is below half of 4"
    assert four.correlations[0] == (), "too few models"


def test_models_are_ranked_by_what_is_measured_for_all_of_them(tmp_path: Path) -> None:
    """A judge that gave one model no mark at all does not stop the others' ranking."""
    asked = file_of(tmp_path / "q.jsonl", [vsi(n, "route_planning", "B") for n in (1, 2)])
    one = scored(SCORE, asked, [said(tmp_path / "r.jsonl", {1: "B", 2: "B"})], VsiScoreSettings())

    def judged(mark: float, score: float) -> ScoreResults:
        return replace(one, marks=replace(one.marks, values={"judged": np.full(2, mark), "score": np.full(2, score)}))

    both = replace(SCORE, metrics={"judged": Metric("judged", 2), "score": SCORE.metrics["score"]})
    assert leaderboard(both, {"a": judged(1, 1), "b": judged(NAN, 0)}, {}).metric is SCORE.metrics["score"]
    with pytest.raises(ConfigError, match="none of judged, score is measured for every model"):
        leaderboard(both, {"a": judged(NAN, 1), "b": judged(1, NAN)}, {})


def test_of_a_sample_what_was_asked_alone_counts(tmp_path: Path) -> None:
    rows = [vsi(n, "route_planning", "B") for n in range(1, 6)]
    given = said(tmp_path / "p.jsonl", {1: "B", 4: "A"})
    found = scored(SCORE, file_of(tmp_path / "q.jsonl", rows), [given], VsiScoreSettings(), only_asked=True)
    tasks_alone = replace(SCORE, metrics={"score": replace(SCORE.metrics["score"], sections=("task",))})
    rows_told = scored(tasks_alone, tmp_path / "q.jsonl", [given], VsiScoreSettings()).rows
    assert [row.figure.name for row in rows_told] == ["route_planning"], "no mean of all"
    table = found.table()
    assert (table["id"].to_pylist(), table["score"].to_pylist()) == ([1, 4], [1, 0])
    assert table["hallucination"].null_count == 2, "not measured is nothing, not NaN"


# ---- figures by question type, replies that are too long, and what a judge makes of the others


def answer(number: int, reply: str | None = None, kind: str = "a") -> Answer:
    return Answer(Published(number, None, "scene", kind, "Q?", None, "truth"), reply)


def test_a_figure_for_each_name_that_occurs_in_the_order_of_the_names() -> None:
    answers = [answer(number, kind=kind) for number, kind in enumerate("abacd")]
    found = group_by(answers, "task", {"b": "B", "a": "A", "d": "A", "x": "none"})
    assert found == [Figure("B", "task", (1,), (), inset=False), Figure("A", "task", (0, 2, 4), (), inset=False)]


def test_a_judge_is_asked_about_replies_that_somebody_reads() -> None:
    asked: list[Request] = []

    def ask(requests: Sequence[Request]) -> Sequence[Reply | ModelError]:
        asked.extend(requests)
        return [Reply('{"score": 4}'), ModelError("refused", "no"), Reply('{"score": 2}')]

    replies = ["four", None, "silence", "x" * MAX_CHARS, "x" * (MAX_CHARS + 1)]
    assert [is_too_long(reply) for reply in replies] == [False, False, False, False, True]
    judge = replace(JUDGE, mark="score", lowest=1)
    marks, words, failed = judge.judged([answer(number, reply) for number, reply in enumerate(replies)], ask)
    for reply, request in zip((replies[0], replies[2], replies[3]), asked, strict=True):
        assert str(reply) in str(request.messages)
    np.testing.assert_array_equal(marks, [4, 1, np.nan, 2, 1])
    assert words == {"0": '{"score": 4}', "3": '{"score": 2}'}
    assert failed == ["2 (refused)"]


@pytest.mark.parametrize(("reply", "is_valid"), [("no idea", False), ('{"lat": 43.7, "lon": 7.4}', True)])
def test_what_follows_from_figures_of_nothing_has_none(reply: str, is_valid: bool, tmp_path: Path) -> None:
    """Figures of valid replies alone, of which others follow, where no reply is one."""
    files = file_of(tmp_path / "q.json", [geo(0)]), said(tmp_path / "p.jsonl", {0: reply})
    rows = scored(ERGEOBENCH, files[0], [files[1]], GeoScoreSettings(required=("coordinates",))).rows
    assert GLS in {row.metric for row in rows}
    assert {row.metric for row in rows if row.value is None} == set()
    assert (f"{GLS}_valid" in {row.metric for row in rows}) is is_valid


def test_a_question_tells_models_apart_as_all_others_do() -> None:
    marks = np.random.default_rng(1).random((MODELS_LEAST, 4))
    rest = marks.sum(axis=1)[:, None] - marks
    expected = [np.corrcoef(marks[:, n], rest[:, n])[0, 1] for n in range(4)]
    assert _item_rest(marks) == pytest.approx(expected)
    assert np.isnan(_item_rest(marks[1:])).all(), "of too few models"
    marks[:, 2] = 0.5
    assert np.isnan(_item_rest(marks)).tolist() == [False, False, True, False], "all earn the same"


def test_the_mark_of_people_is_the_mean_of_those_who_answered() -> None:
    one, other = ([answer(1, "4"), answer(2, None), answer(3, "4")], [answer(1, "4"), answer(2, None), answer(3, None)])
    marks = [{"score": np.array([1.0, 0.0, 0.5])}, {"score": np.array([0.0, 0.0, 0.0])}]
    assert _mean_of(marks, [one, other])["score"] == pytest.approx([0.5, NAN, 0.5], nan_ok=True)
    assert _mean_of(marks[:1], [one])["score"] == pytest.approx([1.0, NAN, 0.5], nan_ok=True)


@pytest.mark.parametrize(
    ("more", "elsewhere", "left_out"), [({}, (), False), ({9: "4"}, (), True), ({9: "4"}, ("9", "1"), False)]
)
def test_rows_that_cannot_be_used_are_told_but_for_those_of_other_splits(
    more: dict[int, str], elsewhere: tuple[str, ...], left_out: bool, tmp_path: Path
) -> None:
    files = file_of(tmp_path / "q.json", [vsi(1), vsi(2)]), said(tmp_path / "p.jsonl", {1: "4", 2: "4"} | more)
    found = scored(SCORE, files[0], [files[1]], VsiScoreSettings(), of=part_of(tmp_path, *map(int, elsewhere)))
    assert found.left_out is left_out
    assert [row.reply for row in found.answers] == ["4", "4"]
