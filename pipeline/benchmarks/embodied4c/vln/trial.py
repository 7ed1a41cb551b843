"""One trial of a VLN task: what a log of any simulator, or of a real vehicle, says of what the agent did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, StrArray

SAFETY: Final = ("collision", "red_light", "lane_invasion")  # each ends a graded driving task (section 8.1)


@dataclass(frozen=True)
class Trial:
    """A trajectory. Frame: metres, z up, right-handed; what a log does not tell is None.

    Attributes:
        t_s: (N,) seconds, strictly increasing, of simulated or real time: thinking of an agent does not count.
        place_m: (N, 3) of the vehicle's centre or of the gripper.
        heading_deg: (N,) of the nose, counter-clockwise from x; NaN where it is not known.
        speed_mps: (N,).
        lane: (N,) of the lane, "" for none: the same as long as it is not left.
        lane_id: (N,) the map's own names, of which one lane has many along the way; None: `lane` has them.
        steering: (N,) -1 full right to 1 full left.
        handbrake: (N,).
        low_beam: (N,).
        leader_m: (N, 3) of the vehicle ahead.
        leader_lane: (N,).
        joints_deg: (N, J).
        gripper_open: (N,).
        lanes_at: ids of the lanes that a place (3,) lies in, and of those that they go on into; None: without a map.
        success: whether the simulator says that the task was done.
        events: name in `SAFETY` -> times; a name that is missing was not recorded.
    """

    t_s: FloatArray
    place_m: FloatArray
    heading_deg: FloatArray | None = None
    speed_mps: FloatArray | None = None
    lane: StrArray | None = None
    lane_id: StrArray | None = None
    steering: FloatArray | None = None
    handbrake: BoolArray | None = None
    low_beam: BoolArray | None = None
    leader_m: FloatArray | None = None
    leader_lane: StrArray | None = None
    joints_deg: FloatArray | None = None
    gripper_open: BoolArray | None = None
    lanes_at: Callable[[FloatArray], list[str]] | None = None
    success: bool | None = None
    events: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.t_s)

    def between(self, from_s: float, until_s: float) -> Trial:
        """The part within two times, both included."""
        kept = (self.t_s >= from_s) & (self.t_s <= until_s)
        cut: dict[str, Any] = {
            f.name: value[kept] for f in fields(self) if isinstance(value := getattr(self, f.name), np.ndarray)
        }
        events = {name: t[(t >= from_s) & (t <= until_s)] for name, t in self.events.items()}
        return replace(self, **cut, events=events)

    def known(self, name: str) -> Any:
        """An attribute. Raises ValueError where the log does not tell it, which `check.missing` finds before."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the log does not tell {name}")
        return value

    def driven_m(self) -> FloatArray:
        """(N,) length of the way so far."""
        steps = np.linalg.norm(np.diff(self.place_m, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    def ends(self) -> tuple[str, float] | None:
        """The first event that ends a task, and when."""
        found = sorted((float(t.min()), name) for name, t in self.events.items() if name in SAFETY and len(t))
        return (found[0][1], found[0][0]) if found else None
