"""What scenes will give, counted before a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.benchmarks.prospects import Cost, Terms, prospects
from pipeline.benchmarks.urbanvideo.benchmark import URBANVIDEO
from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneRef
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.observe.motion import MotionConfig
from tests.benchmarks.urbanvideo.flights import flight, motion

MOVES = [("ascend", 5, 20), ("turn left", 6, 90), ("fly forward", 9, 90), ("descend", 5, 15)]


class Made:
    """Gives scenes that are observed already; those of no name cannot be read."""

    def __init__(self, *scenes: FlightScene) -> None:
        self.scenes = {scene.id: scene for scene in scenes}

    def read(self, files: Any) -> FlightScene:
        if files.scene not in self.scenes:
            raise RawDataError(Path("log.bin"), "empty", "the file has no bytes", "copy it again")
        return self.scenes[files.scene]

    def geometry(self, files: Any, scene: FlightScene) -> None:
        return None


def test_each_missing_thing_has_its_cost(tmp_path: Path) -> None:
    reader = Made(flight(motion(MOVES), name="filmed"), flight(motion(MOVES), name="blind", filmed=False))
    refs = [SceneRef(f"made/{name}", (".",), "") for name in ("filmed", "blind", "broken")]
    tasks = ("Trajectory Captioning", "Sequence Recall", "Goal Detection")
    terms = Terms(MotionConfig(), URBANVIDEO.rules(), tasks, 6)
    found = prospects(URBANVIDEO, reader, tmp_path, refs, terms)  # type: ignore[arg-type]
    assert found.questions == 2  # of the first: one caption, and one of its three next movements up to the cap
    goal_cap = 2  # 6 * 317 / 1171, rounded up
    assert found.costs == (
        Cost("empty", ("made/broken",), (), None, False),
        Cost("no_landmark", ("made/filmed", "made/blind"), ("Goal Detection",), 2 * goal_cap, False),
        Cost("missing_video", ("made/blind",), tasks, 2, True),
    )
