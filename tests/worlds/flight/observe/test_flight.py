"""Stage observe on whole flights: times of the video, findings, and logs that no one of this project wrote."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from pipeline.core.schema import Finding, Source, Video
from pipeline.geometry.tracks import FlightGeometry, FlightTrack
from pipeline.reading.maps.appearance import Appearance
from pipeline.worlds.flight.facts import Flight, FlightCamera, FlightMotion, FlightScene, Landmark, Sighting
from pipeline.worlds.flight.observe.flight import (
    COMPASS,
    _coverage,
    _rounded,
    observe_flight,
    video_seconds,
    with_labels,
)
from pipeline.worlds.flight.observe.motion import MotionConfig, paths
from pipeline.worlds.flight.observe.movements import segments
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.conftest import REAL_DATA
from tests.worlds.flight.observe.planted import Phase, fly, logged

CONFIG = MotionConfig()
CAMERA = FlightCamera(horizontal_fov_deg=80, width=1280, height=720)
TOWER = Landmark(name="Tower", appearance=Appearance(noun="tower"), center=(0, 100), radius_m=5, base_m=0, top_m=20)
PHASES = [Phase(6), Phase(5, up=2), Phase(8, forward=6), Phase(4, yaw=30), Phase(8, forward=6), Phase(6)]


def log() -> FlightTrack:
    track, _ = fly(PHASES, [0.8] * 5)
    return logged(track, 10, np.random.default_rng(0))


def scene(**flight: object) -> FlightScene:
    more = {key: flight.pop(key) for key in ("video", "findings") if key in flight}
    return FlightScene.model_validate(
        {
            "id": "test/flight",
            "dataset": "test",
            "name": "flight",
            "source": Source(reader="test", reader_version=1, files=(), sha256=""),
            "facts": Flight.model_validate({"log": "test", "origin": None, **flight}),
            **more,
        }
    )


def motion(given: FlightScene, track: FlightTrack | None = None) -> FlightMotion:
    out = observe_flight(given, FlightGeometry(log() if track is None else track), CONFIG)
    assert out.facts.motion is not None
    return out.facts.motion


def video(seconds: float) -> Video:
    return Video(path="video.mp4", fps=25, frames=round(25 * seconds))


def test_a_nose_that_the_compass_has_wrong_is_turned() -> None:
    before, after = (np.array(motion(scene(heading_offset_deg=by)).heading_deg, dtype=float) for by in (0, -170))
    assert (after - before) % 360 == pytest.approx(np.full(len(before), 190), abs=0.01)  # also below north


def test_lists_are_of_one_length_and_values_are_known_or_none():
    found = motion(scene())
    n = len(found.t_s)
    assert n == 184  # from 0.2 to 36.8 s, 5 a second
    assert {
        len(v) for v in (found.enu_m, found.height_m, found.heading_deg, found.course_deg, found.pitch_deg, found.part)
    } == {n}
    assert found.views is None
    assert [s.actions for s in found.segments] == [
        ("hover",),
        ("ascend",),
        ("fly forward",),
        ("turn right",),
        ("fly forward",),
        ("hover",),
    ]
    at = found.t_s.index(15.0)
    assert found.course_deg[at] == pytest.approx(0, abs=0.5) or found.course_deg[at] == pytest.approx(360, abs=0.5)
    assert found.course_deg[found.t_s.index(30.0)] == pytest.approx(120, abs=0.5)
    assert found.heading_deg[found.t_s.index(30.0)] == pytest.approx(120, abs=0.5)
    round_and_on = motion(scene(), replace(log(), heading_deg=log().heading_deg + 300.0))
    assert round_and_on.heading_deg[at + 75] == pytest.approx(60, abs=0.5), "300 + 120 degrees at 30 s"
    assert found.course_deg[found.t_s.index(2.0)] is None
    assert found.height_m[at] == pytest.approx(10, abs=0.1)


def test_times_count_from_the_start_of_the_video_and_end_with_it():
    whole = motion(scene())
    cut = motion(scene(video_offset_s=8.0, video=video(14)))
    assert cut.t_s[0] == 0
    assert cut.t_s[-1] == 14
    assert [s.actions for s in cut.segments] == [("ascend",), ("fly forward",), ("turn right",)]
    assert cut.segments[0].start_s == 0
    assert cut.segments[1].start_s == pytest.approx(whole.segments[2].start_s - 8, abs=0.02)
    assert cut.segments[-1].end_s == 14
    assert cut.segments[0].climb_m == pytest.approx(2 * 3, abs=0.3)  # of 10 m, those in the video


def test_a_log_shorter_than_its_video_is_said():
    out = observe_flight(scene(video=video(50)), FlightGeometry(log()), CONFIG)
    (finding,) = out.findings
    assert (finding.name, finding.severity, finding.limit) == ("video_beyond_log", "doubt", 0.9)
    assert finding.measured == pytest.approx(37 / 50, abs=0.01)
    assert observe_flight(scene(video=video(36)), FlightGeometry(log()), CONFIG).findings == ()


@pytest.mark.parametrize("offset", [-100.0, 100.0])
def test_a_video_beside_its_log_shows_nothing(offset):
    beside_its_start = TOWER.model_copy(update={"center": (0, 5)})
    given = scene(video_offset_s=offset, video=video(20), landmarks=[beside_its_start])
    out = observe_flight(given, FlightGeometry(log()), CONFIG)
    (landmark,) = out.facts.landmarks
    assert (landmark.label, landmark.unnameable_reason.reason) == (None, "not_near_the_flight")
    assert out.facts.motion.t_s == ()
    assert out.facts.motion.segments == ()
    assert [f.name for f in out.findings] == ["video_beyond_log"]


def test_an_empty_track_has_an_empty_motion():
    whole = log()
    nothing = replace(whole, **{name: value[:0] for name, value in vars(whole).items() if value is not None})
    assert motion(scene(), nothing).t_s == ()


def test_the_camera_looks_as_logged_else_as_it_is_mounted_else_unknown():
    mounted = CAMERA.model_copy(update={"pitch_deg": -45.0})
    blind = replace(log(), gimbal_pitch_deg=np.full(len(log()), np.nan))
    assert set(motion(scene(camera=mounted)).pitch_deg) == {-20}
    assert set(motion(scene(camera=mounted), blind).pitch_deg) == {-45}
    assert set(motion(scene(camera=CAMERA), blind).pitch_deg) == {None}
    for logged_deg, pitch_deg in ((-100.0, -90), (95.0, 90)):
        over = replace(log(), gimbal_pitch_deg=np.full(len(log()), logged_deg))
        assert set(motion(scene(camera=CAMERA), over).pitch_deg) == {pitch_deg}
    assert motion(scene(camera=CAMERA, landmarks=[TOWER]), blind).views is None
    assert motion(scene(landmarks=[TOWER])).views is None


def test_landmarks_are_seen_and_labelled():
    shop = Landmark(name="Shop", center=(0, 100), radius_m=0)
    other = Landmark(name="Garden", appearance=Appearance(noun="park"), center=(0, -300), radius_m=5)
    given = scene(camera=CAMERA, landmarks=[shop, TOWER, other], goal="tower", route=["fly to the Tower", "hover"])
    out = observe_flight(given, FlightGeometry(log()), CONFIG)
    assert [landmark.label for landmark in out.facts.landmarks] == [None, "the tower", "the park"]
    assert [landmark.unnameable_reason is None for landmark in out.facts.landmarks] == [False, True, True]
    assert (out.facts.goal, out.facts.route) == ("the tower", ("fly to the tower", "hover"))
    views = {view.landmark: view for view in out.facts.motion.views}
    assert set(views) == {0, 1}, "the shop may be asked about by its name"
    view = views[1]
    assert view.landmark == 1
    # The upper edge of the picture is at 5.3 degrees, the tower's middle at 5.7 until the drone has climbed 0.8 m.
    assert 6.2 <= view.intervals[0][0] <= 6.8
    assert 19 < view.intervals[-1][1] < 23  # until the turn to the right
    (finding,) = out.findings
    assert (finding.name, finding.severity, finding.measured, finding.limit) == ("landmark_foot_unknown", "note", 1, 0)


def test_steps_that_the_reader_found_bound_what_is_claimed():
    coarse = Finding(name="quantised", severity="doubt", subject="log", message="", measured=30.0, unit="m", remedy="")
    said = {a for s in motion(scene(findings=[coarse])).segments for a in s.actions}
    assert said == {"ascend", "turn right"}  # 48 m of flight are less than two steps, and hovers are not proved


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate_hz": 0},
        {"min_hover": 2},
        {"turn": {"start": 3, "stop": 6, "least": 7.5}},
        {"describe": {"around_m": 0}},
    ],
)
def test_a_wrong_configuration_is_refused(wrong):
    with pytest.raises(ValidationError):
        MotionConfig.model_validate(wrong)


def test_it_is_the_same_twice_and_survives_json():
    out = observe_flight(scene(camera=CAMERA, landmarks=[TOWER]), FlightGeometry(log()), CONFIG)
    assert out == observe_flight(scene(camera=CAMERA, landmarks=[TOWER]), FlightGeometry(log()), CONFIG)
    assert FlightScene.model_validate_json(out.model_dump_json()) == out
    assert re.search(r"-0\.0\b", out.model_dump_json()) is None


FLIGHTS = REAL_DATA / "flights"


def seen_in(file: Path) -> list[tuple[tuple[str, ...], float, float, float]]:
    ((_, assembled),) = read_tracks(file, None)
    found, fits = paths(assembled.track, CONFIG)
    return [(s.actions, s.start_s, s.end_s, s.climb_m) for path in found for s in segments(path, fits, CONFIG)]


@pytest.mark.real_data
def test_the_hop_of_a_simulated_px4():
    found = seen_in(FLIGHTS / "ulog/sample_px4_events.ulg")
    assert [f[0] for f in found] == [("hover",), ("ascend",), ("descend",), ("hover",)]
    assert found[1][1] == pytest.approx(19.3, abs=0.5)  # it leaves the ground at 19 s and is down at 27 s
    assert found[1][3] == pytest.approx(2.1, abs=0.2)
    assert found[2][2] == pytest.approx(26.2, abs=0.5)


@pytest.mark.real_data
def test_a_recording_of_airsim():
    found = seen_in(FLIGHTS / "airsim/airsim_rec.txt")
    assert found[0][0] == ("ascend",)
    assert found[0][3] == pytest.approx(31, abs=1)
    assert found[1][0][0] == "fly forward"
    assert found[-2][0] == ("descend",)
    assert found[-2][3] == pytest.approx(-36, abs=2)
    assert found[-1][0] == ("hover",)


@pytest.mark.real_data
def test_a_dji_without_heading_is_said_to_stay_and_fly_twice():
    """It sinks by 1.3 m in 1.7 s of its first way, and pauses twice, for 1.2 and 2.5 s: nobody would tell those."""
    said = seen_in(FLIGHTS / "dji_srt/mavic3_first_60s.srt")
    assert [actions for actions, *_ in said] == [("stay in place",), ("fly horizontally",)] * 2
    assert said[1][1:3] == (pytest.approx(14.9, abs=0.3), pytest.approx(47.9, abs=0.3))


def test_a_log_without_a_heading_of_a_drone_that_flies_nose_first_says_so():
    track = log()
    headless = replace(track, heading_deg=np.full(len(track), np.nan))
    out = observe_flight(scene(nose_first=True), FlightGeometry(headless), CONFIG)
    (told,) = [found for found in out.findings if found.name == "heading_of_course"]
    known = [heading is not None for heading in out.facts.motion.heading_deg]
    assert told.measured == pytest.approx(sum(known) / len(known), abs=0.01)
    assert 0.3 < told.measured < 0.7, "16 of 37 seconds are flown forward, with what follows from them"
    headed = observe_flight(scene(nose_first=True), FlightGeometry(track), CONFIG)
    assert "heading_of_course" not in {found.name for found in headed.findings}


MARKS = (
    Landmark(name="Grand Hotel", label="the purple building", center=(0, 0), radius_m=1),
    Landmark(name="Grand Hotel\nGarden", label="the park", center=(0, 0), radius_m=1),
    Landmark(name="Shop", label=None, center=(0, 0), radius_m=1),
    Landmark(name="Inn", label="the red building", center=(0, 0), radius_m=1),
    Landmark(name="Inn", label="the blue building", center=(9, 0), radius_m=1),
    Landmark(name=None, label="the building", center=(0, 0), radius_m=1),
)


def told(goal: str | None, *route: str) -> tuple[str | None, tuple[str, ...], list[tuple[str, float | None]]]:
    found = with_labels(Flight(log="made", origin=None, goal=goal, route=route), MARKS)
    assert all((f.severity, f.limit, f.unit) == ("doubt", 0.0, "steps") for f in found.findings)
    return found.goal, found.route, [(f.name, f.measured) for f in found.findings]


def test_names_become_what_is_seen() -> None:
    route = ("fly to the Grand Hotel", "pass Grand Hotel Garden and the grand hotel", "hover")
    seen = ("fly to the purple building", "pass the park and the purple building", "hover")
    assert told("grand  hotel", *route) == ("the purple building", seen, [])


def test_names_without_a_look_put_the_route_in_doubt() -> None:
    assert told("Shop", "fly to the shop", "go on") == (
        "Shop",
        ("fly to the shop", "go on"),
        [("route_names_unseen", 1)],
    )
    assert told("Inn", "leave the Inn")[::2] == ("Inn", [("route_names_unseen", 1)]), "of two inns"
    assert told(None, "go shopping", "see the inner yard")[2] == []


def test_directions_of_the_compass_put_the_route_in_doubt() -> None:
    assert told(None, "fly north", "turn left", "go south-west")[2] == [("route_by_compass", 2)]
    assert told("the westernmost rest", "rest at the lowest nest")[2] == []


@pytest.mark.parametrize("words", ["North", "to the northeast", "eastwards", "the western wall", "south east"])
def test_points_of_the_compass(words: str) -> None:
    assert COMPASS.search(words)


def test_a_step_that_would_be_too_long_stays_and_is_in_doubt() -> None:
    step = "pass Grand Hotel " + "x" * 180
    assert told(None, step)[1:] == ((step,), [("route_names_unseen", 1)])


def test_a_direction_that_rounds_to_all_around_is_0() -> None:
    found = _rounded(np.array([359.9994, 359.9996, -0.0001, np.nan]), 360.0)
    assert found == (359.999, 0.0, 0.0, None)
    assert "-" not in str(found)
    north = replace(log(), enu_m=log().enu_m @ np.diag([0.0, 1.0, 1.0]))
    assert 360 not in motion(scene(), north).course_deg


def test_a_short_flight_in_full() -> None:
    """Forward and right about from 350 degrees, then to the right; a gap at 4 s, the nose 7 degrees off its compass.

    The video begins at 1.3 s, after 3.9 m, at 365.6 degrees and 0.65 m up.
    """
    track, _ = fly([Phase(3, forward=3, yaw=12, up=0.5), Phase(3, left=-2.5, tilt=4)], [0.6], 350.0)
    flown = logged(track, 10, np.random.default_rng(0))
    flown = replace(flown, part=np.where(flown.t_s > 4.05, 3, 1))
    coarse = Finding(name="quantised", severity="doubt", subject="log", message="", measured=0.2, unit="m", remedy="")
    marks = (
        TOWER.model_copy(update={"center": (-10.0, 60.0)}),
        Landmark(name="Shop", center=(5, 30), radius_m=0, base_m=0, top_m=5),
        Landmark(name="Lake", appearance=Appearance(noun="lake"), center=(900, 900), radius_m=5),
    )
    given = scene(
        camera=CAMERA, landmarks=marks, video_offset_s=1.3, video=video(4.3), heading_offset_deg=7.0,
        findings=[coarse], route=["to the shop", "by the Tower", "Lake"],
    )  # fmt: skip
    out = observe_flight(given, FlightGeometry(flown), CONFIG)
    found = out.facts.motion
    assert (found.rate_hz, found.heading_error_deg, found.stated_mps) == (5.0, 0.0, ())
    assert found.t_s == tuple(round(n / 5, 1) for n in range(22) if n != 14)
    assert found.part == (1,) * 14 + (3,) * 7
    at = [found.t_s.index(second) for second in (0.0, 0.4, 2.2, 4.2)]
    for row, known in zip(at, (
        ((-0.147, 3.885, 0.65), 0.65, 12.6, 5.6, -20.0),
        ((0.02, 5.073, 0.85), 0.85, 17.4, 10.4, -20.0),
        ((2.359, 8.226, 1.5), 1.5, 33.0, 115.682, -18.0),
        ((6.853, 6.034, 1.5), 1.5, 33.0, 116.0, -10.0),
    ), strict=True):  # fmt: skip
        values = (found.height_m, found.heading_deg, found.course_deg, found.pitch_deg)
        assert found.enu_m[row] == pytest.approx(known[0], abs=0.002)
        assert [value[row] for value in values] == pytest.approx(list(known[1:]), abs=0.002)
    assert [s.actions for s in found.segments] == [("fly forward", "turn right"), ("fly right",)]
    numbers = [(s.start_s, s.end_s, s.distance_m, s.climb_m, s.turn_deg, s.gimbal_deg) for s in found.segments]
    assert numbers == [
        pytest.approx((0.0, 2.6, 5.955, 0.85, 20.38, 3.6), abs=0.002),
        pytest.approx((3.0, 4.2, 3.0, 0.0, 0.0, 4.8), abs=0.002),
    ]
    may = ((-0.2, 2.8), (2.8, 4.4))
    assert found.views == (
        Sighting(landmark=0, intervals=(), possible=may),
        Sighting(landmark=1, intervals=((0.0, 2.6), (3.0, 4.2)), possible=may),
        Sighting(landmark=2, intervals=(), possible=may),
    )
    assert [(f.name, f.severity, f.measured) for f in out.findings] == [
        ("quantised", "doubt", 0.2),
        ("landmark_foot_unknown", "note", 1.0),
        ("route_names_unseen", "doubt", 1.0),
    ]
    assert out.facts.route == ("to the shop", "by the tower", "the lake")


@pytest.mark.parametrize(("moments", "share"), [(45, None), (44, 0.88), (0, 0.0), (99, None)])
def test_nine_tenths_of_a_video_are_enough(moments: int, share: float | None) -> None:
    """Of ten seconds, five moments each."""
    covered = FlightMotion.model_construct(t_s=tuple(range(moments)))
    told = _coverage(covered, 10.0, 5.0)
    assert [one.measured for one in told] == ([] if share is None else [share])
    assert _coverage(covered, None, 5.0) == ()


def test_lengths_of_videos() -> None:
    assert video_seconds(scene(video=Video(path="v.mp4", fps=25, frames=90))) == 3.6
    for unknown in (None, Video(path="v.mp4", fps=None, frames=90), Video(path="v.mp4", fps=25, frames=None)):
        assert video_seconds(scene(video=unknown)) is None


def test_a_step_of_200_characters_is_said_and_one_more_is_not() -> None:
    for spare, is_told in ((0, True), (1, False)):
        step = "pass Grand Hotel " + "x" * (178 + spare)
        said = "pass the purple building " + "x" * (178 + spare)
        assert len(said) == 203 + spare
        shorter = step[:-3], said[:-3]
        found = told(None, shorter[0], "hover")
        assert found[1] == ((shorter[1] if is_told else shorter[0]), "hover")
        assert found[2] == ([] if is_told else [("route_names_unseen", 1)])
