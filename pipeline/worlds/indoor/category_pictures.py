"""Pictures of all that is annotated as one category of a scan, and of where none of it is.

Whoever looks at them, a model (`look`) or people (the review page), can tell what no box tells: that a thing goes by
another name, that one more stands there without a box, that two boxes hold one thing. `Cameras` projects boxes into
pictures of the delivered video.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import digest_of
from pipeline.core.video_spec import VideoSpec
from pipeline.formats.images import jpeg_bytes
from pipeline.geometry.boxes import Boxes, stack
from pipeline.reading.footage import evenly_spaced
from pipeline.worlds.indoor.facts import FrameCamera, IndoorScene, SceneObject, frames_without
from pipeline.worlds.world import CategoryShown

Picture = npt.NDArray[np.uint8]

_NEAR_M: Final = 0.05  # lines are cut there, before the camera
_EDGES: Final = np.array([(a, b) for a, b in combinations(range(8), 2) if (a ^ b).bit_count() == 1])  # (12, 2)


class Cameras:
    """The cameras of a scan's frames, by their seconds; those that show an object best or first.

    Args:
        scene: observed.
        form: of the delivered video.
    """

    def __init__(self, scene: IndoorScene, form: VideoSpec) -> None:
        seen = scene.facts.observation
        self._by_second = {camera.second: camera for camera in seen.cameras} if seen else {}
        self._turn = (scene.video.turn_deg if scene.video else 0) // 90 % 4
        self._form, self._size = form, seen.picture if seen else None

    def lines(self, second: float, boxes: Boxes) -> list[list[FloatArray]]:
        """The edges of each box in the picture of a second, each (2, 2): shares of the width and height of `content`.

        What lies behind the camera is cut off. No edges where there is no camera for the second.
        """
        camera = self._by_second.get(second)
        if camera is None or self._size is None:
            return [[] for _ in boxes.center]
        corners = _in_camera(camera, boxes.corners())
        return [[self._placed(camera, edge) for edge in _cut(local[_EDGES])] for local in corners]

    def share_of_picture(self, second: float, box: Boxes) -> float:
        """Share of the picture of a second that a box (one) spans where all of it is in the picture; else 0."""
        (lines,) = self.lines(second, box)
        if len(lines) < len(_EDGES):  # partly behind the camera, or no camera is known
            return 0.0
        corners = np.concatenate(lines)
        return float(np.ptp(corners, axis=0).prod()) if (corners >= 0).all() and (corners <= 1).all() else 0.0

    def _placed(self, camera: FrameCamera, points: FloatArray) -> FloatArray:
        """Points (n, 3) before the camera as shares (n, 2) of the picture as it is delivered, without its bars."""
        raw = points[:, :2] / points[:, 2:] * camera.focal + camera.middle
        x, y = raw.T
        return np.stack([(x, y), (1 - y, x), (1 - x, 1 - y), (y, 1 - x)][self._turn], axis=1)

    def content(self, picture: Picture) -> Picture:
        """A picture (h, w, 3) of the delivered video without the bars beside it."""
        if self._size is None or not self._form.bars:
            return picture
        columns, rows = self._size[::-1] if self._turn % 2 else self._size
        left, top, width, height = self._form.fitted(columns, rows)
        return picture[top : top + height, left : left + width]


def _in_camera(camera: FrameCamera, points: FloatArray) -> FloatArray:
    """Points (..., 3) in camera axes."""
    *axes, position = np.array(camera.world_T_camera)
    offset = points - position
    return np.stack([offset[..., 0] * a[0] + offset[..., 1] * a[1] + offset[..., 2] * a[2] for a in axes], axis=-1)


def _cut(edges: FloatArray) -> list[FloatArray]:
    """Edges (12, 2, 3) as far as they lie before the camera."""
    kept = []
    for start, end in edges:
        low, high = (start, end) if start[2] <= end[2] else (end, start)
        if high[2] <= _NEAR_M:
            continue
        if low[2] < _NEAR_M:
            low = low + (high - low) * (_NEAR_M - low[2]) / (high[2] - low[2])
        kept.append(np.stack([low, high]))
    return kept


_CROP_SIDE: Final = 320  # pixels of the longer side of a crop
_AROUND: Final = 0.35  # of the longer side of what is cut out, shown around it, and
_AROUND_MIN_PX: Final = 24.0
_INK: Final = (255, 0, 255)
_LINE: Final = 2


class PictureCounts(NamedTuple):
    """How many pictures are made of a category: crops of single things, whole ones with boxes, and without any."""

    crops: int
    marked: int
    unmarked: int


class CategoryPicture(NamedTuple):
    """One picture to be made of a category.

    Attributes:
        category: whose boxes are drawn.
        frame: its number in the delivered video.
        second: of the camera; None: nothing of the category can be in the picture.
        instance: whose crop it is; None: the picture is whole, with all boxes.
    """

    category: str
    frame: int
    second: float | None
    instance: int | None


def shown_objects(scene: IndoorScene, category: str) -> list[SceneObject]:
    """The objects of a category that some frame of the video shows, those shown largest first."""
    own = [
        o for o in scene.facts.objects if o.category == category and o.visibility and o.visibility.best_s is not None
    ]
    return sorted(own, key=lambda o: (-(o.visibility.largest_pixels if o.visibility else 0), o.instance))


def pictures_of(scene: IndoorScene, category: str, fps: float, counts: PictureCounts) -> list[CategoryPicture]:
    """The pictures to be made of a category in an observed scene; none where no frame shows anything of it.

    Args:
        scene: observed.
        category: its name.
        fps: of the delivered video.
        counts: the most of each kind.
    """
    found: list[CategoryPicture] = []
    for item in shown_objects(scene, category):
        second = item.visibility.best_s if item.visibility else None
        if second is not None:  # the first frame that is on screen by then
            found.append(CategoryPicture(category, -int(-(second * fps - 1e-6) // 1), second, item.instance))
    if not found:
        return []
    whole = {one.frame: one._replace(instance=None) for one in reversed(found[: counts.marked])}
    free = frames_without(scene, category)
    without = free[evenly_spaced(len(free), counts.unmarked)]
    bare = [CategoryPicture(category, int(frame), None, None) for frame in without]
    return [*found[: counts.crops], *sorted(whole.values(), key=lambda one: one.frame), *bare]


def drawn_pictures(
    scene: IndoorScene, wanted: Iterable[CategoryPicture], picture_at: Callable[[int], Picture]
) -> Iterator[tuple[CategoryPicture, bytes]]:
    """Each of the pictures as JPEG, in the order of their frames, so that the video is read once.

    Args:
        scene: observed.
        wanted: of any of its categories.
        picture_at: the picture of the delivered video by the number of its frame.
    """
    objects: Mapping[str, list[SceneObject]] = {}
    for one in sorted(wanted, key=lambda one: (one.frame, one.category, one.instance is None, one.instance)):
        color = picture_at(one.frame)
        if one.category not in objects:
            objects = {**objects, one.category: [o for o in scene.facts.objects if o.category == one.category]}
        yield one, _drawn(scene, objects[one.category], one, color)


FOR_PEOPLE: Final = PictureCounts(crops=24, marked=4, unmarked=6)


def shown_categories(
    scene: IndoorScene, names: Iterable[str], fps: float, picture_at: Callable[[int], Picture]
) -> Iterator[CategoryShown]:
    """Categories of an observed scene as people see them (`World.categories`); those that its video shows."""
    wanted = {name: pictures_of(scene, name, fps, FOR_PEOPLE) for name in names}
    made = dict(drawn_pictures(scene, [one for own in wanted.values() for one in own], picture_at))
    for name, own in wanted.items():
        if not own:
            continue
        boxes = [o.box.model_dump(mode="json") for o in scene.facts.objects if o.category == name]
        crops = tuple(made[one] for one in own if one.instance is not None)
        marked, unmarked = (
            tuple(made[one] for one in own if one.instance is None and (one.second is not None) == is_marked)
            for is_marked in (True, False)
        )
        yield CategoryShown(name, len(boxes), digest_of(boxes), crops, marked, unmarked)


def _drawn(scene: IndoorScene, own: list[SceneObject], one: CategoryPicture, color: Picture) -> bytes:
    height, width = color.shape[:2]
    cameras = Cameras(scene, VideoSpec(size=(width, height)))  # its pictures fill the form, with bars or without
    content = cameras.content(color)
    size = np.array(content.shape[1::-1])
    boxed = own if one.instance is None else [item for item in own if item.instance == one.instance]
    boxes = stack([o.box.center for o in boxed], [o.box.lengths for o in boxed], [o.box.axes for o in boxed])
    lines = cameras.lines(one.second, boxes) if one.second is not None else []
    edges = [edge * size for item in lines for edge in item]
    left, top, (bottom, right) = 0, 0, content.shape[:2]
    if one.instance is not None and edges:
        points = np.clip(np.concatenate(edges), 0, size)
        low, high = points.min(0), points.max(0)
        more = max(_AROUND_MIN_PX, _AROUND * float((high - low).max()))
        left, top = np.maximum(low - more, 0).astype(int).tolist()
        right, bottom = np.minimum(np.ceil(high + more), size).astype(int).tolist()
    part = Image.fromarray(np.ascontiguousarray(content[top:bottom, left:right]))
    scale = 1.0 if one.instance is None else _CROP_SIDE / max(part.size)
    part = part.resize([max(1, round(side * scale)) for side in part.size], Image.Resampling.BICUBIC)
    ink = ImageDraw.Draw(part)
    for edge in edges:
        ink.line([((x - left) * scale, (y - top) * scale) for x, y in edge.tolist()], fill=_INK, width=_LINE)
    return jpeg_bytes(np.asarray(part))
