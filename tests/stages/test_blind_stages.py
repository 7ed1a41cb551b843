"""Stages `blind` and `prune` in a build: what is asked, kept, removed and told, and what a second run does."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline.stages.select
from flows.cli.output.forecast_tables import spending_table
from flows.orchestration.forecast import forecast_of
from pipeline.blind.ask import ask
from pipeline.blind.config import FINAL, BlindConfig
from pipeline.core.errors import ConfigError
from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import QUESTIONS, SELECTED, UNCHECKED, selected_questions, unchecked_in
from pipeline.engine.manifest import Outcome
from pipeline.llm import rate_limit
from pipeline.llm.base import ModelSpec, Reply
from pipeline.llm.cache import ReplyCache
from pipeline.llm.failures import ModelError
from pipeline.llm.providers import record
from pipeline.release.history import accept, candidate
from pipeline.review import reviewed
from pipeline.review.reviewed import QuestionStatus, Reviewed
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.scoring.score import best_priors
from pipeline.stages.blind import BLIND
from pipeline.stages.builder import Builder
from tests.blind.test_ask import Scripted
from tests.builds import RUN_STAGES, build, config_of, perturbed, release_of, rows_of, whys
from tests.llm.fake_server import running
from tests.tables import read_questions
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ALL = {plan.name: sample_scene(plan) for plan in PLANS}
SCENES = {name: ALL[name] for name in ("bedroom", "kitchen")}
MANY = perturbed(ALL, 10)
# Of these no two scenes have a question in the same words: to a model without the video they would be one question.
# As released, so that there are enough of each to tell a model that knows from one that guesses.
TASKS = {"tasks": ["object_abs_distance", "object_rel_distance"], "profile": "official"}
FEW = {"tasks": ["object_counting", "object_rel_direction_medium"]}
PRUNED: dict[str, Any] = {"generate": FEW, "prune": {"tau": 0.1}}
Answer = Callable[[dict[str, Any]], str | None]


@dataclass
class Asked:
    """A build whose models answer from a recording."""

    meta: Path
    out: Path
    questions: list[dict[str, Any]]
    models: list[dict[str, Any]]

    def build(self, **blind: Any) -> Outcome:
        return build(self.meta, self.out, generate=TASKS, blind={"models": self.models, "orders": 1} | blind)

    def release(self, name: str) -> list[dict[str, Any]]:
        return rows_of(self.out / "release" / name / "test-00000-of-00001.parquet")


def right(row: dict[str, Any]) -> str:
    return str(row["ground_truth"])


def wrong(row: dict[str, Any]) -> str:
    return ("B" if row["ground_truth"] == "A" else "A") if row["options"] else "9999"


def mostly(row: dict[str, Any]) -> str:
    return right(row) if row["id"] % 4 else wrong(row)


def only_on_rare_ids(row: dict[str, Any]) -> str | None:
    return right(row) if row["id"] % 7 else None


@pytest.fixture(scope="module")
def selected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    folder = tmp_path_factory.mktemp("unasked")
    write_scenes(folder / "meta.json", SCENES)
    build(folder, folder / "out", generate=TASKS)
    paths = sorted((folder / "out" / "store" / "select").rglob("*.zst"))
    questions = pa.concat_tables([selected_questions(read_table(path.read_bytes())) for path in paths])
    assert len(set(questions["text"].to_pylist())) == questions.num_rows
    return folder, questions


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("many") / "meta.json", MANY)


@pytest.fixture(scope="module")
def pruned(many: Path) -> Outcome:
    """A build of many scenes, pruned and asked of nobody; not to be changed."""
    return build(many, many.parent / "pruned", **PRUNED)


def copied(many: Path, out: Path) -> Path:
    """What that build leaves."""
    return Path(shutil.copytree(many.parent / "pruned", out, symlinks=True))


def recorded(selected: tuple[Path, pa.Table], out: Path, **models: Answer) -> Asked:
    """Has each model asked once, by a stand-in for its server, and kept as the recording that a build answers from."""
    meta, questions = selected
    rows = questions.to_pylist()
    specs = []
    for name, answer in models.items():
        by_text = {row["text"]: answer(row) for row in rows}

        def reply(prompt: str, by_text: dict[str, str | None] = by_text) -> Reply:
            said = next(said for text, said in by_text.items() if text in prompt)
            if said is None:
                raise ModelError("server_error", "busy", passing=False)
            return Reply(said)

        cache = out.parent / f"{name}.sqlite"
        online = ModelSpec(provider="openai", model=name, base_url="http://127.0.0.1:9/v1", attempts=1)
        ask(questions, [online], cache, opener=lambda spec, key, reply=reply: Scripted(reply))  # type: ignore[misc]
        with ReplyCache(cache) as kept:
            record(kept, "openai", name, out.parent / f"{name}.jsonl")
        specs.append({"provider": "replay", "model": name, "recording": out.parent / f"{name}.jsonl", "attempts": 1})
    return Asked(meta, out, rows, specs)


@pytest.mark.slow
def test_what_all_models_answer_right_is_removed_and_kept_as_a_rejection(
    selected: tuple[Path, pa.Table], tmp_path: Path
) -> None:
    made = recorded(selected, tmp_path / "out", sure=right, most=mostly)
    made.build()
    removed = {row["id"]: row for row in made.release("rejected") if row["reason"] == "answered_blind"}
    stays = {row["id"] for row in made.release("data")}
    ids = {row["id"] for row in made.questions}
    assert set(removed) == {i for i in ids if i % 4}
    assert stays == ids - set(removed)
    assert {(row["measured"], row["limit"], row["unit"]) for row in removed.values()} == {(2.0, 2.0, "right answers")}
    first = next(iter(removed.values()))
    assert first["operands"] == next(row["operands"] for row in made.questions if row["id"] == first["id"])


@pytest.mark.slow
@pytest.mark.parametrize(("remove", "gone"), [("all_correct", 0.75), ("majority", 0.75), ("any", 1.0), ("none", 0.0)])
def test_the_rule_says_how_many_right_answers_remove(
    remove: str, gone: float, selected: tuple[Path, pa.Table], tmp_path: Path
) -> None:
    """Of three models one has nothing right, and so no vote."""
    made = recorded(selected, tmp_path / "out", sure=right, most=mostly, lost=wrong)
    made.build(remove=remove)
    assert 1 - len(made.release("data")) / len(made.questions) == pytest.approx(gone, abs=0.15)


@pytest.mark.slow
def test_every_reply_is_kept_and_told_of(selected: tuple[Path, pa.Table], tmp_path: Path) -> None:
    made = recorded(selected, tmp_path / "out", sure=right, lost=wrong)
    outcome = made.build()
    replies = made.release("blind")
    assert [(r["id"], r["model"]) for r in replies] == sorted(
        ((r["id"], r["model"]) for r in replies), key=lambda key: (key[0], ["sure", "lost"].index(key[1]))
    )
    assert len(replies) == 2 * len(made.questions)
    assert {r["model"] for r in replies if r["right"]} == {"sure"}
    rows = outcome.released.blind
    assert sum(row.asked.n for row in rows) == len(made.questions)
    for row in rows:
        assert (row.voters["sure"].right, row.voters["sure"].standing) == (1.0, "votes")
        assert (row.voters["lost"].right, row.answered, row.by_luck) == (0.0, 0, 0.0), "one voter is no panel"
        assert all(voter.unanswered == voter.unread == 0 for voter in row.voters.values())
    table = best_priors(made.out / "release" / "without_video.json", False)
    assert table == {row.task: max(row.released.earned.values()) for row in rows if row.released}
    card = (made.out / "release" / "README.md").read_text()
    assert "2 models answered every question without its video: sure, lost." in card
    assert "A panel of 2 is small" in card
    assert "No large language model was asked" not in card


@pytest.mark.slow
def test_a_second_build_asks_nothing(selected: tuple[Path, pa.Table], tmp_path: Path) -> None:
    meta, questions = selected
    with running() as server:
        model = {"provider": "openai", "model": "plain", "base_url": f"{server.address}/v1", "rpm": 100_000}
        sections: dict[str, Any] = {"generate": TASKS, "blind": {"models": [model], "orders": 1}}
        build(meta, tmp_path / "out", **sections)
        assert len(server.records()) == questions.num_rows
        released = release_of(tmp_path / "out")
        assert whys(build(meta, tmp_path / "out", **sections))["blind"] == {"reused"}
        outcome = Builder(config_of(meta, **sections), tmp_path / "out").stage("blind")
        assert [(e.stage, e.why) for e in outcome.manifest if e.stage == "blind"] == [("blind", "asked")]
        # How fast a model is asked is no part of what it says.
        model |= {"rpm": 50_000, "concurrency": 3, "attempts": 2}
        again = whys(build(meta, tmp_path / "out", **sections))
        official = {*RUN_STAGES} - {"answer_counts"}  # which is not balanced
        assert again == {stage: {"reused"} for stage in (*official, "blind", "filter", "review", "export")}
        assert release_of(tmp_path / "out") == released
        assert len(server.records()) == questions.num_rows, "nothing was asked again"


@pytest.mark.slow
def test_a_failed_reply_holds_its_question_back_and_is_tried_again(
    selected: tuple[Path, pa.Table], tmp_path: Path
) -> None:
    made = recorded(selected, tmp_path / "out", sure=only_on_rare_ids)
    made.build(max_failed=1)
    failed = {row["id"] for row in made.release("blind") if row["failure"] == "not_recorded"}
    assert 0 < len(failed) < len(made.questions)
    assert {row["id"] for row in made.release("pending")} == failed
    assert {row["id"] for row in made.release("data")} == {row["id"] for row in made.questions} - failed
    told = f"sure gave no reply to {len(failed)} of {len(made.questions)} requests ({len(failed)} not_recorded)"
    assert told in (made.out / "release" / "README.md").read_text()
    assert whys(made.build(max_failed=1))["blind"] == {"missing"}, "asked again, since replies are missing"
    whole = recorded(selected, tmp_path / "out", sure=right, too=right)
    assert whys(whole.build())["blind"] == {"config"}, "another recording is another model"
    assert whys(whole.build())["blind"] == {"reused"}
    assert made.release("data") == [], "all were right"


@pytest.mark.slow
def test_what_no_second_model_confirmed_is_released_apart_and_people_may_accept_it(
    selected: tuple[Path, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stage `author` flagged: no model is asked, no split or harness file has it, no attacker learns of it."""
    made = recorded(selected, tmp_path / "out", sure=wrong)
    flagged = {row["id"] for row in made.questions if row["id"] % 3 == 0}
    chosen, disputed = sorted(flagged)[:2]
    chooses = pipeline.stages.select.select

    def flagging(*args: Any, **more: Any) -> pa.Table:
        rows = chooses(*args, **more).to_pylist()
        own = {"flags": ["model_assisted", UNCHECKED]}
        return pa.Table.from_pylist([row | (own if row["id"] in flagged else {}) for row in rows], schema=SELECTED)

    class Judged(Reviewed):
        stands: tuple[QuestionStatus, ...] = tuple(
            QuestionStatus(id=i, state=s, answer=None, reviewers=2, reasons=())
            for i, s in ((chosen, "accepted"), (disputed, "disputed"))
        )

    monkeypatch.setattr(pipeline.stages.select, "select", flagging)
    monkeypatch.setattr(reviewed, "Reviewed", Judged)
    released = made.build().released
    rest = {row["id"] for row in made.questions} - flagged
    assert flagged
    assert {row["id"] for row in made.release("unchecked")} == flagged
    assert made.release("unchecked")[0].keys() == made.release("data")[0].keys()
    assert {row["id"] for row in made.release("data")} == {row["id"] for row in made.release("blind")} == rest
    assert {row["id"] for row in made.release("provenance")} == rest
    assert {row["id"] for row in made.release("unchecked_provenance")} == flagged
    assert made.release("unchecked_provenance")[0].keys() == made.release("provenance")[0].keys()
    apart = [row for row in made.release("rejected") if row["reason"] == "unchecked"]
    assert {row["id"] for row in apart} == flagged
    assert {(row["measured"], row["limit"], row["unit"]) for row in apart} == {(0.0, 1.0, "second models")}
    assert released.held == {"pending": 0, "unchecked": len(flagged)}
    assert sum(row.asked.n for row in released.blind) == len(rest)
    assert [row["id"] for row in made.release("accepted")] == [chosen]
    assert {row["id"] for row in made.release("review")} == rest | flagged
    folder = made.out / "release"
    assert (
        f"**{len(flagged)} questions that a model wrote are held back in `unchecked`**"
        in (folder / "README.md").read_text()
    )
    texts = {row["question"] for row in made.release("unchecked")}
    for path in folder.rglob("*.*"):
        if path.suffix in {".json", ".jsonl", ".tsv"}:
            assert not any(text in path.read_text() for text in texts), path


