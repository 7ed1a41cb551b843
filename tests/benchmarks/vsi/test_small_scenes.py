"""Every task on scenes of which little is known: none of them costs the scene."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import asked_in
from pipeline.engine.config import build_config
from pipeline.engine.run import run_here
from pipeline.questions.selection import select
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.view import IndoorView
from tests.builds import UNASKED
from tests.conftest import Placed, make_scene, watched
from tests.tables import candidates
from tests.worlds.indoor.readers import tiny_scans

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
@pytest.mark.parametrize("floor", [None, FLOOR], ids=["no floor", "floor"])
@pytest.mark.parametrize("area", [None, 20.0])
@pytest.mark.parametrize("n", range(5))
def test_few_objects_cost_questions_and_nothing_else(n: int, area: float | None, floor: object, profile: str) -> None:
    bare = make_scene(THINGS[:n], area=area)
    bare = bare.with_facts(room=bare.facts.room.model_copy(update={"floor": floor}))
    nothing_shown = watched(bare, {(name, 0): None for name, *_ in THINGS})
    for scene, sizes in ((bare, n), (watched(bare, {}), n), (nothing_shown, n if profile == "official" else 0)):
        found = candidates(IndoorView(scene, PROFILES[profile]), list(TASKS.values()))
        asked = asked_in(select(found, TASKS, 6))["task"].to_pylist()
        assert asked.count("object_size_estimation") == sizes
        assert ("room_size_estimation" in asked) == (area is not None)


@pytest.mark.slow
@pytest.mark.parametrize("reader", WRITERS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_scan_without_its_film_is_asked_about_all_the_same(
    reader: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `scan2qa doctor` promises: what no camera looked at is not unseen."""
    monkeypatch.setattr(tiny_scans, "THINGS", tiny_scans.THINGS[:n])
    write, film = WRITERS[reader]
    write(tmp_path / "root")
    for path in [path for pattern in film for path in (tmp_path / "root").rglob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    config = build_config({"benchmark": "vsi", "roots": {reader: tmp_path / "root"}} | UNASKED)
    outcome = Builder(config, tmp_path / "out", run_here).build()
    assert outcome.quarantine == []
    assert outcome.released.questions["object_size_estimation"] >= min(n, 2)
