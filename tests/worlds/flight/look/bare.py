"""Sample flights without what their maps declare of looks, and what the sample city draws."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.formats.videos import VideoPictures
from pipeline.geometry.colours import margins
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.files import SceneFiles
from pipeline.samples.flight.city import Block, Form, blocks
from pipeline.samples.flight.write import FPS, FlightTruth
from pipeline.worlds.flight.facts import FlightScene, Landmark
from pipeline.worlds.flight.look.look import TALL, UNCLEAR, WIDE, Answer, PicturedThings, pictured, ratio_of
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.registry import READERS

DECLARED: Final = ("colour", "roof_shape")
CONFIG: Final = MotionConfig()
MOST: Final = 40
_SHAPES: Final[dict[Form, str]] = {
    "box": "flat", "domed": "domed", "pitched": "pitched", "church": "pitched", "rounded": "rounded",
}  # fmt: skip


@dataclass
class Bare:
    """A flight: as read, as observed by its map alone, what its video shows, and what was planted."""

    before: FlightScene
    geometry: FlightGeometry
    observed: FlightScene
    shown: PicturedThings
    truth: FlightTruth

    def drawn(self, mark: Landmark) -> Block:
        """The block of the city that a landmark is."""
        away = [np.hypot(*np.subtract(solid.center, mark.center)) for solid in self.truth.buildings]
        return [block for block in blocks() if block.form != "park"][int(np.argmin(away))]

    def honest(self, mark: Landmark) -> Answer:
        """What anybody says who sees it."""
        block, look = self.drawn(mark), mark.appearance
        low, high = ratio_of(mark)
        size = TALL if low >= 1 else WIDE if high <= 1 else UNCLEAR
        shape = _SHAPES.get(block.form, UNCLEAR)
        said = {"kind": look.noun if look else UNCLEAR, "proportions": size, "roof_shape": shape}
        return said | dict.fromkeys(("walls", "roof"), word_of(block.color))


def word_of(colour: tuple[int, int, int]) -> str:
    """The word for a colour as it is drawn."""
    found = margins(np.array([colour], dtype=np.float64))
    return max(found, key=lambda word: float(found[word][0]))


def stripped(flights: Path, names: tuple[str, ...], into: Path) -> Path:
    """A root of some sample flights whose maps declare no colour and no roof."""
    for name in names:
        shutil.copytree(flights / name, into / name)
        for path in (into / name).glob("*.geojson"):
            found = json.loads(path.read_text())
            for feature in found["features"]:
                for key in DECLARED:
                    feature["properties"].pop(key, None)
            path.write_text(json.dumps(found))
    return into


def bare(flights: Path, name: str, into: Path) -> Bare:
    """One of the sample flights."""
    root, reader = stripped(flights, (name,), into), READERS["flights"]
    (ref,) = reader.scenes(root).scenes
    files = SceneFiles(root, ref)
    before = reader.read(files)
    geometry = reader.geometry(files, before)
    observed = observe_flight(before, geometry, CONFIG)
    video = VideoPictures(root / name / "video.mp4")

    def picture_at(second: float) -> np.ndarray:
        found = video(int(second * FPS))
        assert found is not None
        return found

    shown = pictured(observed, geometry, picture_at, MOST)
    return Bare(
        before,
        geometry,
        observed,
        shown,
        FlightTruth.model_validate_json((flights / "truth" / f"{name}.json").read_bytes()),
    )
