"""Turning, moving or mirroring a sample scan changes the answers exactly as it must."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.benchmarks.vsi.rules import PROFILES, STRICT
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.schema import OrientedBox
from pipeline.core.tables import selected_questions
from pipeline.engine.config import build_config
from pipeline.engine.run import run_here
from pipeline.geometry.scans import SceneGeometry
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.registry import READERS
from tests.builds import UNASKED
from tests.conftest import Placed, Samples, make_scene, watched
from tests.tables import candidates
from tests.worlds.indoor.readers import tiny_scans

SCENE = "arkitscenes/49900002"
MIRRORED = {"left": "right", "Left": "Right"}
# A number within this of a limit may fall on the other side of it once the coordinates are rounded differently.
ROUNDING = 1e-6


@pytest.fixture(scope="module")
def filmed(samples: Samples) -> tuple[IndoorScene, SceneGeometry]:
    reader, root = READERS["arkitscenes"], samples.folder / "arkitscenes"
    ref = next(ref for ref in reader.scenes(root).scenes if ref.id == SCENE)
    scene = reader.read(SceneFiles(root, ref))
    geometry = reader.geometry(SceneFiles(root, ref), scene)
    assert geometry is not None
    return observe(scene, geometry, ObserveConfig()), geometry


def moved(scene: IndoorScene, matrix: np.ndarray, shift: np.ndarray) -> IndoorScene:
    """The scene with every point p at ``matrix @ p + shift``."""

    def box(old: OrientedBox) -> OrientedBox:
        axes = np.array(old.axes) @ matrix.T
        center = matrix @ np.array(old.center) + shift
        return OrientedBox.model_validate(
            {"center": tuple(center.tolist()), "lengths": old.lengths, "axes": tuple(map(tuple, axes.tolist()))}
        )

    floor = tuple(
        tuple((float(x), float(y)) for x, y in np.array(ring) @ matrix[:2, :2].T + shift[:2])
        for ring in scene.facts.room.floor or ()
    )
    objects = tuple(o.model_copy(update={"box": box(o.box)}) for o in scene.facts.objects)
    return outlined(scene.with_facts(objects=objects, room=scene.facts.room.model_copy(update={"floor": floor})))


def outlined(scene: IndoorScene) -> IndoorScene:
    """Without the floor that the mesh shows: its grid does not turn with the scene."""
    return scene.with_facts(room=scene.facts.room.model_copy(update={"seen_floor": None}))


def turned(yaw_deg: float) -> np.ndarray:
    a = np.radians(yaw_deg)
    return np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])


def rows(scene: IndoorScene) -> dict[int, tuple[str | None, str | None, float | None, float | None]]:
    table = candidates(IndoorView(scene, STRICT), list(TASKS.values()))
    columns = (table[name].to_pylist() for name in ("id", "answer", "reason", "measured", "limit"))
    return {key: rest for key, *rest in zip(*columns, strict=True)}  # type: ignore[misc]


@pytest.fixture(scope="module")
def before(filmed: tuple[IndoorScene, SceneGeometry]) -> dict:
    return rows(outlined(filmed[0]))


def differing(before: dict, after: dict, swap: dict[str, str]) -> list[int]:
    """Candidates whose answer or reason is not what it must be, those on a limit or on the floor's grid apart."""
    wrong = []
    for key in before.keys() & after.keys():
        (answer, reason, measured, limit), (found, why, value, bound) = before[key], after[key]
        for one, other in swap.items():
            answer = answer and answer.replace(one, "\0").replace(other, one).replace("\0", other)
        on_limit = any(
            m is not None and b is not None and abs(m - b) < ROUNDING for m, b in ((measured, limit), (value, bound))
        )
        if (found, why) != (answer, reason) and not on_limit and "leaves_the_floor" not in (reason, why):
            wrong.append(key)
    return wrong


def test_turned_and_moved(filmed: tuple[IndoorScene, SceneGeometry], before: dict) -> None:
    after = rows(moved(filmed[0], turned(-108.6), np.array([-12.3, 44.9, 7.1])))
    # Routes that leave the floor by less than a cell of its grid may come or go, and with them what continues them.
    assert len(before.keys() & after.keys()) > 0.9 * len(before)
    assert differing(before, after, {}) == []


