"""Each gate on both sides of its limit; what has nothing to be compared with passes and says so."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.blind.totals import ModelTotals
from pipeline.core.files import write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.tables import CHECKSUMS
from pipeline.release.gates import GATES, Candidate, GateResult, GatesConfig, judge
from pipeline.release.released import Released, checksums

EMPTY: dict[str, Any] = {"questions": {}, "rejections": {}, "answers": {}, "letters": {}, "flags": {}}


def released(**fields: Any) -> Released:
    return Released.model_validate(EMPTY | {"files": {}, "findings": [], "blind": [], "models": []} | fields)


def release(folder: Path, asked: dict[int, str], states: dict[int, str] | None = None) -> Path:
    """A release of questions by the scene of each, and where the reviewed ones stand."""
    (folder / "provenance").mkdir(parents=True)
    table = pa.table({"id": pa.array(asked, pa.int64()), "scene": pa.array(asked.values(), pa.string())})
    pq.write_table(table, folder / "provenance" / "test-0.parquet")
    if states is not None:
        (folder / "review").mkdir()
        table = pa.table({"id": pa.array(states, pa.int64()), "state": pa.array(states.values(), pa.string())})
        pq.write_table(table, folder / "review" / "test-0.parquet")
    return folder


def found(gate: str, folder: Path, before: Path | None = None, *, known: bool = False, **fields: Any) -> GateResult:
    return GATES[gate](Candidate(folder, before, released(**fields), GatesConfig(), 0.05, known))


def asked(scenes: int, of_each: int = 2) -> dict[int, str]:
    return {scene * of_each + n: f"d/{scene}" for scene in range(scenes) for n in range(of_each)}


@pytest.mark.parametrize(("lost", "passes"), [(0, True), (2, True), (3, False)])
def test_scenes_without_a_question(lost: int, passes: bool, tmp_path: Path) -> None:
    before, now = release(tmp_path / "a", asked(100)), release(tmp_path / "b", asked(100 - lost))
    result = found("scenes", now, before)
    assert (result.measured, result.limit, result.passed) == (lost / 100, 0.02, passes)
    assert result.told == f"{lost} of 100 scenes are gone"


@pytest.mark.parametrize(("lost", "passes"), [(0, True), (5, True), (6, False)])
def test_questions_that_are_gone_whatever_came_in_their_place(lost: int, passes: bool, tmp_path: Path) -> None:
    before, other = asked(50), {1000 + n: "d/0" for n in range(50)}
    kept = {i: scene for i, scene in before.items() if i >= lost}
    result = found("questions", release(tmp_path / "b", kept | other), release(tmp_path / "a", before))
    assert (result.measured, result.passed) == (lost / 100, passes)


@pytest.mark.parametrize(("lost", "passes"), [(0, True), (5, True), (6, False)])
def test_replies_of_a_model_that_are_missing(lost: int, passes: bool, tmp_path: Path) -> None:
    """Of the model that failed most; a form that cannot be asked is no failure, and the embedded model has no vote."""
    same: dict[str, Any] = {"right": 0, "unread": {}, "requests": 9, "cost_usd": None}
    same |= {"input_tokens": 0, "output_tokens": 0, "unreported_usage": 0, "questions": 100}
    models = [
        ModelTotals(model=name, provider="embedded" if name == "c" else "openai", failed=failed, **same)
        for name, failed in (("a", {"no_options": 50}), ("b", {"down": lost} if lost else {}), ("c", {"unexpected": 9}))
    ]
    result = found("panel", release(tmp_path, asked(1)), models=models)
    assert (result.measured, result.passed) == (lost / 100, passes)
    assert result.told == (f"b gave no reply to {lost} of 100 requests ({lost} down)" if lost else "all models replied")
    alone = found("panel", release(tmp_path / "c", asked(1)), models=models[2:])
    assert (alone.measured, alone.told) == (None, "no model was asked but the embedded one, which has no vote")


@pytest.mark.parametrize(("contradicted", "passes"), [(0, True), (1, True), (2, False)])
def test_published_answers_that_the_data_contradict(contradicted: int, passes: bool, tmp_path: Path) -> None:
    """A scene counts once; scenes of which nothing is asked count too."""
    name = "published_answer_differs"
    findings = [[f"d/{n}", name, "doubt", "", ""] for n in range(contradicted) for _ in range(3)]
    findings += [["d/9", "another_finding", "doubt", "", ""]]
    now, silent = release(tmp_path, asked(15)), {f"d/{n}": {"over_cap": 1} for n in range(15, 20)}
    result = found("known", now, findings=findings, silent=silent, known=True)
    assert (result.measured, result.passed) == (contradicted / 20, passes)
    assert found("known", now, findings=findings, silent=silent).measured is None, "none are given"
    same = Candidate(now, None, released(findings=findings, silent=silent), GatesConfig(), 0.05, True, 0.1)
    assert GATES["known"](same).passed, "it is no worse than before"


@pytest.mark.parametrize(
    ("was", "now", "lost"),
    [
        ("accepted", "accepted", False),
        ("accepted", "disputed", False),  # by reviewers
        ("accepted", "stale", True),
        ("accepted", "waiting", True),
        ("accepted", None, True),
        ("rejected", "stale", False),  # it was mended
        ("rejected", None, True),
        ("corrected", "stale", False),
        ("corrected", "waiting", True),
        ("stale", None, False),  # nobody had decided
    ],
)
def test_verdicts_that_do_not_stand_any_more(was: str, now: str | None, lost: bool, tmp_path: Path) -> None:
    """One more of 20 decided questions is more than the limit lets through; those that are gone do not count."""
    others = dict.fromkeys(range(1, 20), "accepted")
    before = release(tmp_path / "a", asked(20), {0: was} | others | {39: "accepted"})
    after = {i: state for i, state in ({0: now} | others | {1: "stale"}).items() if state}
    result = found("review", release(tmp_path / "b", {i: s for i, s in asked(20).items() if i != 39}, after), before)
    decided = 20 if was != "stale" else 19
    assert result.measured == pytest.approx((1 + lost) / decided)
    assert result.passed == (not lost and decided == 20)


def test_files_that_are_not_as_they_were_written(tmp_path: Path) -> None:
    files = {"data/a.txt": digest_of("")}
    write_atomically(tmp_path / "data" / "a.txt", b"a")
    write_atomically(tmp_path / CHECKSUMS, checksums(files))
    result = found("checksums", tmp_path, files=files)
    assert (result.measured, result.passed, result.told) == (1.0, False, "data/a.txt is damaged")


def test_the_first_release_passes_what_it_cannot_be_compared_by(tmp_path: Path) -> None:
    now = release(tmp_path / "b", asked(1), {0: "accepted"})
    write_atomically(now / CHECKSUMS, b"")
    results = {one.gate: one for one in judge(Candidate(now, None, released(), GatesConfig(), 0.05, True))}
    assert list(results) == list(GATES)
    assert all(one.passed for one in results.values())
    assert {name for name, one in results.items() if one.measured is None} == {"panel", "scenes", "questions", "review"}
    assert results["scenes"].told == "nothing to compare with: it is the first release of such data"


def test_limits_have_a_range() -> None:
    for name in GatesConfig.model_fields:
        for wrong in (-0.01, 1.01, float("nan")):
            with pytest.raises(ValueError, match=name):
                GatesConfig.model_validate({name: wrong})
