"""Boxes on pictures of the delivered video lie over the object's own pixels, as the sample scans were rendered."""

from collections.abc import Iterator

import numpy as np
import pytest
import shapely

from pipeline.core.video_spec import VideoSpec
from pipeline.geometry.boxes import Boxes, stack
from pipeline.reading.files import SceneFiles
from pipeline.samples.common.camera import Lens
from pipeline.samples.indoor import arkitscenes, scannet, scannetpp
from pipeline.samples.indoor.render import scan
from pipeline.samples.indoor.rooms import PLANS
from pipeline.worlds.indoor.category_pictures import Cameras
from pipeline.worlds.indoor.facts import SceneObject
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.registry import READERS
from tests.conftest import Samples

FORM = VideoSpec()  # 640 x 480, with bars
NEAR_PX = 3.0
INSIDE_PX = 1.0  # a box has all of its object in it
FILLED = 0.97  # of the box's picture: a thing of such a share is a box, and nothing stands before it
LENSES = {"scannet": scannet.COLOR, "scannetpp": scannetpp.COLOR, "arkitscenes": arkitscenes.COLOR}
SCENES = ("scannet/scene9001_00", "scannetpp/5a3f9c0e01", "arkitscenes/49900001")


@pytest.mark.slow
@pytest.mark.parametrize("unit", SCENES)
def test_a_box_lies_over_the_pixels_of_its_object(unit: str, samples: Samples) -> None:
    filled = inside = 0
    for mask, corners in pictured(unit, samples):
        hull = shapely.convex_hull(shapely.MultiPoint(corners))
        picture = shapely.box(0, 0, *FORM.size)
        assert shapely.covers(hull.buffer(INSIDE_PX), shapely.points(mask)).all()
        inside += 1
        shown = hull.intersection(picture)
        if len(mask) > FILLED * shown.area / _pixel(unit):
            low, high = np.array(shown.bounds).reshape(2, 2)
            assert mask.min(0) == pytest.approx(low, abs=NEAR_PX)
            assert mask.max(0) == pytest.approx(high, abs=NEAR_PX)
            filled += 1
    assert inside >= 8
    assert filled >= 1


def pictured(unit: str, samples: Samples) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pixels (n, 2) of each object in the picture that shows it best, and the corners (8, 2) of its box, delivered."""
    dataset, name = unit.split("/")
    reader = READERS[dataset]
    (ref,) = (ref for ref in reader.scenes(samples.folder / dataset).scenes if ref.id == unit)
    files = SceneFiles(samples.folder / dataset, ref)
    read = reader.read(files)
    scene = observe(read, reader.geometry(files, read), ObserveConfig())
    truth = samples.truth.scenes[unit]
    made, lens, turn = scan(next(plan for plan in PLANS if plan.name == name)), LENSES[dataset], truth.turn_deg
    assert (scene.video.turn_deg if scene.video else 0) == turn
    cameras = Cameras(scene, FORM)
    centers = np.array([one.box.center for one in truth.objects])
    for item in scene.facts.objects:
        sight = item.visibility
        if sight.best_s is None:
            continue
        index = truth.objects[int(np.linalg.norm(centers - item.box.center, axis=1).argmin())].index
        frame = int(np.abs(np.array(truth.frame_time_s) - sight.best_s).argmin())
        owner = made.renderer.shoot(made.world_T_camera[frame], lens).owner
        row, column = np.nonzero(owner == index)
        assert len(row), f"{item.category} is in the picture that shows it best"
        shares = np.stack([(column + 0.5) / lens.width, (row + 0.5) / lens.height], axis=1)
        (edges,) = cameras.lines(sight.best_s, box_of(item))
        if len(edges) == 12 and len(corners := np.unique(np.concatenate(edges).round(9), axis=0)) == 8:
            yield delivered(turned(shares, turn), lens, turn), delivered(corners, lens, turn)


def box_of(item: SceneObject) -> Boxes:
    return stack([item.box.center], [item.box.lengths], [item.box.axes])


def turned(shares: np.ndarray, turn_deg: int) -> np.ndarray:
    """Shares of a stored picture as those of the upright one."""
    for _ in range(turn_deg // 90):
        shares = np.stack([1 - shares[:, 1], shares[:, 0]], axis=1)
    return shares


def delivered(shares: np.ndarray, lens: Lens, turn_deg: int) -> np.ndarray:
    """Pixels of the delivered picture, from its corner."""
    size = (lens.height, lens.width) if turn_deg % 180 else (lens.width, lens.height)
    left, top, width, height = FORM.fitted(*size)
    return np.array([left, top]) + shares * [width, height]


def _pixel(unit: str) -> float:
    """Area of a stored pixel in the delivered picture."""
    lens = LENSES[unit.partition("/")[0]]
    return float(min(640 / lens.width, 480 / lens.height) ** 2) if not unit.startswith("arkit") else (480 / 512) ** 2