def test_mirrored(filmed: tuple[IndoorScene, SceneGeometry], before: dict) -> None:
    mirror = turned(63.4) @ np.diag([-1.0, 1.0, 1.0])
    after = rows(moved(filmed[0], mirror, np.zeros(3)))
    assert len(before.keys() & after.keys()) > 0.9 * len(before)
    assert differing(before, after, MIRRORED) == []
    assert any(answer and "left" in answer.lower() for answer, *_ in before.values())


@pytest.mark.parametrize("yaw", [37.0, 180.0])
def test_the_camera_sees_the_same_in_a_turned_scan(filmed: tuple[IndoorScene, SceneGeometry], yaw: float) -> None:
    scene, geometry = filmed
    matrix, shift = turned(yaw), np.array([3.0, -2.0, 0.5])
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = matrix, shift
    f = geometry.frames
    frames = type(f)(f.time_s, f.number, motion @ f.world_T_camera, f.intrinsics, f.size, f.skipped, f.depth_m, f.color)
    there = SceneGeometry(geometry.vertices @ matrix.T + shift, geometry.faces, geometry.vertex_object, frames)
    seen = observe(moved(scene, matrix, shift), there, ObserveConfig())
    for one, other in zip(scene.facts.objects, seen.facts.objects, strict=True):
        assert one.visibility.first_seen_s == other.visibility.first_seen_s
        assert abs(one.visibility.largest_pixels - other.visibility.largest_pixels) <= 3  # rays are float32


THINGS: list[Placed] = [
    ("table", (0, 0, 0.4), (1.5, 0.8, 0.8), 0),
    ("sofa", (3, 0, 0.45), (2, 0.9, 0.9), 0),
    ("lamp", (0, 3, 0.5), (0.3, 0.3, 1), 0),
    ("bed", (4, 4, 0.3), (2, 1.5, 0.6), 0),
]
FLOOR = (((-5.0, -5.0), (9.0, -5.0), (9.0, 9.0), (-5.0, 9.0), (-5.0, -5.0)),)
WRITERS: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {  # and what of a scan its film lies in
    "scannet": (tiny_scans.write_scannet, ("*.sens",)),
    "scannetpp": (tiny_scans.write_scannetpp, ("iphone",)),
    "arkitscenes": (tiny_scans.write_arkitscenes, ("*_frames", "*.mov")),
}


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("n", "area", "floor"),
    [(0, None, None), (1, 40.0, None), (2, None, FLOOR), (3, 40.0, FLOOR), (4, None, None), (4, 40.0, FLOOR)],
)
def test_few_objects_cost_questions_and_nothing_else(n: int, area: float | None, floor: object, profile: str) -> None:
    bare = make_scene(THINGS[:n], area=area)
    bare = bare.with_facts(room=bare.facts.room.model_copy(update={"floor": floor}))
    nothing_shown = watched(bare, {(name, 0): None for name, *_ in THINGS})
    told = n if profile == "official" else min(n, 3)  # the size of a bed is usual, and known by its name
    for scene, sizes in ((bare, told), (watched(bare, {}), told), (nothing_shown, n if profile == "official" else 0)):
        found = candidates(IndoorView(scene, PROFILES[profile]), list(TASKS.values()))
        asked = selected_questions(select(found, TASKS, 6))["task"].to_pylist()
        assert asked.count("object_size_estimation") + asked.count("object_size_comparison") == sizes
        assert ("room_size_estimation" in asked) == (area is not None)


@pytest.mark.slow
@pytest.mark.parametrize("reader", WRITERS)
@pytest.mark.parametrize("n", [1, 4])
def test_a_scan_without_its_film_is_asked_about_all_the_same(
    reader: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `scan2qa doctor` promises: what no camera looked at is not unseen."""
    monkeypatch.setattr(tiny_scans, "THINGS", tiny_scans.THINGS[:n])
    write, film = WRITERS[reader]
    write(tmp_path / "root")
    for path in [path for pattern in film for path in (tmp_path / "root").rglob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    every = {"generate": {"rules": {"words": "official"}}}  # what is usual is asked, too
    config = build_config({"benchmark": "vsi", "roots": {reader: tmp_path / "root"}} | every | UNASKED)
    outcome = Builder(config, tmp_path / "out", run_here).build()
    assert outcome.quarantine == []
    asked = Counter(outcome.released.questions)
    assert asked["object_size_estimation"] + asked["object_size_comparison"] >= min(n, 2)