def test_unchecked_questions_are_told_by_their_flag_in_whatever_chunks() -> None:
    flags = [["model_assisted"], ["unchecked"], None, [], ["a", "unchecked"], ["uncheckedly"]]
    rows = [{"id": i, "flags": own} for i, own in enumerate(flags)]
    parts = [pa.Table.from_pylist(rows, schema=QUESTIONS).slice(*at) for at in ((1, 2), (0, 0), (3, 3))]
    assert unchecked_in(pa.concat_tables(parts)).to_pylist() == [True, False, False, True, False]
    assert unchecked_in(QUESTIONS.empty_table()).to_pylist() == []


@pytest.mark.slow
def test_without_a_panel_nothing_is_removed_and_the_card_says_so(many: Path, pruned: Outcome) -> None:
    folder = many.parent / "pruned" / "release"
    reasons = {row["reason"] for row in rows_of(folder / "rejected" / "test-00000-of-00001.parquet")}
    assert not reasons & {"answered_blind", "blind_balance"}
    assert all(row.asked == row.released and row.debiased is not None for row in pruned.released.blind)
    assert (
        "No model was asked without the video, so no question was removed as guessable."
        in (folder / "README.md").read_text()
    )


@pytest.mark.slow
def test_debiased_is_what_pruning_leaves(many: Path, tmp_path: Path) -> None:
    build(many, tmp_path / "out", generate=FEW, prune={"tau": 0.1, "batch": 20})
    folder = tmp_path / "out" / "release"
    full = rows_of(folder / "data" / "test-00000-of-00001.parquet")
    debiased = rows_of(folder / "data" / "debiased-00000-of-00001.parquet")
    assert debiased == [row for row in full if not row["pruned"]]
    assert 0 < len(debiased) < len(full)
    provenance = rows_of(folder / "provenance" / "test-00000-of-00001.parquet")
    for row, about in zip(full, provenance, strict=True):
        assert row["pruned"] == (about["removed_in_round"] is not None)
        if row["pruned"]:
            assert about["bias_score"] is not None
    per_task = {row["question_type"] for row in full}
    for task in per_task:
        before, after = (sum(row["question_type"] == task for row in rows) for rows in (full, debiased))
        assert after >= min(before, 10)


