"""How large the pictures of a video show each thing, and which colours are never seen where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.bearings import turn_between_deg
from pipeline.worlds.flight.facts import Camera, Motion
from pipeline.worlds.flight.look.paint import NAMES, may_be
from pipeline.worlds.flight.look.painted import UNSURE, Eye, Prisms, area, filled, painted, shrunk

Frame = npt.NDArray[np.uint8]  # (h, w, 3)
PictureAt = Callable[[float], Frame]  # of a second of the video

STEADY_MAX_DEG: Final = 5.0  # turn within a second: pose and picture are known to belong together no better
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
    """What the moments of a flight show.

    Attributes:
        t_s: (M,) the moments.
        eyes: the camera at each.
        glimpses: of each thing, in order of time.
        most: (P, 12) the largest share of what is seen of a thing at any moment that may be called by a word.
        unsure: things of which more may be seen than is known: they, or what stands before them, have no known height.
    """

    t_s: FloatArray
    eyes: tuple[Eye, ...]
    glimpses: dict[int, list[Glimpse]] = field(default_factory=dict)
    most: FloatArray = field(default_factory=lambda: np.empty((0, len(NAMES))))
    unsure: set[int] = field(default_factory=set)

    def unlike(self, thing: int) -> tuple[str, ...]:
        """The colours that are seen nowhere where a thing stands, as often as it is large enough to be noticed."""
        if thing in self.unsure:
            return ()
        return tuple(name for name, share in zip(NAMES, self.most[thing], strict=True) if share < UNLIKE_MAX)


def eyes_of(motion: Motion, camera: Camera, end_s: float) -> tuple[FloatArray, tuple[Eye, ...]]:
    """Moments (M,) of the video at which pose and picture belong together, and the camera at each."""
    t_s, part = np.array(motion.t_s), np.array(motion.part)
    heading, pitch = (np.array(v, dtype=np.float64) for v in (motion.heading_deg, motion.pitch_deg))
    known = np.isfinite(heading + pitch) & (t_s >= 0) & (t_s < end_s) & _steady(t_s, heading, part)
    chosen: list[int] = []
    for row in np.flatnonzero(known).tolist():
        if not chosen or t_s[row] - t_s[chosen[-1]] >= APART_S - 1e-6:
            chosen.append(row)
    if len(chosen) > MOMENTS_MAX:
        chosen = [chosen[i] for i in np.linspace(0, len(chosen) - 1, MOMENTS_MAX).round().astype(int).tolist()]
    eyes = (Eye(np.array(motion.enu_m[i]), float(heading[i]), float(pitch[i]), camera) for i in chosen)
    return t_s[chosen], tuple(eyes)


def _steady(t_s: FloatArray, heading: FloatArray, part: IntArray) -> npt.NDArray[np.bool_]:
    """Moments (G,) about which the nose hardly turns within half a second to either side."""
    if len(t_s) < 2:
        return np.ones(len(t_s), dtype=bool)
    around = max(1, round(0.5 / max(float(np.median(np.diff(t_s))), 1e-6)))
    swing = np.zeros(len(t_s))
    for shift in range(1, around + 1):
        turned = np.where(part[:-shift] == part[shift:], turn_between_deg(heading[:-shift], heading[shift:]), 180.0)
        swing[:-shift], swing[shift:] = (np.fmax(s, abs(turned)) for s in (swing[:-shift], swing[shift:]))
    return np.asarray(swing <= STEADY_MAX_DEG)


def survey(motion: Motion, camera: Camera, prisms: Prisms, things: int, picture_at: PictureAt, end_s: float) -> Survey:
    """What a video shows of the first so many prisms.

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
        small = _reduced(picture_at(float(t_s[moment])), size)
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


def _unsure(prisms: Prisms, things: int, eye: Eye, shows: npt.NDArray[np.int32]) -> set[int]:
    """The things of which a picture may show more than is known, by what it shows for sure (`painted`)."""
    size, hidden = (shows.shape[1], shows.shape[0]), shows == UNSURE
    found = {i for i, ring in prisms.hidden_by(eye, size).items() if filled(ring, size).mean() >= NOTICED_MIN}
    for i, ring in prisms.far_to_near(eye, size):
        if i < things and i not in found and (hidden & filled(ring, size)).mean() >= NOTICED_MIN:
            found.add(i)
    return {i for i in found if i < things}


def _reduced(frame: Frame, size: tuple[int, int]) -> Frame:
    """A picture of another size, by the nearest pixel."""
    rows, columns = ((np.arange(n) + 0.5) * of / n for n, of in ((size[1], frame.shape[0]), (size[0], frame.shape[1])))
    return frame[np.ix_(rows.astype(np.intp), columns.astype(np.intp))]
