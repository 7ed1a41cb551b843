"""A model says how many it sees of what questions name: what it doubts is what a review shows first."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.core.errors import StoreError
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.spatial import TopDownMap
from pipeline.core.tables import SELECTED, selected_questions
from pipeline.engine.config import build_config
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Result, Store
from pipeline.llm.base import Image, Reply, Request, Text
from pipeline.llm.failures import CLOSED, ModelError
from pipeline.llm.session import Session
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.review.review_bundle import make_review_bundle
from pipeline.stages.author import AUTHOR, is_blindfolded
from pipeline.stages.verify import doubts_in, is_complete, run, seen
from tests.builds import UNASKED
from tests.formats.logs.made_films import grey_film
from tests.llm.asking import KEY, hosted, table
from tests.llm.fake_server import running

UNIT = "made/room1"
BALL, CUP = "the red ball", "the rosé cup"
ROWS: list[dict[str, Any]] = [
    {"id": 1, "named": ["the gripper", BALL], "until_s": 1.0},
    {"id": 2, "named": ["the blue cup", CUP], "from_s": 0.5, "until_s": 1.5},
    {"id": 3, "named": None, "until_s": 2.0},
    {"id": 4, "named": ["the tower"]},
    {"id": 5, "named": [BALL], "until_s": 1.0},
    {"id": 6, "named": [BALL], "until_s": 1.25},  # of which there is no clip
]
# Once more it is asked for what it doubts alone, which is then the first thing: the cup it sees then.
REPLIES = {
    f'"thing_1": "{CUP}"': json.dumps({"thing_1": "one"}),
    '"thing_1": "the blue cup"': json.dumps({"thing_1": "unclear", "thing_2": "none"}),
    f'"thing_1": "{BALL}"': json.dumps({"thing_1": "several"}),
    '"thing_1": "the gripper"': json.dumps({"thing_1": "one", "thing_2": "several"}),
    '"thing_1": "the tower"': "I see a tower.",
}


@pytest.fixture
def context(tmp_path: Path) -> StageContext:
    """Results of the stages before it, with a film and two clips, each of four frames that grow brighter."""
    for name in ("room1", "one", "two"):
        (tmp_path / f"{name}.mp4").write_bytes(grey_film(range(0, 240, 60), 2))
    clips = [("one.mp4", 0.0, 1.0), ("two.mp4", 0.5, 1.5)]
    made = [{"clip": name, "from_s": start, "until_s": end} for name, start, end in clips]
    raw = {
        "select": table_bytes(pa.Table.from_pylist([row | {"scene": UNIT} for row in ROWS], SELECTED)),
        "video": json.dumps({"video": "room1.mp4"}).encode(),
        "clip": json.dumps({"clips": made}).encode(),
    }
    store = Store(tmp_path / STORE)
    results: dict[str, tuple[tuple[str, Result], ...]] = {
        stage: ((UNIT, store.put(stage, UNIT, "0" * 32, one, ".x")),) for stage, one in raw.items()
    }
    return StageContext(UNIT, {"shows": [["text", "image"], 2]}, tmp_path, results)


def test_what_a_model_doubts_twice_is_reviewed_first(context: StageContext) -> None:
    with running(replies=REPLIES) as server:
        spec = hosted(server.address, inputs=("text", "image"), attempts=1)
        with Session([spec], context.folder / "replies", {"PLANTED_KEY": KEY}) as session:
            asked = StageContext(
                UNIT, context.settings, context.folder, context.results, models=(lambda r: session.ask(spec.name, r),)
            )
            found = run(asked)
            sent = server.records()
            assert run(asked) == found
            assert len(server.records()) == len(sent) + 1, "replies are kept; what had none is asked again"
    assert len(sent) == 5, "one call for each part of the video, and one more for what is doubted there"
    shown = [part for part in sent[0]["body"]["messages"][-1]["content"] if part["type"] == "image_url"]
    assert len(shown) == 2
    rows = read_table(found)
    said = {(row["id"], row["thing"]): row["said"] or row["failure"] for row in rows.to_pylist()}
    assert said == {
        (1, "the gripper"): "one",
        (1, BALL): "several",
        (2, "the blue cup"): "unclear",
        (2, CUP): "unclear",
        (4, "the tower"): "malformed",
        (5, BALL): "several",
    }
    assert not is_complete(found, context.folder)
    questions = [row | {"scene": f"{UNIT}{9 - row['id']}"} for row in table(ROWS).to_pylist()]
    maps = {row["scene"]: TopDownMap() for row in questions}
    pack = make_review_bundle(questions, maps, (), {}, b"salt", doubts=doubts_in([rows]))
    assert [item.id for item in pack.items] == [5, 1, 6, 4, 3, 2]
    alike = [row | {"scene": UNIT, "group": None if row["id"] == 6 else f"{row['id'] % 2}"} for row in questions]
    apart = make_review_bundle(alike, {UNIT: TopDownMap()}, (), {}, b"salt")
    assert [item.id for item in apart.items] == [1, 2, 6, 3, 4, 5], "a round of the others lies between two of a group"
    (doubt,) = pack.truths[1].evidence
    assert (doubt["name"], doubt["subject"], doubt["value"]) == ("sees_several", BALL, 2.0)
    assert pack.truths[2].evidence == ()


def test_the_end_of_a_part_is_shown(context: StageContext) -> None:
    shown: list[Request] = []

    def look(request: Request) -> Reply:
        shown.append(request)
        raise ModelError("quota", "no more today")

    run(StageContext(UNIT, context.settings, context.folder, context.results, models=(look,)))
    parts = shown[0].messages[0].parts
    assert sum(isinstance(part, Image) for part in parts) == 2
    said = [part.text for part in parts if isinstance(part, Text)]
    assert [text for text in said if text.startswith("Second")] == ["Second 0.5:", "Second 1.5:"]


def test_a_build_that_is_stopped_keeps_no_answer(context: StageContext) -> None:
    def closed(request: Request) -> Reply:
        raise ModelError(CLOSED, "closed")

    with pytest.raises(StoreError, match="run it again"):
        run(StageContext(UNIT, context.settings, context.folder, context.results, models=(closed,)))


def test_the_choices_stand_in_the_other_order_the_second_time() -> None:
    orders: list[list[str]] = []

    def first_of(request: Request) -> Reply:
        (choices,) = {tuple(one["enum"]) for one in request.schema["properties"].values()}  # type: ignore[index]
        orders.append(list(choices))
        return Reply(json.dumps(dict.fromkeys(request.schema["properties"], choices[0])))  # type: ignore[index]

    assert seen(["the ball"], VisualInputs(()), first_of) == {"the ball": "unclear"}, "who takes the first sees nothing"
    assert orders == [["none", "one", "several", "unclear"], ["several", "one", "none", "unclear"]]


def test_questions_that_another_version_selected_are_told_as_such() -> None:
    old = pa.Table.from_pylist([], SELECTED).drop_columns(["named"])
    with pytest.raises(StoreError, match="no column named: another version of scan2qa made them; run the build again"):
        selected_questions(old)


@pytest.mark.parametrize(
    ("inputs", "video", "asked"),
    [(["text"], True, True), (["text"], False, True), (["text", "video"], True, True), (["video"], False, False)],
)
def test_a_model_that_sees_is_not_asked_where_there_is_no_film(inputs: list[str], video: bool, asked: bool) -> None:
    model = {"provider": "openai", "model": "m", "inputs": inputs}
    config = build_config(
        {"build": "b", "benchmark": "urbanvideo", "author": {"model": model}, "video": video} | UNASKED
    )
    assert AUTHOR.is_wanted(config) is asked
    assert bool(AUTHOR.models(config)) is asked
    assert is_blindfolded(config) is not asked
