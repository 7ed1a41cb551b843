"""What `strict` asks less often than it occurs, what it words otherwise, and what people may call otherwise."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.templates import load_template
from pipeline.engine.config import BuildConfig
from pipeline.questions.gate import are_lookalikes
from pipeline.questions.selection import select
from pipeline.worlds.indoor.facts import IndoorScene, Observation
from pipeline.worlds.indoor.view import IndoorView
from tests.builds import config_of
from tests.conftest import cube, make_scene


def rows(scene: IndoorScene, task: str, profile: str = "strict") -> list[dict[str, Any]]:
    return select(TASKS[task].candidates(IndoorView(scene, PROFILES[profile])), TASKS, 100).to_pylist()


def named(scene: IndoorScene, name: str) -> IndoorScene:
    return scene.model_copy(update={"id": f"made/{name}", "name": name})


def counted(*counts: int) -> IndoorScene:
    return make_scene([cube(f"thing {i}", 2.0 * i, 2.0 * j) for i, n in enumerate(counts) for j in range(n)])


def shares(scene: IndoorScene, task: str, profile: str = "strict") -> dict[str | None, float]:
    """Answer -> the share of such candidates that is asked."""
    found = TASKS[task].candidates(IndoorView(scene, PROFILES[profile]))
    return dict(zip(found["answer"].to_pylist(), found["share"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("counts", "share"), [((2, 2, 2, 3, 4), 1 / 3), ((2, 2, 3, 5, 6, 7, 8), 1.0), ((2, 3), 0.5), ((2, 2), 0.0)]
)
def test_two_is_at_most_a_third_of_the_counts_on_average(counts: tuple[int, ...], share: float) -> None:
    """Of three twos beside two others one is asked: a third."""
    found = shares(counted(*counts), "object_counting")
    assert found == {str(count): pytest.approx(share if count == 2 else 1.0, abs=2e-4) for count in counts}


def test_a_lot_takes_out_what_is_asked_less_often() -> None:
    asked, n = Counter[str](), 40
    for number in range(n):
        found = rows(named(counted(2, 2, 2, 3, 4), f"s{number}"), "object_counting")
        asked.update(row["answer"] for row in found if row["reason"] is None)
        assert {row["reason"] for row in found if row["answer"] is None} <= {"thinned"}
    assert asked["2"] == pytest.approx(n, abs=3 * (3 * n * 1 / 3 * 2 / 3) ** 0.5)
    assert asked["3"] == asked["4"] == n


@pytest.mark.parametrize(
    ("name", "side_m", "share"),
    [("tv", side_m, share) for side_m, share in ((1.0, 0.1), (1.31, 0.1), (1.32, 1.0), (0.77, 0.1), (0.76, 1.0))]
    + [("fireplace", 1.6, 0.1), ("bed", 2.0, 0.0), ("bed", 2.9, 0.0)],
)
def test_usual_sizes_of_common_names_are_thinned(name: str, side_m: float, share: float) -> None:
    """Boxes of televisions measure 0.96 m, by hand 1.05 m: a quarter beyond both. Beds have one size."""
    scene = make_scene([(name, (0, 0, 0.3), (side_m, 0.4, 0.5), 0)])
    assert list(shares(scene, "object_size_estimation").values()) == [share]
    assert list(shares(scene, "object_size_estimation", "official").values()) == [1.0]


@pytest.mark.parametrize(("apart_m", "share"), [(1.99, 0.8), (2.01, 1.0)])
def test_short_distances_are_thinned(apart_m: float, share: float) -> None:
    pair = make_scene([cube("easel", 0, 0, 0.2), cube("globe", apart_m + 0.2, 0, 0.2)])
    assert list(shares(pair, "object_abs_distance").values()) == [share]


@pytest.mark.parametrize(
    ("places", "ahead", "behind", "share"),
    [
        (((-1, 5), (-4, 7), (-6, -7), (-2, 4), (-4, 6), (-9, 9)), 12, 2, 1 / 3),
        (((1, -2), (9, -6), (8, -8), (2, 2), (8, -4), (8, 3)), 4, 2, 1.0),
        (((0, 0), (0, 4), (3, 8), (5, 5), (-4, 8)), 6, 0, 0.0),
    ],
)
def test_twice_as_many_hard_directions_are_ahead_as_behind(places: Any, ahead: int, behind: int, share: float) -> None:
    """Most scans have none behind, and how many a scan asks would tell."""
    names = ("easel", "globe", "anvil", "lantern", "barrel", "trunk")
    scene = make_scene([cube(name, x, y, 0.2) for name, (x, y) in zip(names, places, strict=False)])
    hard = TASKS["object_rel_direction_hard"]
    found = hard.candidates(IndoorView(scene, PROFILES["strict"])).to_pylist()
    asked = Counter((row["answer"].split("-")[0], row["share"]) for row in found if row["reason"] is None)
    assert asked == +Counter({("front", share): ahead, ("back", 1.0): behind})
    official = hard.candidates(IndoorView(scene, PROFILES["official"])).to_pylist()
    assert {row["share"] for row in official if row["reason"] is None} == {None}


def test_what_people_take_for_one_another_is_not_asked_about() -> None:
    scene = make_scene(
        [
            *(cube("table", 3.0 * i, 0) for i in range(2)),
            *(cube("desk", 3.0 * i, 3) for i in range(2)),
            cube("easel", 0, 6),
        ]
    )
    strict, official = rows(scene, "object_counting"), rows(scene, "object_counting", "official")
    assert {(*row["operands"], row["reason"], row["measured"]) for row in strict if row["role"]} == {
        ("desk", "taken_for_another", 2.0),
        ("table", "taken_for_another", 2.0),
    }
    assert sorted(row["operands"][0] for row in official if row["answer"] == "2") == ["desk", "table"]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [(("table", "desk"), "taken_for_another"), (("table", "coffee table"), None), (("desk", "office desk"), None)],
)
def test_labels_that_one_category_brings_together(labels: tuple[str, str], reason: str | None) -> None:
    scene = make_scene([cube("table", 3.0 * i, 0) for i in range(3)])
    raw = [item.model_copy(update={"raw_label": labels[i % 2]}) for i, item in enumerate(scene.facts.objects)]
    (row,) = rows(scene.with_facts(objects=tuple(raw)), "object_counting")
    assert row["reason"] == reason


def test_lookalikes_have_other_names() -> None:
    assert are_lookalikes("Couch", "sofa")
    assert not are_lookalikes("sofa", "sofa")


def test_without_a_look_at_the_video_the_wording_claims_none() -> None:
    scene = counted(3, 4)
    seen = Observation(
        frames_examined=1,
        frames_refined=0,
        frames_skipped={},
        depth_agreement=None,
        frames_per_second=1,
        min_pixels=1,
        budgets={},
        image=(1, 1),
    )
    for observation, words in ((None, "in the scanned space"), (seen, "in the space that the video shows")):
        view = IndoorView(scene.with_facts(observation=observation), PROFILES["strict"])
        found = select(TASKS["object_counting"].candidates(view), TASKS, 6).to_pylist()
        assert {row["text"] for row in found} == {f"How many thing {i}(s) are {words}?" for i in range(2)}
        assert {"annotated_only" in (row["flags"] or ()) for row in found} == {observation is None}
        released = select(TASKS["object_counting"].candidates(view), TASKS, 6, as_released=True).to_pylist()
        assert {row["text"] for row in released} == {f"How many thing {i}(s) are in this room?" for i in range(2)}
    template = load_template("vsi/questions/object_counting")
    assert template.parse("How many chair(s) are in the scanned space?") == {"category": "chair"}


def test_published_answers_beside_the_metadata_are_used(tmp_path: Path) -> None:
    def known(**sections: Any) -> Path | None:
        config: BuildConfig = config_of(tmp_path / "meta_info", **sections)
        return config.known_file

    (tmp_path / "meta_info").mkdir()
    assert known() is None
    (tmp_path / "test.jsonl").touch()
    assert known() == tmp_path / "test.jsonl"
    (tmp_path / "meta_info" / "questions.jsonl").touch()
    assert known() == tmp_path / "meta_info" / "questions.jsonl"  # the nearest
    assert known(known=str(tmp_path / "mine.jsonl")) == tmp_path / "mine.jsonl"
    assert known(known="none") is None
    assert known(generate={"profile": "official"}) is None
