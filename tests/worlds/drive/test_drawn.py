"""Films that are drawn of drives: things stand where the log has them, and no picture knows what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.drawing.raster import INK
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.drive.bev_video import COLOURS, PX_PER_M, WIDE, drawn
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from tests.worlds.drive.drives import box, lane, pose, read, write_log

Picture = npt.NDArray[np.uint8]


def film(root: Path, sweeps: int, **changes: Any) -> list[Picture]:
    """A car 10 m ahead and 5 m to the left, until a bus comes at the twelfth sweep."""
    car = [box(n, ty_m=5.0, **changes) for n in range(sweeps)]
    bus = [box(n, "b", category="BUS", tx_m=-20.0, length_m=12.0) for n in range(12, sweeps)]
    write_log(root, car + bus, [pose(n) for n in range(sweeps)], [lane(1)])
    footage = drawn(read(root, Argoverse2()))
    assert footage is not None
    return list(footage.frames())


def of_colour(picture: Picture, colour: tuple[int, int, int]) -> npt.NDArray[np.intp]:
    """(n, 2) pixels of a colour on the map: x, y."""
    y, x = np.nonzero((picture[:, :WIDE] == colour).all(2))
    return np.column_stack([x, y])


def test_things_stand_where_the_log_has_them(tmp_path: Path) -> None:
    first = film(tmp_path, 16)[0]
    middle = of_colour(first, COLOURS["car"]).mean(0)
    own = np.array([WIDE / 2, first.shape[0] / 2])
    ahead, left = (own - middle)[::-1] / PX_PER_M
    assert (ahead, left) == pytest.approx((10, 5), abs=0.35), "a pixel is a third of a metre"
    x, y = np.ptp(of_colour(first, COLOURS["car"]), axis=0)
    assert (x, y) == pytest.approx((4, 10), abs=2), "2 m wide, 4 m long, heading as we do; its edges are black"


def test_no_picture_knows_what_comes_later(tmp_path: Path) -> None:
    whole, part = film(tmp_path / "whole", 20), film(tmp_path / "part", 12)
    assert len(part) == 12
    assert all((a == b).all() for a, b in zip(whole, part, strict=False))
    assert not any(len(of_colour(picture, COLOURS["bus"])) for picture in whole[:12])
    assert len(of_colour(whole[12], COLOURS["bus"])) > 50


def test_every_picture_says_that_it_was_drawn(tmp_path: Path) -> None:
    pictures = film(tmp_path, 8)
    assert len({picture[338:357, :190].tobytes() for picture in pictures}) == 1
    assert (pictures[0][338:357, :190] == INK["red"]).all(2).sum() > 300, "letters"


def test_lights_and_brakes_can_be_seen(tmp_path: Path) -> None:
    """Of the sample recording of CARLA: lamps and lights are in it."""
    write_drives(tmp_path)
    reader = Carla()
    seen = set()
    for ref in reader.scenes(tmp_path / "carla").scenes:
        footage = drawn(reader.read(SceneFiles(tmp_path / "carla", ref)))
        assert footage is not None
        for picture in list(footage.frames())[::10]:
            seen |= {name for name in ("red", "green", "own") if len(of_colour(picture[:330], INK[name]))}
    assert seen == {"red", "green", "own"}


def test_of_a_log_that_does_not_know_where_we_are_nothing_is_drawn(tmp_path: Path) -> None:
    scene = read(write_log(tmp_path, [box(0), box(1)], [pose(0), pose(1)]), Argoverse2())
    lost = scene.facts.model_copy(update={"ego": None})
    assert drawn(scene.model_copy(update={"facts": lost})) is None
