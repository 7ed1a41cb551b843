"""What the tests share: the real data, hand-made scenes, and random ones."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.schema import Finding, OrientedBox, Source
from pipeline.engine.code import code_digest
from pipeline.questions.published import Published
from pipeline.reading.files import SceneFiles
from pipeline.samples.flight.pilot import PLANS
from pipeline.samples.flight.write import write_flights
from pipeline.samples.indoor.truth import PlantedTruth
from pipeline.samples.indoor.write import write_samples
from pipeline.worlds.indoor.facts import (
    BudgetFrames,
    BudgetVisibility,
    IndoorScene,
    Observation,
    Room,
    Scan,
    SceneObject,
    Visibility,
)
from pipeline.worlds.indoor.readers.vsi_meta import metadata_of
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.registry import READERS
from tests.environment import REAL_DATA, times
from tests.shared_files import kept, written_once
from tests.tables import candidates, read_questions

if TYPE_CHECKING:
    from tests.builds import Cli

pytest_plugins = ["tests.cost"]

# The same examples on every run: a red test stays red until its cause is mended, and no database is written.
settings.register_profile("scan2qa", deadline=None, derandomize=True, database=None, max_examples=times(60, 1000))
settings.load_profile("scan2qa")

os.fsync = lambda descriptor: None  # no test cuts the power, and a build waits for the disk thirty times

gc.disable()  # while modules are imported, of which hardly anything is ever garbage


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Has each of several processes begin to import at a file of its own, so that one alone makes a module's bytecode.

    In a fresh clone the asserts of all tests are rewritten, which takes as long as all imports.
    """
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    asked = [session.config.invocation_params.dir / argument for argument in session.config.args]
    files = sorted(file for folder in asked for file in folder.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Has what was imported stay out of every later search for garbage."""
    gc.freeze()
    gc.enable()


# The tasks that the unified metadata answer.
DIRECTIONS = tuple(f"object_rel_direction_{level}" for level in ("easy", "medium", "hard"))
METADATA_TASKS = (
    "object_counting",
    "object_size_estimation",
    "room_size_estimation",
    "object_abs_distance",
    "object_rel_distance",
    *DIRECTIONS,
)

Vec3 = tuple[float, float, float]
Placed = tuple[str, Vec3, Vec3, float]  # category, center, side lengths, yaw


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """A folder with sound metadata of scenes."""
    from tests.worlds.indoor.readers.broken_metadata import write_sound  # of few tests

    return write_sound(tmp_path / "meta").parent


@pytest.fixture(scope="session")
def real_vsi() -> Path:
    """Folder with VSI-Bench's released metadata (``meta_info``) and questions (``questions.jsonl``)."""
    return REAL_DATA / "vsi"


@pytest.fixture(scope="session")
def real_scenes(real_vsi: Path) -> list[IndoorScene]:
    """Every scene of the released metadata."""
    reader = READERS["vsi_meta"]
    listing = reader.scenes(real_vsi / "meta_info")
    assert listing.broken == ()
    return [reader.read(SceneFiles(real_vsi / "meta_info", ref)) for ref in listing.scenes]


@pytest.fixture(scope="session")
def real_questions(real_vsi: Path) -> list[Published]:
    """Every released question of these scenes."""
    return read_questions(real_vsi / "questions.jsonl")


@pytest.fixture
def scan2qa(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command in this process."""
    from tests.builds import command_line  # it takes a second that most tests need not spend

    return command_line(monkeypatch, capsys)


class Samples(NamedTuple):
    """The sample scans and what was planted in them."""

    folder: Path
    truth: PlantedTruth


@pytest.fixture(scope="session")
def samples() -> Samples:
    """All sample scans; not to be changed. Writing them takes half a minute of one core."""
    folder = kept("samples", code_digest(("pipeline.samples.indoor.write",)), write_samples)
    return Samples(folder, PlantedTruth.model_validate_json((folder / "truth.json").read_bytes()))


@pytest.fixture(scope="session")
def flights() -> Path:
    """All sample flights; not to be changed. Writing them takes a quarter of a minute of one core."""

    def write(folder: Path) -> None:
        assert write_flights(folder) == tuple(plan.id for plan in PLANS)

    return kept("flights", code_digest(("pipeline.samples.flight.write",)), write)


@pytest.fixture(scope="session")
def reference_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of docs/reference as `make docs` writes them, with their pictures; not to be changed."""

    def write(folder: Path) -> None:
        from tests.reference.__main__ import reference

        shutil.copytree(Path(__file__).resolve().parents[1] / "docs" / "reference" / "examples", folder / "examples")
        reference(folder)

    own = tmp_path_factory.getbasetemp()
    return written_once(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own, "reference", write)


def yaw_axes(yaw_deg: float) -> np.ndarray:
    """Axes (3, 3), rows, of a box turned counter-clockwise about the vertical."""
    cosine, sine = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
    return np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def make_box(center: Sequence[float], lengths: Sequence[float], yaw_deg: float = 0.0) -> OrientedBox:
    return OrientedBox.model_validate(
        {"center": tuple(center), "lengths": tuple(lengths), "axes": tuple(map(tuple, yaw_axes(yaw_deg).tolist()))}
    )


def make_scene(
    objects: Iterable[Placed],
    counts: dict[str, int] | None = None,
    area: float | None = 20.0,
    findings: Sequence[Finding] = (),
    name: str = "room1",
) -> IndoorScene:
    """A scene of boxes (category, center, side lengths, yaw in degrees); counts are those of the boxes unless given."""
    placed: list[SceneObject] = []
    boxed: dict[str, int] = {}
    for category, center, lengths, yaw_deg in objects:
        instance = boxed.get(category, 0)
        boxed[category] = instance + 1
        placed.append(SceneObject(category=category, instance=instance, box=make_box(center, lengths, yaw_deg)))
    return IndoorScene(
        id=f"made/{name}",
        dataset="made",
        name=name,
        source=Source(reader="made", reader_version=1, files=("made.json",), sha256="0" * 64),
        facts=Scan(objects=tuple(placed), counts=boxed if counts is None else counts, room=Room(area_m2=area)),
        findings=tuple(findings),
    )


def with_boxes(scene: IndoorScene, change: Callable[[OrientedBox], dict[str, Any]]) -> IndoorScene:
    """The scene with changed fields of each box."""
    objects = [
        item.model_copy(update={"box": item.box.model_copy(update=change(item.box))}) for item in scene.facts.objects
    ]
    return scene.with_facts(objects=tuple(objects))


def turned_box(box: OrientedBox, turn: np.ndarray) -> dict[str, Any]:
    """Center and axes of a box of which every point is turned by a matrix (3, 3)."""
    axes, center = np.array(box.axes) @ turn.T, turn @ np.array(box.center)
    return {"axes": tuple(map(tuple, axes.tolist())), "center": tuple(center.tolist())}


def make_doubt(name: str, subject: str, measured: float, limit: float, unit: str) -> Finding:
    return Finding(
        name=name, severity="doubt", subject=subject, message="", measured=measured, limit=limit, unit=unit, remedy=""
    )


def cube(category: str, x: float, y: float, side: float = 0.2, z: float = 0.5) -> Placed:
    """A cube of 20 cm on a table, in the order that `make_scene` takes."""
    return category, (x, y, z), (side, side, side), 0.0


def random_objects(seed: int, categories: int, repeated: int = 0) -> list[Placed]:
    """Boxes of furniture size in a room of 6 x 6 m; the first ``repeated`` categories have two or three instances.

    Coordinates come from a continuous distribution, so that no number lies on a limit by chance.
    """
    rng = np.random.default_rng(seed)
    names = [f"thing {chr(ord('a') + i)}" for i in range(categories)]
    objects: list[Placed] = []
    for number, name in enumerate(names):
        for _ in range(int(rng.integers(2, 4)) if number < repeated else 1):
            center, lengths = rng.uniform(0.0, [6.0, 6.0, 2.0]), rng.uniform(0.1, 0.9, 3)
            objects.append((name, _triple(center), _triple(lengths), float(rng.uniform(0.0, 360.0))))
    return objects


def _triple(values: np.ndarray) -> Vec3:
    x, y, z = map(float, values)
    return x, y, z


def watched(
    scene: IndoorScene,
    pixels: Mapping[tuple[str, int], int | None],
    extent: Mapping[str, float] | None = None,
    sampled: Mapping[tuple[str, int], int | None] | None = None,
    **of_frames: Any,
) -> IndoorScene:
    """The scene with a video that shows so many pixels of objects (category, instance), None for not one in any frame.

    Objects that are not named have 50 pixels; 20 count as seen. ``extent``: shares of longest sides, by category.
    ``sampled``: the same of 16 frames of the video; ``of_frames``: what these show of the room.
    """
    objects = []
    for item in scene.facts.objects:
        shown = pixels.get((item.category, item.instance), 50)
        seen = shown is not None and shown >= 20
        visibility = Visibility(
            frames_seen=int(seen),
            largest_pixels=shown or 0,
            absent=shown is None,
            extent_seen=(extent or {}).get(item.category, 1.0),
            first_seen_s=0.0 if seen else None,
            budgets={} if sampled is None else {16: in_frames(sampled.get((item.category, item.instance), 50))},
        )
        objects.append(item.model_copy(update={"visibility": visibility}))
    observation = Observation(
        frames_examined=1,
        frames_refined=0,
        frames_skipped={},
        frames_per_second=2.0,
        min_pixels=20,
        budgets={}
        if sampled is None
        else {16: BudgetFrames(**{"frames": 16, "without_pose_s": (), "plan_seen": 1.0} | of_frames)},
        image=(160, 120),
        depth_agreement=None,
    )
    return scene.with_facts(objects=tuple(objects), observation=observation)


def in_frames(pixels: int | None) -> BudgetVisibility:
    """An object with so many pixels in the best of some frames, None for not one."""
    return BudgetVisibility(
        pixels=pixels or 0,
        absent=pixels is None,
        first_seen_s=1.0 if pixels is not None and pixels >= 20 else None,
        first_shown_s=1.0 if pixels else None,
        extent_seen=min(1.0, (pixels or 0) / 50),
    )


def through_reader(scene: IndoorScene, folder: Path) -> IndoorScene:
    """The scene written as released metadata and read again, with whatever the reader finds in it."""
    raw = {**metadata_of(scene), "findings": []}
    (folder / "made.json").write_text(json.dumps({scene.name: raw}), encoding="utf-8")
    reader = READERS["vsi_meta"]
    (ref,) = reader.scenes(folder).scenes
    return reader.read(SceneFiles(folder, ref))


def rows_of(scene: IndoorScene, task: str, rules: Rules | str = "strict") -> list[dict[str, Any]]:
    """Every candidate row of one task."""
    chosen = PROFILES[rules] if isinstance(rules, str) else rules
    return candidates(IndoorView(scene, chosen), [TASKS[task]]).to_pylist()


def row_of(scene: IndoorScene, task: str, operands: Sequence[str], rules: Rules | str = "strict") -> dict[str, Any]:
    """The candidate row of these operands, which must be there once."""
    found = [r for r in rows_of(scene, task, rules) if r["operands"] == list(operands)]
    assert len(found) == 1, f"{len(found)} candidates {operands}"
    return found[0]


# Checks that hold under both profiles are tried under both. The grid of `official` moves distances by centimetres, so
# limits in metres are tried on its other rules with exact distances.
OFFICIAL_EXACT = PROFILES["official"].model_copy(update={"distance": "exact"})
BOTH = pytest.mark.parametrize("rules", [PROFILES["strict"], OFFICIAL_EXACT], ids=["strict", "official"])


def refusal_of(row: dict[str, Any]) -> tuple[str, float | None, float | None, str | None] | None:
    """Reason, measured value, limit and unit of a row; None if it is asked."""
    return None if row["reason"] is None else (row["reason"], row["measured"], row["limit"], row["unit"])