@pytest.mark.slow
def test_the_same_bytes_whatever_the_order_of_scenes(many: Path, pruned: Outcome, tmp_path: Path) -> None:
    write_scenes(tmp_path / "meta" / "meta.json", dict(reversed(MANY.items())))
    build(tmp_path / "meta", tmp_path / "two", **PRUNED)
    assert release_of(tmp_path / "two") == release_of(many.parent / "pruned")


@pytest.mark.slow
def test_pruning_runs_again_only_where_questions_or_its_settings_changed(
    many: Path, pruned: Outcome, tmp_path: Path
) -> None:
    out = copied(many, tmp_path / "out")

    def ran(**sections: Any) -> list[set[str]]:
        outcome = whys(build(many, out, **PRUNED | sections))
        return [outcome[stage] for stage in ("select", "filter", "prune")]

    assert [whys(pruned)[stage] for stage in ("select", "filter", "prune")] == [{"new"}] * 3
    assert ran() == [{"reused"}] * 3
    assert ran(prune={"tau": 0.3}) == [{"reused"}, {"reused"}, {"config"}]
    assert ran(prune={"tau": 0.3}, blind={"models": [], "remove": "any"}) == [{"reused"}, {"config"}, {"reused"}]


@pytest.mark.slow
@pytest.mark.usefixtures("pruned")
def test_a_dry_run_tells_of_them(many: Path, tmp_path: Path) -> None:
    config = config_of(many, **PRUNED)
    assert whys(Builder(config, tmp_path / "out").dry_run())["prune"] == {"new"}
    copied(many, tmp_path / "out")
    assert all(why == {"reused"} for why in whys(Builder(config, tmp_path / "out").dry_run()).values())


