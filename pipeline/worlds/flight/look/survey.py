"""Survey of a video: the size of each thing in it, the colours it surely lacks, and the crops that show it best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.formats.images import jpeg_bytes
from pipeline.geometry.colours import WORDS, margins
from pipeline.worlds.flight.facts import FlightCamera, FlightMotion
from pipeline.worlds.flight.look.painted import UNSURE, CameraEye, Prisms, area, filled, painted, shrunk
from pipeline.worlds.flight.observe.views import steady

NAMES: Final = tuple(WORDS)
# What lies in shade would be so many times as bright in the sun: walls turned away from it get two thirds of the light.
WALL_LIGHT: Final = (1.0, 1.15, 1.3, 1.5)
ROOF_LIGHT: Final = (1.0, 1.15, 1.3)  # it lies open to the sky
_BITS: Final = 4  # of each channel, to which the table of all colours is made
_TOP: Final = 255.0

Pixels = npt.NDArray[np.uint8]  # (n, 3), sRGB


class MeasuredColour(NamedTuple):
    """How well a word fits some pixels.

    Attributes:
        share: of the pixels that may be called so.
        margin: CIELAB, of the median of these in the best light; NaN where there are none.
        rgb: that median in that light.
    """

    share: float
    margin: float
    rgb: tuple[int, int, int] | None


def fits(word: str, pixels: Pixels, light: tuple[float, ...] = WALL_LIGHT) -> MeasuredColour:
    """How well a word for a colour fits pixels (n, 3), n > 0, in some light."""
    may = may_be(pixels, light)[:, NAMES.index(word)]
    if not may.any():
        return MeasuredColour(0.0, float("nan"), None)
    middle = np.median(pixels[may], axis=0)
    lit = np.minimum(middle * np.array(light)[:, None], _TOP)
    by_light = margins(lit)[word]
    best = int(by_light.argmax())
    red, green, blue = (round(float(part)) for part in lit[best])
    return MeasuredColour(float(may.mean()), float(by_light[best]), (red, green, blue))


def may_be(pixels: Pixels, light: tuple[float, ...] = WALL_LIGHT) -> npt.NDArray[np.bool_]:
    """Which words (n, 12) somebody may call pixels (n, 3) by, in some light."""
    at = (pixels >> (8 - _BITS)).astype(np.intp)
    index = (at[:, 0] << 2 * _BITS) | (at[:, 1] << _BITS) | at[:, 2]
    return np.asarray(_table(light)[index])


@cache
def _table(light: tuple[float, ...]) -> npt.NDArray[np.bool_]:
    """`may_be` of all colours, each channel by its upper bits."""
    step = 1 << (8 - _BITS)
    level = np.arange(step / 2, 256.0, step)
    every: FloatArray = np.stack(np.meshgrid(level, level, level, indexing="ij"), axis=-1).reshape(-1, 3)
    may = np.zeros((len(every), len(NAMES)), dtype=bool)
    for times in light:
        found = margins(np.minimum(every * times, _TOP))
        may |= np.stack([found[name] >= 0 for name in NAMES], axis=1)
    return may


Frame = npt.NDArray[np.uint8]  # (h, w, 3)
PictureAt = Callable[[float], Frame]  # of a second of the video

STEADY_S: Final = 0.5  # to either side of a moment: pose and picture are known to belong together no better
MOMENTS_MAX: Final = 120  # of a flight, evenly thinned
APART_S: Final = 1.0  # from one to the next
WIDTH: Final = 320  # of the pictures that are surveyed
NOTICED_MIN: Final = 0.001  # of the picture: about 60 pixels of it; what is seen of a smaller thing tells nothing
UNLIKE_MAX: Final = 0.1  # of what is seen of a thing: a colour that so few pixels have is not its own
_INNER: Final = 0.85  # of a thing's outline in the picture: its edges belong to what stands behind it as well


class Glimpse(NamedTuple):
    """A moment that shows a thing.

    Attributes:
        moment: index among the moments.
        size: share of the picture that shows it.
        shown: share of its outline that is in the picture and not hidden.
    """

    moment: int
    size: float
    shown: float


@dataclass
class Survey:
    """The content of a flight's moments.

    Attributes:
        t_s: (M,) the moments.
        eyes: the camera at each.
        glimpses: of each thing, in order of time.
        most: (P, 12) the largest share of what is seen of a thing at any moment that may be called by a word.
        unsure: things of which more may be seen than is known: they, or what stands before them, have no known height.
    """

    t_s: FloatArray
    eyes: tuple[CameraEye, ...]
    glimpses: dict[int, list[Glimpse]] = field(default_factory=dict)
    most: FloatArray = field(default_factory=lambda: np.empty((0, len(NAMES))))
    unsure: set[int] = field(default_factory=set)

    def unlike(self, thing: int) -> tuple[str, ...]:
        """The colours that are seen nowhere where a thing stands, as often as it is large enough to be noticed."""
        if thing in self.unsure:
            return ()
        return tuple(name for name, share in zip(NAMES, self.most[thing], strict=True) if share < UNLIKE_MAX)


def eyes_of(motion: FlightMotion, camera: FlightCamera, end_s: float) -> tuple[FloatArray, tuple[CameraEye, ...]]:
    """Moments (M,) of the video at which pose and picture belong together, and the camera at each."""
    t_s, part = np.array(motion.t_s), np.array(motion.part)
    heading, pitch = (np.array(v, dtype=np.float64) for v in (motion.heading_deg, motion.pitch_deg))
    known = np.isfinite(heading + pitch) & (t_s >= 0) & (t_s < end_s) & steady(t_s, heading, part, STEADY_S)
    chosen: list[int] = []
    for row in np.flatnonzero(known).tolist():
        if not chosen or t_s[row] - t_s[chosen[-1]] >= APART_S - 1e-6:
            chosen.append(row)
    if len(chosen) > MOMENTS_MAX:
        chosen = [chosen[i] for i in np.linspace(0, len(chosen) - 1, MOMENTS_MAX).round().astype(int).tolist()]
    eyes = (CameraEye(np.array(motion.enu_m[i]), float(heading[i]), float(pitch[i]), camera) for i in chosen)
    return t_s[chosen], tuple(eyes)


def survey(
    motion: FlightMotion, camera: FlightCamera, prisms: Prisms, things: int, picture_at: PictureAt, end_s: float
) -> Survey:
    """The survey of the first so many prisms in a video.

    Args:
        motion: of the flight.
        camera: its field of view.
        prisms: all that stands about it, the things that are asked about first.
        things: how many these are.
        picture_at: the video.
        end_s: its length.
    """
    t_s, eyes = eyes_of(motion, camera, end_s)
    found = Survey(t_s, eyes, most=np.zeros((things, len(NAMES))))
    size = (WIDTH, max(1, round(WIDTH * camera.height / camera.width)))
    for moment, eye in enumerate(eyes):
        shows = painted(prisms, eye, size)
        if not prisms.is_known.all():
            found.unsure |= _unsure(prisms, things, eye, shows)
        frame = picture_at(float(t_s[moment]))
        nearest = (
            ((np.arange(n) + 0.5) * of / n).astype(np.intp) for n, of in zip(size[::-1], frame.shape, strict=False)
        )
        small = frame[np.ix_(*nearest)]
        for thing in np.unique(shows[(shows >= 0) & (shows < things)]).tolist():
            own = shows == thing
            share = float(own.mean())
            if share < NOTICED_MIN:
                continue
            ring = prisms.ring(thing, eye, size)
            found.glimpses.setdefault(thing, []).append(Glimpse(moment, share, float(own.sum()) / max(area(ring), 1.0)))
            inner = own & filled(shrunk(ring, _INNER), size)
            if inner.any():
                found.most[thing] = np.maximum(found.most[thing], may_be(small[inner]).mean(0))
    return found


def _unsure(prisms: Prisms, things: int, eye: CameraEye, shows: npt.NDArray[np.int32]) -> set[int]:
    """The things of which a picture may show more than is known, by what it shows for sure (`painted`)."""
    size, hidden = (shows.shape[1], shows.shape[0]), shows == UNSURE
    found = {i for i, ring in prisms.hidden_by(eye, size).items() if filled(ring, size).mean() >= NOTICED_MIN}
    for i, ring in prisms.far_to_near(eye, size):
        if i < things and i not in found and (hidden & filled(ring, size)).mean() >= NOTICED_MIN:
            found.add(i)
    return {i for i in found if i < things}


CROPS: Final = 2  # of each thing
SIZE_MIN: Final = 0.004  # of the picture: 920 pixels of 640x360
SHOWN_MIN: Final = 0.6  # of the thing's outline: in the picture, and nothing known before it
APART_MIN_S: Final = 2.0  # between two crops: another moment, so another picture
_CROP_INNER: Final = 0.8  # of an outline: pose and map are not known to a pixel
_WALLS: Final = 0.45  # of its height: up to there anything has walls, whatever its roof
_UPPER: Final = 0.75  # of its height: what lies above it a flat roof fills, and no other does
_AROUND: Final = 0.35  # of the thing's longer side, on every side of it, as in legend pictures
_SIDE: Final = 512  # pixels of the longer side of what is shown, at most
_INK: Final = (255, 0, 255)  # no house has it
_LINE: Final = 2


@dataclass(frozen=True)
class LandmarkCrop:
    """One thing in one picture.

    Attributes:
        second: of the video.
        size: share of the picture that shows it.
        shown: share of its outline.
        walls: pixels (n, 3) of them.
        roof: the same; none where the camera is not above it. Of what has no known height both are all of it.
        upper: pixels (n, 3) of its outline above three quarters of its height.
        jpeg: of the part about it, with a line around it.
    """

    second: float
    size: float
    shown: float
    walls: Pixels
    roof: Pixels
    upper: Pixels
    jpeg: bytes


def chosen(glimpses: Sequence[Glimpse], seconds: Sequence[float]) -> list[Glimpse]:
    """The largest good ones, apart in time: up to `CROPS`."""
    good = [g for g in glimpses if g.size >= SIZE_MIN and g.shown >= SHOWN_MIN]
    found: list[Glimpse] = []
    for glimpse in sorted(good, key=lambda g: (-round(g.size, 9), g.moment)):
        if all(abs(seconds[glimpse.moment] - seconds[f.moment]) >= APART_MIN_S for f in found):
            found.append(glimpse)
        if len(found) == CROPS:
            break
    return found


def crop(frame: Frame, eye: CameraEye, prisms: Prisms, thing: int, glimpse: Glimpse, second: float) -> LandmarkCrop:
    """A thing in a picture of the video."""
    height, width = frame.shape[:2]
    size = (width, height)
    own = painted(prisms, eye, size) == thing

    def region(low: float, high: float) -> BoolArray:
        return filled(prisms.ring(thing, eye, size, (low, high)), size)

    is_known = bool(prisms.is_known[thing])
    above = is_known and eye.enu_m[2] > prisms.top_m[thing]
    top = region(1.0, 1.0) if above else np.zeros_like(own)
    roof = filled(shrunk(prisms.ring(thing, eye, size, (1.0, 1.0)), _CROP_INNER), size) if above else top
    walls = filled(shrunk(prisms.ring(thing, eye, size, (0.0, _WALLS)), _CROP_INNER), size) & ~top
    upper = own & ~region(0.0, _UPPER)
    if not is_known:
        walls = roof = filled(shrunk(prisms.ring(thing, eye, size), _CROP_INNER), size)
    return LandmarkCrop(
        second=round(second, 3),
        size=round(glimpse.size, 4),
        shown=round(min(1.0, glimpse.shown), 3),
        walls=frame[own & walls],
        roof=frame[own & roof],
        upper=frame[upper],
        jpeg=_cut(frame, prisms.ring(thing, eye, size)),
    )


def _cut(frame: Frame, ring: np.ndarray) -> bytes:
    """The part of a picture about an outline (k, 2), with that outline drawn on it."""
    height, width = frame.shape[:2]
    low, high = np.maximum(ring.min(0), 0), np.minimum(ring.max(0), (width, height))
    more = _AROUND * float((high - low).max())
    left, top = (max(0, int(v - more)) for v in low.tolist())
    right, bottom = (min(limit, int(v + more) + 1) for v, limit in zip(high.tolist(), (width, height), strict=True))
    part = Image.fromarray(frame[top:bottom, left:right])
    scale = _SIDE / max(part.size)
    part = part.resize([max(1, round(side * scale)) for side in part.size], Image.Resampling.BICUBIC)
    points = [((x - left) * scale, (y - top) * scale) for x, y in ring.tolist()]
    ImageDraw.Draw(part).line([*points, points[0]], fill=_INK, width=_LINE)
    return jpeg_bytes(np.asarray(part))
