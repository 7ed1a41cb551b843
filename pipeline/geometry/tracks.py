"""A flight's track as arrays, and the buildings it flew among.

Frame: ENU metres (x east, y north, z up) about the flight's first good fix. Headings are compass angles, clockwise from
north in [0, 360). Body axes are FLU (x forward, y left, z up), so that the unit quaternion is level and faces east.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely

from pipeline.core.arrays import FloatArray, IntArray, StrArray


@dataclass(frozen=True)
class FlightTrack:
    """The unified track of one flight. Unknown values are NaN, never 0.

    Attributes:
        t_s: (N,) seconds from the first sample of the log, strictly increasing.
        enu_m: (N, 3) about the first good fix.
        lat_lon_deg: (N, 2) WGS84; NaN where the log has local positions alone.
        height_m: (N,) above take-off.
        speed_mps: (N,) over ground and upwards together, as logged or from positions.
        quat_wxyz: (N, 4) body FLU to ENU.
        heading_deg: (N,) of the nose.
        gimbal_pitch_deg: (N,) of the camera: 0 level, -90 straight down.
        part: (N,) number of the part, from 0; parts are never joined by a line.
        stated_mps: (N,) speed over ground that the log itself states, to be compared; None: it states none.
        label: (N,) what the log says was done from this sample to the next, "" for nothing; None for most formats.
    """

    t_s: FloatArray
    enu_m: FloatArray
    lat_lon_deg: FloatArray
    height_m: FloatArray
    speed_mps: FloatArray
    quat_wxyz: FloatArray
    heading_deg: FloatArray
    gimbal_pitch_deg: FloatArray
    part: IntArray
    stated_mps: FloatArray | None = None
    label: StrArray | None = None

    def __len__(self) -> int:
        return len(self.t_s)


_NONE: Final = np.empty(0)
NO_TRACK: Final = FlightTrack(
    t_s=_NONE,
    enu_m=np.empty((0, 3)),
    lat_lon_deg=np.empty((0, 2)),
    height_m=_NONE,
    speed_mps=_NONE,
    quat_wxyz=np.empty((0, 4)),
    heading_deg=_NONE,
    gimbal_pitch_deg=_NONE,
    part=np.empty(0, dtype=np.intp),
)


@dataclass(frozen=True)
class Buildings:
    """The solids that can hide a landmark: upright prisms.

    Attributes:
        outlines: (k, 2) corners of each footprint, ENU metres, not closed.
        base_m: (B,) height of the foot, ENU.
        top_m: (B,) height of the roof, ENU; NaN where it is not known.
        most_m: (B,) the most that a roof of unknown height may reach, ENU, infinite where nothing bounds it; None: so
            is none.
    """

    outlines: tuple[FloatArray, ...]
    base_m: FloatArray
    top_m: FloatArray
    most_m: FloatArray | None = None

    @cached_property
    def footprints(self) -> npt.NDArray[np.object_]:
        """Valid polygons (B,), whatever the outlines do."""
        return footprints(self.outlines)


def footprints(outlines: tuple[FloatArray, ...]) -> npt.NDArray[np.object_]:
    """Valid polygons (n,) of outlines, whatever these do; empty where there are fewer than three corners."""
    polygons = [shapely.Polygon(o) if len(o) >= 3 else shapely.Polygon() for o in outlines]
    return np.asarray(shapely.make_valid(polygons))


NO_BUILDINGS = Buildings((), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class FlightGeometry:
    """Track and surroundings of one flight.

    Attributes:
        from_takeoff: whether heights count from the place of take-off; False: the log may begin in the air.
    """

    track: FlightTrack
    buildings: Buildings = NO_BUILDINGS
    from_takeoff: bool = True

    @property
    def ground_m(self) -> float:
        """ENU height of the ground at take-off; NaN where it is not known.

        The median over all fixes: altitudes of the first ones are off by metres until a receiver has settled.
        """
        offset = self.track.enu_m[:, 2] - self.track.height_m
        return float(np.nanmedian(offset)) if self.from_takeoff and np.isfinite(offset).any() else float("nan")