def test_a_key_that_is_missing_is_told_before_the_work(selected: tuple[Path, pa.Table], tmp_path: Path) -> None:
    config = config_of(selected[0], blind={"models": [{"provider": "openai", "model": "big"}]})
    with pytest.raises(ConfigError, match="model big: its API key is missing: export OPENAI_API_KEY="):
        Builder(config, tmp_path / "out").check()
    Builder(config, tmp_path / "out", keys={"OPENAI_API_KEY": "sk-secret"}).check()
    Builder(config, tmp_path / "out").check("export")


@pytest.mark.parametrize("stage", ["filter", "prune", "export"])
def test_a_stage_over_all_scenes_takes_no_scenes(stage: str, many: Path, tmp_path: Path) -> None:
    config = config_of(many, **PRUNED)
    with pytest.raises(ConfigError, match=f"stage {stage} looks at all scenes at once"):
        Builder(config, tmp_path / "out").stage(stage, ["*"])


@pytest.mark.parametrize("stage", ["author", "blind", "filter", "prune"])
def test_a_stage_that_is_switched_off_says_so(stage: str, selected: tuple[Path, pa.Table], tmp_path: Path) -> None:
    build(selected[0], tmp_path / "out")
    before = rows_of(tmp_path / "out" / "manifest.parquet")
    with pytest.raises(ConfigError, match=f"stage {stage} is switched off"):
        Builder(config_of(selected[0]), tmp_path / "out").stage(stage)
    assert rows_of(tmp_path / "out" / "manifest.parquet") == before


