"""Films that are drawn of flights: landmarks about the drone, and how high it is."""

from __future__ import annotations

import numpy as np

from pipeline.core.schema import Scene, Source
from pipeline.drawing.raster import INK
from pipeline.worlds.flight.bev_video import FOOT, FPS, GAUGE_X, PX_PER_M, WIDE, drawn
from pipeline.worlds.flight.facts import Flight, FlightMotion, FlightScene, Landmark


def flight(seconds: float = 4.0) -> FlightScene:
    """Due east at 5 m/s, climbing at 10 m/s; a square tower 40 m north of the start."""
    t = np.round(np.arange(0, seconds + 0.1, 0.2), 6)
    n = len(t)
    motion = FlightMotion(
        rate_hz=5.0,
        t_s=tuple(t.tolist()),
        enu_m=tuple((5 * s, 0.0, 10 * s) for s in t.tolist()),
        height_m=tuple((10 * t).tolist()),
        heading_deg=(90.0,) * n,
        course_deg=(90.0,) * n,
        pitch_deg=(0.0,) * n,
        part=(0,) * n,
        segments=(),
        views=None,
    )
    tower = Landmark(
        label="the red tower", center=(0.0, 40.0), radius_m=14.2, outline=((-10, 30), (10, 30), (10, 50), (-10, 50))
    )
    facts = Flight(log="gpx", origin=None, landmarks=(tower,), motion=motion)
    return Scene(
        id="flights/f", dataset="flights", name="f", facts=facts,
        source=Source(reader="flights", reader_version=1, files=(), sha256="0" * 64),
    )  # fmt: skip


def test_landmarks_and_height_are_drawn_to_scale() -> None:
    footage = drawn(flight())
    assert footage is not None
    pictures = list(footage.frames())
    assert len(pictures) == 4 * FPS + 1
    for second in (0, 2, 4):
        picture = pictures[second * FPS]
        y, x = np.argwhere((picture[:, :WIDE] == INK["thing"]).all(2)).mean(0)
        assert abs(x - (WIDE / 2 - 5 * second * PX_PER_M)) < 1.5
        assert abs(y - (picture.shape[0] / 2 - 40 * PX_PER_M)) < 1.5
        gauge = np.argwhere((picture[:, int(GAUGE_X) + 7 :] == INK["own"]).all(2))
        assert abs(gauge[:, 0].mean() - (FOOT - 10 * second * 240 / 150)) < 1


def test_no_picture_knows_what_comes_later_and_gaps_are_said() -> None:
    whole, part = drawn(flight()), drawn(flight(2.0))
    assert whole is not None
    assert part is not None
    shown = list(whole.frames())
    assert all((a == b).all() for a, b in zip(shown, part.frames(), strict=False))
    scene = flight()
    motion = scene.facts.motion
    assert motion is not None
    kept = [n for n in range(len(motion.t_s)) if not 1.0 < motion.t_s[n] < 3.0]
    lists = ("t_s", "enu_m", "height_m", "heading_deg", "course_deg", "pitch_deg", "part")
    gap = motion.model_copy(update={name: tuple(getattr(motion, name)[n] for n in kept) for name in lists})
    broken = drawn(scene.model_copy(update={"facts": scene.facts.model_copy(update={"motion": gap})}))
    assert broken is not None
    pictures = list(broken.frames())
    assert (pictures[5] == shown[5]).all()
    assert not (pictures[20][:, :WIDE] == INK["thing"]).all(2).any(), "where it was then nobody knows"


def test_a_flight_that_was_not_observed_is_not_drawn() -> None:
    scene = flight()
    assert drawn(scene.model_copy(update={"facts": scene.facts.model_copy(update={"motion": None})})) is None
