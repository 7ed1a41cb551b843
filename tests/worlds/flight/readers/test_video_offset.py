"""The offset between a video and its log, found from turns that were planted in both."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import zoom

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.geometry.tracks import FlightTrack
from pipeline.samples.common.encode import VideoWriter
from pipeline.worlds.flight.readers.video_offset import (
    RATE_HZ,
    Offset,
    PictureMotion,
    _best,
    _grey_pictures,
    _vertices,
    contradictions,
    find_offset,
    picture_motion,
)
from tests.worlds.flight.readers.tiny_flights import read, srt, write_flight

FOV_DEG, WIDTH, HEIGHT, FPS = 84.0, 192, 108, 12
LOG_S = 40.0
PIXELS_PER_DEGREE = 5
# Start, end and rate in degrees per second, clockwise positive.
TURNS = ((5, 7, 40), (12, 15, -30), (22, 26, 25), (31, 32, -15))


def heading_deg(t_s: FloatArray) -> FloatArray:
    """Compass heading, clockwise; passes north more than once."""
    return 350.0 + np.sum([rate * np.clip(t_s - start, 0, end - start) for start, end, rate in TURNS], axis=0)


def track_of(heading: FloatArray, rate_hz: float = 10.0) -> FlightTrack:
    n = len(heading)
    nan = np.full(n, np.nan)
    return FlightTrack(
        t_s=np.arange(n) / rate_hz,
        enu_m=np.zeros((n, 3)),
        lat_lon_deg=np.full((n, 2), np.nan),
        height_m=np.zeros(n),
        speed_mps=np.zeros(n),
        quat_wxyz=np.full((n, 4), np.nan),
        heading_deg=heading % 360.0,
        gimbal_pitch_deg=nan,
        part=np.zeros(n, dtype=np.intp),
    )


LOG = track_of(heading_deg(np.arange(0.0, LOG_S, 0.1)))


def panorama() -> FloatArray:
    """What stands all around, seamless: (108, 1800)."""
    coarse = np.random.default_rng(3).uniform(0, 255, (12, 120))
    return np.clip(zoom(coarse, (HEIGHT / 12, 3 * PIXELS_PER_DEGREE), order=1, mode="grid-wrap"), 0, 255)


def film(path: Path, seconds: float, heading: FloatArray, fps: int = FPS) -> Path:
    """What a camera sees that turns on the spot, ``heading`` degrees per frame."""
    scene, writer = panorama(), VideoWriter("mp4", fps, WIDTH, HEIGHT)
    across = (np.arange(WIDTH) / WIDTH - 0.5) * FOV_DEG
    for k in range(round(seconds * fps)):
        columns = np.round((heading[k] + across) * PIXELS_PER_DEGREE).astype(int) % scene.shape[1]
        writer.add(np.repeat(scene[:, columns, None], 3, axis=2).astype(np.uint8))
    path.write_bytes(writer.finish())
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("offset_s", "seconds"), [(0.0, 30.0), (7.3, 20.0), (-3.4, 25.0), (18.0, 30.0)])
def test_the_planted_offset_is_found(tmp_path: Path, offset_s: float, seconds: float) -> None:
    times = offset_s + np.arange(round(seconds * FPS)) / FPS
    found = find_offset(film(tmp_path / "video.mp4", seconds, heading_deg(times)), LOG)
    assert found.offset_s == pytest.approx(offset_s, abs=0.1)
    assert found.correlation > 0.9
    assert found.clear
    assert found.runner_up < found.correlation - 0.3


@pytest.mark.parametrize(
    ("stated_s", "sense", "pace", "doubted"),
    [
        (2.2, 1, 1.0, None),
        (4.5, 1, 1.0, ("at_other_times", 1.5, 1.0)),
        (3.0, 1, 0.8, ("at_other_times", 0.8, 1.0)),
        (3.0, -1, 1.0, ("otherwise", -0.7, 0.2)),
    ],
)
def test_turns_that_contradict_the_log_are_doubted(
    tmp_path: Path, stated_s: float, sense: int, pace: float, doubted: tuple[str, float, float] | None
) -> None:
    """A video from second 3 of the log on, or mirrored, or slow; up to a second is left to the margins of questions."""
    told = srt().split("\n\n")
    turned = [f"{cue.rstrip()} [gb_yaw: {heading_deg(k / 2):.1f}]\n" for k, cue in enumerate(told)]
    folder = write_flight(tmp_path, {"video_offset_s": stated_s}, log="\n".join(turned))
    film(folder / "video.mp4", 15.0, sense * heading_deg(3.0 + np.arange(15 * FPS) * pace / FPS))
    scene, _, _ = read(tmp_path)
    found = [(f.name[12:], f.measured, f.limit) for f in scene.findings if f.name.startswith("video_turns_")]
    wanted = [] if doubted is None else [(doubted[0], *(pytest.approx(n, abs=0.15) for n in doubted[1:]))]
    assert found == wanted


SOMETIMES = (np.arange(600) < 80).astype(float)  # words over a picture stand, too


def flown(per_s: float = 1.0) -> tuple[PictureMotion, FlightTrack]:
    """60 s at a height of 30 m: a turn and a tilt on the spot, then 20 s ahead and 10 s to the left, and as pictured.

    What is pictured is 60 m away. The log has it by so many times as many seconds.
    """
    t_s = np.arange(600) / RATE_HZ
    turn, tilt, ahead, left = (
        np.where((t_s >= start) & (t_s < end), rate, 0.0)
        for start, end, rate in ((5, 11, 20.0), (12, 18, -6.0), (20, 40, 6.0), (42, 52, 6.0))
    )
    nose, pitch = (np.cumsum(rate) / RATE_HZ for rate in (turn, tilt + np.roll(-tilt, 350)))
    toward = np.radians(nose)
    velocity = np.stack(
        [ahead * np.sin(toward) - left * np.cos(toward), ahead * np.cos(toward) + left * np.sin(toward)]
    )
    track = replace(
        track_of(nose),
        t_s=t_s * per_s,
        enu_m=np.column_stack([*np.cumsum(velocity, axis=1) / RATE_HZ, 0 * t_s]),
        height_m=np.full(600, 30.0),
        gimbal_pitch_deg=pitch,
    )
    focal_px = 80 / np.tan(np.radians(FOV_DEG) / 2)
    right = (-np.radians(turn) * np.cos(np.radians(pitch)) + left / 60) * focal_px / RATE_HZ
    down = (np.radians(tilt + np.roll(-tilt, 350)) - ahead / 60 * np.sin(np.radians(pitch))) * focal_px / RATE_HZ
    return PictureMotion(right, down, right, ahead / 60 * np.cos(np.radians(pitch)) / RATE_HZ, np.full(600, 0.6)), track


@pytest.mark.parametrize(
    ("motion", "log", "doubted"),
    [
        ({}, {}, {}),
        ({"certain": 0.05}, {"nose": -1.0}, {}),  # the picture tells nothing
        ({"right_px": -1, "middle_px": -1}, {}, {"sideways": -1.0}),
        ({"right_px": 0, "down_px": 0, "growth": 0}, {}, {"sideways": 0.0, "up or down": 0.0}),
        ({"right_px": SOMETIMES, "middle_px": SOMETIMES}, {}, {}),
        ({}, {"nose": -1.0}, {"sideways": -1.0, "beside": 120.0}),
        ({}, {"nose": 0.0}, {"sideways": 0.0, "beside": 120.0}),
        ({}, {"off": 40.0}, {}),
        ({}, {"off": 90.0}, {"beside": 90.0}),
        ({}, {"off": -90.0}, {"beside": 90.0}),
        ({}, {"off": 180.0}, {"beside": 180.0}),
        ({}, {"off": 100.0, "later": -200.0}, {"beside": 100.0}),  # each leg to another side
        ({}, {"later": 100.0}, {}),  # the shorter leg alone
        ({}, {"tilt": -1.0}, {"up or down": -1.0}),
        ({}, {"tilt": 0.0}, {"up or down": 0.0}),
        ({}, {"per_s": 2.5}, {"sideways": 0.16, "up or down": -0.43}),
        ({}, {"late_s": 0.9}, {}),
    ],
)
def test_a_video_that_moves_otherwise_than_its_log_is_doubted(
    motion: dict[str, Any], log: dict[str, float], doubted: dict[str, float]
) -> None:
    shown, track = flown(log.get("per_s", 1.0))
    certain = np.full(600, motion.get("certain", 0.6))
    shown = shown._replace(**{k: getattr(shown, k) * v for k, v in motion.items()} | {"certain": certain})
    nose = log.get("nose", 1.0) * track.heading_deg + log.get("off", 0.0) + log.get("later", 0.0) * (track.t_s > 41)
    track = replace(track, heading_deg=nose % 360, gimbal_pitch_deg=log.get("tilt", 1.0) * track.gimbal_pitch_deg)
    found = list(contradictions(shown, track, log.get("late_s", 0.0), None, FOV_DEG))
    told = {word: f.measured for f in found for word in ("sideways", "up or down", "beside") if word in f.message}
    assert set(told) == set(doubted)
    assert [told[word] for word in doubted] == [
        pytest.approx(v, abs=0.15 if abs(v) <= 1 else 8.0) for v in doubted.values()
    ]


@pytest.mark.parametrize("ticks", [0, 1, 8, 12])
def test_a_video_of_a_second_tells_nothing(ticks: int) -> None:
    shown, track = flown(1.0)
    cut = PictureMotion(*(column[:ticks] for column in shown))
    assert list(contradictions(cut, replace(track, heading_deg=-track.heading_deg % 360), 0.0, None, FOV_DEG)) == []


def test_a_turn_to_the_right_moves_the_picture_to_the_left(tmp_path: Path) -> None:
    seconds = 6.0
    heading = 10.0 * np.arange(round(seconds * FPS)) / FPS
    shifts = picture_motion(film(tmp_path / "video.mp4", seconds, heading)).right_px
    per_picture = 10.0 * 0.1 / FOV_DEG * 160  # degrees in a tenth of a second, of 160 pixels across
    assert np.median(shifts) == pytest.approx(-per_picture, rel=0.25)


@pytest.mark.slow
def test_a_mirrored_video_does_not_fit(tmp_path: Path) -> None:
    times = 7.3 + np.arange(round(20.0 * FPS)) / FPS
    found = find_offset(film(tmp_path / "video.mp4", 20.0, -heading_deg(times)), LOG)
    assert found.correlation < 0.7


@pytest.mark.slow
def test_the_same_turn_again_and_again_is_not_clear(tmp_path: Path) -> None:
    """A turn every 8 s: every shift by 8 s fits as well."""

    def again(t_s: FloatArray) -> FloatArray:
        return 20.0 * np.minimum(t_s % 8.0, 2.0) + 40.0 * (t_s // 8.0)

    times = 8.5 + np.arange(16 * FPS) / FPS
    found = find_offset(film(tmp_path / "video.mp4", 16.0, again(times)), track_of(again(np.arange(0, 48.0, 0.1))))
    assert found.correlation > 0.8
    assert not found.clear
    assert (found.runner_up_s - found.offset_s + 4.0) % 8.0 - 4.0 == pytest.approx(0.0, abs=0.2)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("still") / "video.mp4", 10.0, np.zeros(10 * FPS))


def fault_of(video: Path, track: FlightTrack) -> str:
    with pytest.raises(RawDataError) as caught:
        find_offset(video, track)
    assert "video_offset_s" in caught.value.remedy or "fetch" in caught.value.remedy
    return caught.value.finding


def test_what_cannot_be_compared_is_refused(still: Path, tmp_path: Path) -> None:
    assert fault_of(still, LOG) == "no_turn_in_video"
    assert fault_of(still, track_of(np.full(400, np.nan))) == "no_heading"
    assert fault_of(still, track_of(np.full(400, 12.0))) == "no_turn_in_log"
    slow = film(tmp_path / "slow.mp4", 20.0, heading_deg(np.arange(20.0)), fps=1)
    assert fault_of(slow, LOG) == "pictures_too_far_apart"
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(still.read_bytes()[:200])
    assert fault_of(broken, LOG) == "unreadable_video"
    assert fault_of(tmp_path / "none.mp4", LOG) == "unreadable_video"


def test_a_log_that_tells_of_two_seconds_is_too_short(tmp_path: Path) -> None:
    """Of a turn that takes two seconds there are 2 s to compare, and 5 are needed."""
    times = np.arange(20 * FPS) / FPS
    turn = heading_deg(np.arange(5.0, 7.0, 0.1))
    assert fault_of(film(tmp_path / "video.mp4", 20.0, heading_deg(times)), track_of(turn)) == "too_short"


def test_a_video_too_short_is_refused(tmp_path: Path) -> None:
    times = 5.0 + np.arange(3 * FPS) / FPS
    assert fault_of(film(tmp_path / "video.mp4", 3.0, heading_deg(times)), LOG) == "no_turn_in_video"


@pytest.mark.parametrize(
    ("correlation", "runner_up", "clear"),
    [(0.9, 0.5, True), (0.49, 0.0, False), (0.5, None, True), (0.9, 0.80, False), (0.9, 0.74, True)],
)
def test_clear_needs_height_and_lead(correlation: float, runner_up: float | None, clear: bool) -> None:
    assert Offset(1.0, correlation, None if runner_up is None else 9.0, runner_up).clear is clear


@pytest.mark.parametrize(("count", "found"), [(50, True), (49, False)])
def test_five_seconds_that_fit_are_found_whatever_the_mean_of_the_curve(count: int, found: bool) -> None:
    log = 3.0 + np.random.default_rng(0).normal(size=100)
    video, known = log[20 : 20 + count], np.ones(100, dtype=bool)
    if not found:
        with pytest.raises(RawDataError, match=r"less than 5\.0 s"):
            _best(video, log[: count + 1], known[: count + 1], Path("video.mp4"))
        return
    offset = _best(video, log, known, Path("video.mp4"))
    assert (offset.offset_s, offset.correlation) == (pytest.approx(2.0, abs=0.05), pytest.approx(1.0))


@pytest.mark.parametrize("at", [-0.4, 0.0, 0.3])
def test_the_vertex_of_a_parabola(at: float) -> None:
    assert _vertices(*-((np.array([-1.0, 0.0, 1.0]) - at) ** 2)) == pytest.approx(at)
    assert _vertices(*np.ones(3)) == 0.0


@pytest.mark.parametrize("times", [1, 3])
def test_of_a_video_every_picture_at_a_tick_is_compared(times: int, tmp_path: Path) -> None:
    fps = times * round(RATE_HZ)
    video = film(tmp_path / "v.mp4", 2.0, np.zeros(2 * fps), fps)
    ticks = [t_s for t_s, _ in _grey_pictures(video)]
    assert ticks == pytest.approx(np.arange(2 * RATE_HZ) / RATE_HZ, abs=1e-3)