@pytest.mark.parametrize("stage", ["filter", "prune", "export"])
def test_a_stage_over_all_scenes_needs_a_build_before_it(stage: str, many: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no results of stage select yet"):
        Builder(config_of(many, **PRUNED), tmp_path / "out").stage(stage)


@pytest.mark.slow
def test_what_was_removed_stays_removed_while_a_model_is_down(
    selected: tuple[Path, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scene is added meanwhile: its questions are held back, and the others have the verdicts that they had."""
    monkeypatch.setattr(rate_limit, "FIRST_PAUSE_S", 0.01)  # nobody listens: no minute is waited
    questions, meta, out = selected[1].to_pylist(), tmp_path / "meta", tmp_path / "out"
    truths = {row["text"]: right(row) for row in questions if row["id"] % 4}
    write_scenes(meta / "meta.json", SCENES)
    with running(replies=truths) as up:
        with running(replies=truths) as other:
            models = [
                {"provider": "openai", "model": name, "base_url": f"{server.address}/v1", "attempts": 1, "rpm": 100_000}
                for name, server in (("a", up), ("b", up), ("c", other))
            ]
            made = Asked(meta, out, questions, models)
            assert made.build().released.held["pending"] == 0
        gone = {row["id"] for row in made.release("rejected") if row["reason"] == "answered_blind"}
        stayed, before = {row["id"] for row in made.release("data")}, release_of(out)
        assert len(gone) > len(questions) / 2
        assert not (out / "release" / "pending").exists()
        write_scenes(meta / "meta.json", SCENES | {"office": ALL["office"]})
        outcome = made.build()
        again = whys(made.build())
    waiting_since = candidate(out)
    assert waiting_since is not None
    assert [found.gate for found in waiting_since.failed] == ["panel"]
    assert waiting_since.failed[0].told.startswith("c gave no reply to ")
    assert release_of(out) == before, "it is not released"
    accept(out, ["panel"], 5)
    assert {row["id"] for row in made.release("data") if row["scene_name"] != "office"} == stayed
    refused = made.release("rejected")
    removed = {row["id"] for row in refused if row["reason"] == "answered_blind" and "office" not in row["scene"]}
    assert removed == gone
    waiting = made.release("pending")
    assert {row["scene_name"] for row in waiting} == {"office"}
    held = [row for row in refused if row["reason"] == "awaits_replies"]
    assert sorted(row["id"] for row in held) == [row["id"] for row in waiting]
    assert {(row["measured"], row["limit"], row["unit"]) for row in held} == {(2.0, 3.0, "models")}
    assert (outcome.quarantine, outcome.released.held["pending"]) == ([], len(waiting))
    assert waiting
    asked_of_c = sum(row["model"] == "c" for row in made.release("blind"))
    told = f"c gave no reply to {len(waiting)} of {asked_of_c} requests ("
    card = (out / "release" / "README.md").read_text()
    assert f"**{len(waiting)} questions are held back in `pending`** (`awaits_replies` in `rejected`): {told}" in card
    assert again["blind"] == {"missing"}, "asked again, since replies are missing"


@pytest.mark.slow
def test_what_hosted_models_cost_is_told_and_capped(selected: tuple[Path, pa.Table], tmp_path: Path) -> None:
    meta, questions = selected
    with running() as server:
        model = {"provider": "openai", "model": "plain", "base_url": f"{server.address}/v1", "max_tokens": 4}
        model |= {"price": {"input": 1000.0, "output": 10000.0}}  # 4 cents a reply
        sections: dict[str, Any] = {"generate": TASKS, "blind": {"models": [model], "orders": 1}}
        config = config_of(meta, **sections)
        assert forecast_of(config, tmp_path / "out") is None, "there are no questions yet"
        capped = build(meta, tmp_path / "out", **sections, limit_cost=1.0)
        assert capped.released.models[0].failed.keys() == {"budget"}
        assert capped.released.held["pending"] == questions.num_rows - capped.released.models[0].requests
        sent = len(server.records())
        assert 0.04 * sent <= 1.0
        forecast = forecast_of(config, tmp_path / "out")
        assert (forecast[0].requests, forecast[0].kept) == (questions.num_rows, sent)
        assert forecast[0].output_tokens == 2 * forecast[0].asked
        before = forecast[0].most_usd
        outcome = build(meta, tmp_path / "out", **sections)
        (told,) = outcome.released.models
        assert (told.requests, told.cost_usd) == (questions.num_rows, pytest.approx(0.04 * questions.num_rows))
        assert before >= 0.04 * (questions.num_rows - sent)
    card = (tmp_path / "out" / "release" / "README.md").read_text()
    assert f"- plain: {questions.num_rows} replies, {20 * questions.num_rows} tokens read" in card
    table = spending_table(config, tmp_path / "out")
    assert table.row_count == 1


def test_names_of_models_are_their_own() -> None:
    models = [{"provider": "openai", "model": model, "name": "twin"} for model in ("a", "b")]
    with pytest.raises(ValueError, match="the name twin is taken"):
        BlindConfig.model_validate({"models": models})


def test_the_columns_of_urban_questions_can_be_tested_too(tmp_path: Path) -> None:
    text = "What comes next?\nChoices:\nA. Ascend\nB. Hover"
    row = {"Question_id": 3, "video_id": "a.mp4", "question_category": "Duration", "question": text, "answer": "B"}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    (found,) = read_questions(tmp_path / "q.jsonl")
    assert (found.id, found.scene_name, found.question_type) == (3, "a.mp4", "Duration")
    assert (found.question, found.options, found.ground_truth) == ("What comes next?", ("A. Ascend", "B. Hover"), "B")


@pytest.mark.slow
def test_no_key_is_in_anything_that_is_written(
    selected: tuple[Path, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "FIRST_PAUSE_S", 0.01)  # nobody listens: no minute is waited
    key = "sk-" + "planted" * 4
    model = {"provider": "openai", "model": "big", "base_url": "http://127.0.0.1:9/v1", "key_env": "MY_KEY"}
    config = config_of(selected[0], generate=TASKS, blind={"models": [model | {"attempts": 1}], "max_failed": 1})
    Builder(config, tmp_path / "out", keys={"MY_KEY": key}).build()
    replies = pq.read_table(tmp_path / "out" / "release" / "blind" / "test-00000-of-00001.parquet").to_pylist()
    assert {row["failure"] for row in replies} != {None}, "nobody listens there"
    for path in (p for p in (tmp_path / "out").rglob("*") if p.is_file()):
        raw = path.read_bytes()
        text = json.dumps(read_table(raw).to_pylist()) if path.suffix == ".parquet" else raw.decode(errors="replace")
        assert key not in text, path


@pytest.mark.parametrize(
    ("failures", "whole"),
    [([], True), ([None, None], True), ([None, *sorted(FINAL)], True), ([None, "timeout"], False)],
)
def test_what_may_be_answered_when_it_is_asked_again_is_asked_again(failures: list[str | None], whole: bool) -> None:
    replies = pa.table({"failure": pa.array(failures, pa.string())})
    assert BLIND.is_complete(arrow_bytes(replies), Path()) is whole
