"""A model looks at each category of a filmed scan: what it sees that boxes do not say is asked about no more."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from flows.orchestration.forecast import describe_forecast
from pipeline.core.findings import doubt
from pipeline.core.parquet import read_table
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.manifest import Outcome
from pipeline.formats.videos import VideoPictures
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.indoor.category_pictures import CategoryPicture, drawn_pictures, pictures_of
from pipeline.worlds.indoor.facts import IndoorScene, Visibility
from pipeline.worlds.indoor.look import COUNTS, calls, is_whole, look_at_scan, seen_in
from pipeline.worlds.indoor.observe import visibility
from pipeline.worlds.indoor.observe.visibility import ObserveConfig
from tests.builds import UNASKED, results_of, whys
from tests.llm.asking import KEY
from tests.llm.fake_server import running
from tests.worlds.indoor.readers.test_scene_folders import write

SOME = {name: STAGES[name] for name in ("unify", "fix", "video", "observe", "describe", "generate")}
UNIT, FPS = "scene/room", 30.0
ODD, MORE = "sofa", "table"  # what the model finds called otherwise, and of what it sees others


def config(root: Path, address: str | None = None, **sections: Any) -> BuildConfig:
    model = {"provider": "openai", "model": "plain", "base_url": f"{address}/v1", "key_env": "PLANTED_KEY"}
    own = {"model": model | {"inputs": ["text", "image"], "attempts": 1}} if address else {"model": None}
    coarse = {"indoor": {"frames_per_second": 5.0, "width": 80, "height": 60, "min_pixels": 5, "budgets": [16]}}
    given = {
        "observe": coarse,
        "generate": {"tasks": ["object_size_estimation", "object_abs_distance"]},
        "build": "vsi",
        "benchmark": "vsi",
        "roots": {"scene": root},
        "describe": own,
    }
    return build_config(given | UNASKED | sections)


def build(made: BuildConfig, out: Path) -> Outcome:
    return Builder(made, out, keys={"PLANTED_KEY": KEY}, stages=SOME).build()


def scene_of(out: Path, outcome: Outcome, stage: str) -> IndoorScene:
    return IndoorScene.model_validate_json(results_of(out, outcome)[stage, UNIT])


def says(shown: list[tuple[CategoryPicture, bytes]], **odd: str) -> str:
    """The reply of who sees what the boxes say; ``odd``: other answers, by picture."""
    honest = {f"picture_{n}": "no" if one.instance is None else "yes" for n, (one, _) in enumerate(shown, start=1)}
    return json.dumps(honest | odd)


def pictured(out: Path, scene: IndoorScene) -> dict[str, list[tuple[CategoryPicture, bytes]]]:
    video = VideoPictures(out / f"videos/{UNIT}.mp4")
    names = sorted({o.category for o in scene.facts.objects})
    wanted = [one for name in names for one in pictures_of(scene, name, FPS, COUNTS)]
    made = dict(drawn_pictures(scene, wanted, lambda n: video.at(0.0, n, UNIT)))
    return {name: [(one, made[one]) for one in wanted if one.category == name] for name in names}


@pytest.mark.slow
def test_a_build_asks_nothing_of_what_a_model_sees_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visibility, "SURFACE_FIT_MIN", 0.0)  # the film shows squares, and no room
    root, out = write(tmp_path / "scenes"), tmp_path / "out"
    bare = build(config(root), out)
    scene = scene_of(out, bare, "observe")
    before = read_table(results_of(out, bare)["generate", UNIT]).to_pylist()
    assert {ODD, MORE} <= {name for row in before if row["reason"] is None for name in row["operands"]}
    every = pictured(out, scene)
    drawn_where_things_are(scene, every)
    shown = {name: own for name, own in every.items() if own}
    whole = {name: [n for n, (one, _) in enumerate(own, 1) if one.instance is None] for name, own in shown.items()}
    replies = {name: says(own) for name, own in shown.items()}
    replies[ODD] = says(shown[ODD], picture_1="no")
    replies[MORE] = says(shown[MORE], **{f"picture_{n}": "yes" for n in whole[MORE][-1:]}, picture_1="unclear")
    keyed = {hashlib.sha256(own[0][1]).hexdigest(): replies[name] for name, own in shown.items()}
    with running(pictures=keyed) as server:
        outcome = build(config(root, server.address), out)
        sent = len(server.records())
        assert [f.requests for f in describe_forecast(config(root, server.address), out, [UNIT])] == [2 * len(shown)]
        again = build(config(root, server.address, describe=config(root, server.address).describe.model_dump()), out)
        assert len(server.records()) == sent == len(shown) + 2 <= calls(scene, 40), "twice of what differs, once of all"
        assert whys(again)["describe"] == {"reused"}
    found = scene_of(out, outcome, "describe")
    doubts = {(f.name, f.subject): (f.measured, f.limit, f.unit) for f in found.findings if f.severity == "doubt"}
    known = {(f.name, f.subject) for f in scene.findings if f.severity == "doubt"}
    assert doubts.keys() - known == {("called_otherwise", ODD), ("others_in_view", MORE)}
    assert doubts["called_otherwise", ODD] == (1, 0, "objects")
    assert doubts["others_in_view", MORE] == (1, 0, "pictures")
    rows = read_table(results_of(out, outcome)["generate", UNIT]).to_pylist()
    asked = {name for row in rows if row["reason"] is None for name in row["operands"]}
    assert not asked & {ODD, MORE}
    refused = {(r["reason"], *r["operands"]): (r["measured"], r["limit"]) for r in rows if r["reason"]}
    assert refused["others_in_view", MORE] == (1, 0)
    unanswered(scene)


def unanswered(scene: IndoorScene) -> None:
    def refuse(request: Request) -> Reply:
        raise ModelError("quota", "no more today")

    def black(second: float) -> np.ndarray:
        return np.zeros((48, 64, 3), dtype=np.uint8)

    nobody = CameraFrames(np.zeros(0), np.zeros(0, np.intp), np.zeros((0, 4, 4)), np.zeros((0, 4)), (64, 48))
    geometry = SceneGeometry(np.zeros((0, 3)), np.zeros((0, 3), np.int32), np.zeros(0, np.int32), nobody, round(FPS))
    found = look_at_scan(scene, scene, geometry, ObserveConfig(), black, (refuse,), 2)
    (finding,) = (f for f in found.findings if f.name == "look_quota")
    assert (finding.measured, finding.limit, finding.unit) == (2, 0, "failed calls")
    assert not is_whole(found)
    assert is_whole(scene)
    assert not any(f.severity == "doubt" for f in found.findings)
    late = scene.model_copy(update={"findings": (doubt("depth_disagrees", "sight", "late", "", 0.8, 0.9, "share"),)})
    assert calls(late, 40) == 0, "where poses are off, boxes would be drawn beside their things"


def drawn_where_things_are(scene: IndoorScene, every: dict[str, list[tuple[CategoryPicture, bytes]]]) -> None:
    """Each shown thing has a crop of its own, at its time; nothing of the category may be in the other pictures."""
    sweep = {number: place for place, number in enumerate(scene.facts.observation.sweep)}  # type: ignore[union-attr]
    bare = 0
    for name, own in every.items():
        things = [o for o in scene.facts.objects if o.category == name]
        crops = [one.instance for one, _ in own if one.instance is not None]
        assert len(crops) == len(set(crops)) == min(COUNTS.crops, sum(seen(o.visibility) for o in things))
        for one, raw in own:
            assert one.instance is None or max(Image.open(io.BytesIO(raw)).size) == 320
            if one.second is not None:
                assert one.frame / FPS == pytest.approx(one.second, abs=1.01 / FPS)
                continue
            at, bare = sweep[one.frame], bare + 1
            runs = [run for o in things if o.visibility for run in o.visibility.in_view]
            assert not any(first - 1 <= at <= last + 1 for first, last in runs)
    assert bare >= 3


def seen(visibility: Visibility | None) -> bool:
    return visibility is not None and visibility.best_s is not None


SHOWN = [
    (CategoryPicture("chair", 30, 1.0, 0), b"one"),
    (CategoryPicture("chair", 60, 2.0, 1), b"two"),
    (CategoryPicture("chair", 30, 1.0, None), b"whole"),
    (CategoryPicture("chair", 90, None, None), b"bare"),
]


def always(said: Callable[[int], dict[str, str]]) -> Callable[[Request], Reply]:
    asked = iter(range(9))
    return lambda _: Reply(json.dumps(said(next(asked))))


def test_a_word_counts_that_is_said_in_both_orders() -> None:
    def honest(_: int) -> dict[str, str]:
        return dict(json.loads(says(SHOWN)))

    assert seen_in("chair", SHOWN, FPS, always(honest)) == []
    assert seen_in("chair", SHOWN, FPS, always(lambda n: honest(n) | ({"picture_2": "no"} if n == 0 else {}))) == []
    assert seen_in("chair", SHOWN, FPS, always(lambda n: honest(n) | {"picture_2": "unclear"})) == []
    (wrong,) = seen_in("chair", SHOWN, FPS, always(lambda n: honest(n) | {"picture_2": "no"}))
    assert (wrong.name, wrong.subject, wrong.measured) == ("called_otherwise", "chair", 1)
    assert wrong.message.endswith("1 of 2 things otherwise than chair: #1 (2.0 s)")
    (more,) = seen_in("chair", SHOWN, FPS, always(lambda n: honest(n) | {"picture_3": "yes", "picture_4": "yes"}))
    assert (more.name, more.measured, more.limit, more.unit) == ("others_in_view", 2, 0, "pictures")


def test_who_always_chooses_the_first_word_puts_nothing_in_doubt() -> None:
    def first(request: Request) -> Reply:
        assert request.schema
        return Reply(json.dumps({name: one["enum"][0] for name, one in request.schema["properties"].items()}))

    assert seen_in("chair", SHOWN, FPS, first) == []
