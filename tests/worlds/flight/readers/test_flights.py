"""Flights in folders: what becomes of log, video, settings and maps, and what is refused with which words."""

import io
import json
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import Video
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import folder_of
from pipeline.samples.common.encode import VideoWriter
from tests.formats.logs.made_films import film, karma
from tests.formats.logs.made_logs import structured, ulog
from tests.reading.maps.test_cityjson import city
from tests.worlds.flight.readers.tiny_flights import (
    ALT,
    EAST_M,
    FPS,
    LAT,
    LON,
    NORTH_M,
    READER,
    SECONDS,
    fault_of,
    finding,
    names,
    only_ref,
    place,
    point_feature,
    read,
    srt,
    write_flight,
    write_map,
    write_video,
)

MAP = {"landmarks": "landmarks.geojson"}


def test_a_whole_flight(tmp_path: Path) -> None:
    settings = {
        "dataset": "delft",
        "goal": "City Hall",
        "route": ["take off and climb", "fly to the  Water\nTower"],
        "camera": {"horizontal_fov_deg": 84, "pitch_deg": -20},
        "video_offset_s": 2.5,
        **MAP,
    }
    folder = write_flight(tmp_path, settings, video_s=15)
    write_map(folder / "landmarks.geojson", point_feature(place(100, 50), name="City Hall", kind="town hall"))
    scene, flight, geometry = read(tmp_path)
    assert (scene.id, scene.dataset, scene.name, scene.facts.world) == ("delft/one", "delft", "one", "flight")
    assert scene.source.files == ("one/flight.yaml", "one/landmarks.geojson", "one/log.srt", "one/video.mp4")
    assert scene.video.model_dump() == {
        "path": "one/video.mp4",
        "fps": FPS,
        "frames": 15 * FPS,
        "width": 64,
        "height": 48,
        "turn_deg": 0,
    }
    assert flight.log == "dji_srt"
    assert flight.goal == "City Hall"
    assert flight.route == ("take off and climb", "fly to the Water Tower")
    assert flight.video_offset_s == 2.5
    assert flight.motion is None
    assert flight.camera.model_dump() == {"horizontal_fov_deg": 84.0, "width": 64, "height": 48, "pitch_deg": -20.0}
    assert flight.origin.model_dump() == pytest.approx({"lat_deg": LAT, "lon_deg": LON, "alt_m": ALT})
    (landmark,) = flight.landmarks
    assert (landmark.name, landmark.kind, landmark.label) == ("City Hall", "town hall", None)
    assert landmark.center == pytest.approx((100.0, 50.0), abs=0.05)
    assert (landmark.radius_m, landmark.outline, landmark.base_m, landmark.top_m) == (0.0, None, None, None)
    track = geometry.track
    assert track.t_s[-1] == pytest.approx(SECONDS)
    assert track.enu_m[-1] == pytest.approx([2.0 * SECONDS, 0.0, SECONDS / 2], abs=0.05)
    assert "log" in {f.subject for f in scene.findings}  # what the log's own reader found is kept


def test_frames_of_the_video_are_given(tmp_path: Path) -> None:
    write_flight(tmp_path, {}, video_s=2)
    ref = only_ref(tmp_path)
    footage = READER.footage(SceneFiles(tmp_path, ref), READER.read(SceneFiles(tmp_path, ref)))
    assert footage.fps == FPS
    assert [frame.shape for frame in footage.frames()] == [(48, 64, 3)] * 2 * FPS


def test_a_log_alone_will_do_and_what_is_missing_is_said(tmp_path: Path) -> None:
    write_flight(tmp_path)
    scene, flight, geometry = read(tmp_path)
    assert scene.id == "flights/one"
    assert {"no_flight_file", "missing_video"} <= names(scene)
    assert finding(scene, "no_flight_file").severity == finding(scene, "missing_video").severity == "note"
    assert scene.video is None
    assert flight.camera is flight.goal is None
    assert flight.landmarks == flight.route == ()
    assert geometry.buildings.outlines == ()
    assert READER.footage(SceneFiles(tmp_path, only_ref(tmp_path)), scene) is None


def test_flights_are_listed_by_dataset_and_name(tmp_path: Path) -> None:
    write_flight(tmp_path, {"dataset": "b"}, "x")
    write_flight(tmp_path, {"dataset": "a"}, "y")
    write_flight(tmp_path, None, "z")
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "x.json").write_text("{}")
    assert [ref.id for ref in READER.scenes(tmp_path).scenes] == ["a/y", "b/x", "flights/z"]


def test_one_broken_flight_costs_itself_alone(tmp_path: Path) -> None:
    write_flight(tmp_path, "camera: [", "bad")
    write_flight(tmp_path, {}, "good")
    listing = READER.scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["flights/good"]
    assert [(e.finding, e.scene) for e in listing.broken] == [("bad_yaml", "flights/bad")]


@pytest.mark.parametrize("make", [lambda root: root / "none", lambda root: root])
def test_a_root_without_flights_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(ConfigError, match="flight"):
        READER.scenes(make(tmp_path))


# --- time


@pytest.mark.parametrize("stands", [True, False])
def test_a_log_that_begins_in_the_air_is_not_said_to_begin_on_the_ground(tmp_path: Path, stands: bool) -> None:
    folder = write_flight(tmp_path, {"begins_on_ground": True})
    (folder / "log.srt").unlink()
    clock = np.arange(40, dtype=np.uint64) * 100_000 + 5_000_000
    north, up = np.arange(40, dtype=np.float32), -np.arange(40, dtype=np.float32) / 10
    place = structured(timestamp=clock, x=north, y=north, z=up)
    landed = structured(timestamp=clock, landed=np.full(40, stands))
    (folder / "log.ulg").write_bytes(ulog({("vehicle_local_position", 0): place, ("vehicle_land_detected", 0): landed}))
    if stands:
        assert read(tmp_path)[2].from_takeoff
    else:
        with pytest.raises(RawDataError, match="in the air at its first position") as caught:
            read(tmp_path)
        assert (caught.value.finding, Path(caught.value.path).name) == ("bad_setting", "flight.yaml")


@pytest.mark.parametrize(
    ("video_s", "offset_s", "expected"),
    [
        (20, 0.0, set()),
        (17.6, 2.4, set()),
        (12, 2.0, {"video_shorter_than_log"}),
        (30, 0.0, {"log_shorter_than_video"}),
        (20, -3.0, {"log_shorter_than_video", "video_shorter_than_log"}),
    ],
)
def test_lengths_that_differ_are_said(tmp_path: Path, video_s: float, offset_s: float, expected: set[str]) -> None:
    write_flight(tmp_path, {"video_offset_s": offset_s}, video_s=video_s)
    scene, _, _ = read(tmp_path)
    said = [f for f in scene.findings if f.name in {"video_shorter_than_log", "log_shorter_than_video"}]
    assert {f.name for f in said} == expected
    for one in said:
        assert one.severity == "note"
        assert f"{video_s:.1f} s" in one.message
        assert "20.0 s" in one.message


@pytest.mark.parametrize(
    ("settings", "video_s", "told"), [(None, 15, True), (None, 19.4, False), ({"video_offset_s": 0}, 15, False)]
)
def test_a_video_shorter_than_its_subtitles_was_cut_nobody_knows_where(
    tmp_path: Path, settings: Any, video_s: float, told: bool
) -> None:
    write_flight(tmp_path, settings, video_s=video_s)
    scene, _, _ = read(tmp_path)
    assert (("offset_unknown", "doubt") in {(f.name, f.severity) for f in scene.findings}) is told


@pytest.mark.parametrize(
    ("settings", "video_s", "offset_s", "severities"),
    [
        (None, 85, -60.0, ["note"]),  # subtitles have the times of their video
        (None, 70, -60.0, ["note", "doubt"]),  # of which 10 s lie after its end: it may have been cut
        ({"video_offset_s": -60}, 70, -60.0, ["note"]),
        ({"video_offset_s": 0}, 20, 0.0, ["note"]),
    ],
)
def test_subtitles_that_begin_after_their_video(
    tmp_path: Path, settings: Any, video_s: float, offset_s: float, severities: list[str]
) -> None:
    write_flight(tmp_path, settings, log=srt().replace("00:00:", "00:01:"), video_s=video_s)
    scene, flight, _ = read(tmp_path)
    assert flight.video_offset_s == offset_s
    assert [f.severity for f in scene.findings if f.name == "starts_late"] == severities


@pytest.mark.parametrize(
    ("settings", "video_s", "doubted"),
    [(None, 20, False), (None, 12, True), (None, 30, True), ({"video_offset_s": 0}, 12, False)],
)
def test_where_a_video_begins_is_asked_for_where_its_length_does_not_say(
    tmp_path: Path, settings: Any, video_s: float, doubted: bool
) -> None:
    """A recording of 20 s of a simulator's clock, flown straight ahead, so that no turn tells either."""
    folder = write_flight(tmp_path, settings, video_s=video_s)
    (folder / "log.srt").unlink()
    rows = [f"{500 * k}\t{k}\t0\t{-5 - k / 4}\t1\t0\t0\t0" for k in range(41)]
    header = "TimeStamp\tPOS_X\tPOS_Y\tPOS_Z\tQ_W\tQ_X\tQ_Y\tQ_Z"
    (folder / "log.txt").write_text("\n".join([header, *rows, ""]))
    scene, _, _ = read(tmp_path)
    said = [f.measured for f in scene.findings if (f.name, f.severity) == ("offset_unknown", "doubt")]
    assert said == ([pytest.approx(abs(20 - video_s), abs=0.1)] if doubted else [])


@pytest.mark.parametrize(("offset_s", "video_s"), [(20.0, 5), (1e6, 5), (-5.0, 5), (25.0, None)])
def test_an_offset_beyond_the_log_is_a_fault(tmp_path: Path, offset_s: float, video_s: float | None) -> None:
    write_flight(tmp_path, {"video_offset_s": offset_s}, video_s=video_s)
    error = fault_of(tmp_path)
    assert error.finding == "offset_beyond_log"
    assert "20.0 s" in error.message


# --- the camera


def test_the_camera_without_a_picture_size_is_not_used(tmp_path: Path) -> None:
    write_flight(tmp_path, {"camera": {"horizontal_fov_deg": 60}})
    scene, flight, _ = read(tmp_path)
    assert flight.camera is None
    assert finding(scene, "no_picture_size").severity == "note"


def test_a_camera_of_another_shape_than_the_video_is_doubted(tmp_path: Path) -> None:
    camera = {"horizontal_fov_deg": 60, "width": 1280, "height": 720}
    write_flight(tmp_path, {"camera": camera}, video_s=20)
    scene, flight, _ = read(tmp_path)
    assert (flight.camera.width, flight.camera.height) == (1280, 720)
    assert finding(scene, "picture_shape_differs").measured == pytest.approx(1280 * 48 / (720 * 64) - 1)


# --- logs, videos, maps


def spoil_no_log(folder: Path) -> None:
    (folder / "log.srt").unlink()


def spoil_two_logs(folder: Path) -> None:
    (folder / "log.txt").write_text("x")


def spoil_empty_log(folder: Path) -> None:
    (folder / "log.srt").write_bytes(b"")


def spoil_other_log(folder: Path) -> None:
    (folder / "log.srt").write_text("no log at all")


def spoil_short_log(folder: Path) -> None:
    (folder / "log.srt").write_text(srt(seconds=0))


def spoil_two_videos(folder: Path) -> None:
    write_video(folder / "video.mp4", 1)
    (folder / "video.mov").write_bytes(b"x")


def spoil_video(folder: Path) -> None:
    (folder / "video.mp4").write_bytes(b"this is no video")


def spoil_empty_map(folder: Path) -> None:
    (folder / "flight.yaml").write_text("landmarks: m.geojson")
    (folder / "m.geojson").write_bytes(b"")


def spoil_cut_map(folder: Path) -> None:
    (folder / "flight.yaml").write_text("buildings: m.osm.pbf")
    (folder / "m.osm.pbf").write_bytes(b"\x00\x00\x00\x0e\x0a\x09OSMHeader")


def spoil_city(folder: Path) -> None:
    (folder / "flight.yaml").write_text("buildings: m.json")
    (folder / "m.json").write_text(json.dumps(city(metadata={})))


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "no log": (spoil_no_log, "missing_log"),
    "two logs": (spoil_two_logs, "several_logs"),
    "empty log": (spoil_empty_log, "empty_file"),
    "no log by content": (spoil_other_log, "unknown_format"),
    "one position": (spoil_short_log, "single_position"),
    "two videos": (spoil_two_videos, "several_videos"),
    "no video by content": (spoil_video, "unreadable_video"),
    "empty map": (spoil_empty_map, "empty_file"),
    "cut map": (spoil_cut_map, "unreadable_osm"),
    "city nowhere": (spoil_city, "no_reference_system"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_broken_files_are_refused(tmp_path: Path, case: str) -> None:
    spoil, expected = SPOILT[case]
    folder = write_flight(tmp_path, {})
    spoil(folder)
    error = fault_of(tmp_path)
    assert error.finding == expected
    assert folder == error.path or folder in error.path.parents
    assert error.scene == "flights/one"


def test_a_log_of_several_flights_is_refused_with_their_names(tmp_path: Path) -> None:
    steps = {"action": [9, 0], "pos": [[0, 0, 3], [9, 0, 3]], "yaw": [0.0, 0.0]}
    episodes = [{"image_path": name, "gpt_instruction": "Fly.", **steps} for name in ("first", "second")]
    folder = write_flight(tmp_path, {"log": "both.json", "log_format": "openfly"})
    (folder / "both.json").write_text(json.dumps(episodes))
    error = fault_of(tmp_path)
    assert error.finding == "several_flights"
    assert "'first', 'second'" in error.message
    assert "a log of its own" in error.remedy


# --- a log of local positions


def write_local(root: Path, settings: dict[str, Any]) -> Path:
    """AirSim's log, NED: 30 m to the north of its zero, at a height of 2 m, and 20 m to the east from there."""
    rows = ["TimeStamp\tPOS_X\tPOS_Y\tPOS_Z\tQ_W\tQ_X\tQ_Y\tQ_Z\tImageFile"]
    rows += [f"{1_600_000_000_000 + 500 * k}\t30.0\t{k}.0\t-2.0\t1\t0\t0\t0\t" for k in range(21)]
    folder = write_flight(root, {"log": "airsim_rec.txt", **settings})
    (folder / "log.srt").unlink()
    (folder / "airsim_rec.txt").write_text("\n".join(rows) + "\n")
    return folder


def test_a_local_log_is_placed_by_where_its_zero_lies(tmp_path: Path) -> None:
    zero = {"lat_deg": LAT, "lon_deg": LON, "alt_m": 7.0}
    folder = write_local(tmp_path, {"local_origin": zero, **MAP})
    write_map(folder / "landmarks.geojson", point_feature(place(100, 30), name="Pier"))
    _, flight, geometry = read(tmp_path)
    assert flight.origin.lat_deg == pytest.approx(LAT + 30 / NORTH_M, abs=1e-7)
    assert flight.origin.lon_deg == pytest.approx(LON, abs=1e-7)
    assert flight.origin.alt_m == pytest.approx(9.0, abs=0.01)
    assert flight.landmarks[0].center == pytest.approx((100.0, 0.0), abs=0.05)
    assert geometry.track.enu_m[-1] == pytest.approx([20.0, 0.0, 0.0], abs=0.01)
    assert geometry.track.lat_lon_deg[-1] == pytest.approx([LAT + 30 / NORTH_M, LON + 20 / EAST_M], abs=1e-7)


def test_a_zero_of_unknown_altitude_leaves_it_unknown(tmp_path: Path) -> None:
    write_local(tmp_path, {"local_origin": {"lat_deg": LAT, "lon_deg": LON, "alt_m": None}})
    _, flight, _ = read(tmp_path)
    assert flight.origin.alt_m is None


def test_landmarks_of_a_log_that_lies_nowhere_are_not_used(tmp_path: Path) -> None:
    folder = write_local(tmp_path, MAP)
    write_map(folder / "landmarks.geojson", point_feature(place(100, 30), name="Pier"))
    scene, flight, _ = read(tmp_path)
    assert flight.origin is None
    assert flight.landmarks == ()
    found = finding(scene, "no_origin")
    assert found.severity == "doubt"
    assert "local_origin" in found.remedy


def test_an_origin_for_a_log_that_has_one_is_not_used(tmp_path: Path) -> None:
    write_flight(tmp_path, {"local_origin": {"lat_deg": 1.0, "lon_deg": 1.0, "alt_m": 0.0}})
    scene, flight, _ = read(tmp_path)
    assert flight.origin.lat_deg == pytest.approx(LAT)
    assert finding(scene, "local_origin_unused").severity == "note"


# --- provenance


def test_a_map_in_the_root_serves_several_flights_and_its_change_changes_their_stamps(tmp_path: Path) -> None:
    write_flight(tmp_path, MAP, "a")
    write_flight(tmp_path, MAP, "b")
    write_flight(tmp_path, {}, "c")
    write_map(tmp_path / "landmarks.geojson", point_feature(place(1, 1), name="Mill"))
    before = READER.scenes(tmp_path).scenes
    scene = READER.read(SceneFiles(tmp_path, before[0]))
    assert [m.name for m in scene.facts.landmarks] == ["Mill"]
    assert "landmarks.geojson" in scene.source.files
    write_map(tmp_path / "landmarks.geojson", point_feature(place(1, 1), name="Old Mill"))
    after = READER.scenes(tmp_path).scenes
    assert [x.stamp == y.stamp for x, y in zip(before, after, strict=True)] == [False, False, True]
    assert READER.read(SceneFiles(tmp_path, after[0])).source.sha256 != scene.source.sha256


@pytest.mark.parametrize("name", ["log.srt", "video.mp4", "flight.yaml"])
def test_the_digest_is_over_every_file(tmp_path: Path, name: str) -> None:
    folder = write_flight(tmp_path, {"goal": "Mill"}, video_s=20)
    before = read(tmp_path)[0]
    assert read(tmp_path)[0] == before
    change: dict[str, Callable[[], object]] = {
        "log.srt": lambda: (folder / name).write_text(srt(speed_mps=3.0)),
        "video.mp4": lambda: write_video(folder / name, 19),
        "flight.yaml": lambda: (folder / name).write_text("goal: Tower"),
    }
    change[name]()
    assert read(tmp_path)[0].source.sha256 != before.source.sha256


def test_a_folder_name_too_long_for_a_file_name_costs_its_flight(tmp_path: Path) -> None:
    write_flight(tmp_path, {}).rename(tmp_path / ("x" * 99))
    write_flight(tmp_path, {}).rename(tmp_path / ("y" * 200))
    listing = READER.scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == [f"flights/{'x' * 99}"]
    assert [(error.finding, error.path.name) for error in listing.broken] == [("unsafe_scene_name", "y" * 200)]
    assert "1 to 99 letters" in listing.broken[0].message


def record(folder: Path, stem: str, speed_mps: float = 2.0, video: str | None = ".MP4") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.SRT").write_text(srt(speed_mps=speed_mps))
    if video is not None:
        write_video(folder / f"{stem}{video}", 5)


@pytest.mark.parametrize("below", ["", "100MEDIA"])
def test_every_video_with_subtitles_is_a_flight(tmp_path: Path, below: str) -> None:
    record(tmp_path / below, "DJI_0001", 2.0)
    record(tmp_path / below, "DJI_0002", 4.0, ".mov")
    record(tmp_path / below, "DJI_0003", 1.0, None)
    listing = READER.scenes(tmp_path)
    assert listing.broken == ()
    prefix = f"flights/{below}." if below else "flights/"
    assert [ref.id for ref in listing.scenes] == [f"{prefix}DJI_000{i}" for i in (1, 2, 3)]
    for ref, speed, name in zip(listing.scenes, (2, 4, 1), ("DJI_0001.MP4", "DJI_0002.mov", None), strict=True):
        files = SceneFiles(tmp_path, ref)
        scene = READER.read(files)
        assert (scene.video.path if scene.video else None) == (name and f"{below}/{name}".lstrip("/"))
        track = READER.geometry(files, scene).track
        assert track.enu_m[-1, 0] == pytest.approx(speed * SECONDS, rel=0.01)
        assert not any("DJI_000" in file for file in scene.source.files if Path(file).stem != Path(ref.files[1]).stem)


def pictures(folder: Path, video: bytes) -> tuple[Video, list[npt.NDArray[np.uint8]]]:
    """What is known of a video beside a log, and its pictures as they are handed on."""
    (folder / "video.mp4").write_bytes(video)
    files = SceneFiles(folder.parent, only_ref(folder.parent))
    scene = READER.read(files)
    footage = READER.footage(files, scene)
    assert scene.video is not None
    assert footage is not None
    return scene.video, list(footage.frames())


def test_pictures_of_an_uneven_video_come_at_their_own_times(tmp_path: Path) -> None:
    """Ten a second for 4 s, then two a second for 4 s: the 40th of 48 is not at 6.7 s."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for time_s in (*np.arange(40) / 10, *np.arange(8, 16) / 2):
            grey = np.full((48, 64, 3), 20 + 25 * time_s, dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(grey, format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = round(time_s * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    video, shown = pictures(write_flight(tmp_path), file.getvalue())
    assert video.fps == pytest.approx(47 / 7.5)
    times_s = [(picture.mean() - 20) / 25 for picture in shown]
    ticks_s = (np.arange(48) + 0.5) / video.fps  # half a tick before it is due a picture may come
    expected = [t if t < 4 else t // 0.5 * 0.5 for t in ticks_s.tolist()]
    assert len(shown) == video.frames == 48
    assert times_s == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize(
    ("matrix", "size", "corner"),
    [((1, 0, 0, 1), (64, 48), (0, 0)), ((0, 1, -1, 0), (48, 64), (0, -1)), ((-1, 0, 0, -1), (64, 48), (-1, -1))],
)
def test_a_video_that_players_turn_is_handed_on_upright(
    tmp_path: Path, matrix: tuple[int, ...], size: tuple[int, int], corner: tuple[int, int]
) -> None:
    """A phone's header of a picture that is shown turned clockwise by a quarter puts its upper left at the right."""
    writer = VideoWriter("mp4", 2, 64, 48)
    for _ in range(4):
        picture = np.zeros((48, 64, 3), dtype=np.uint8)
        picture[:16, :16] = 255
        writer.add(picture)
    film = bytearray(writer.finish())
    at = film.index(b"tkhd") + 44  # of version 0
    a, b, c, d = (n << 16 for n in matrix)
    film[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    video, (shown, *_) = pictures(write_flight(tmp_path), bytes(film))
    assert (video.width, video.height) == size == shown.shape[1::-1]
    assert shown[corner].min() > 200
    assert shown.mean() < 60


def gopro(first_s: float = 100.1) -> bytes:
    """A film of 4 s whose telemetry begins 0.125 s after it."""
    return film([karma([first_s + k + 0.25 * i for i in range(4)]) for k in range(4)])


def test_a_film_with_telemetry_is_a_flight_by_itself(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "video.mp4").write_bytes(gopro())
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "video.mp4").write_bytes(gopro())
    (tmp_path / "set" / "flight.yaml").write_text("{goal: Mill, video_offset_s: 2}")
    (tmp_path / "100GOPRO").mkdir()
    (tmp_path / "100GOPRO" / "GX010001.MP4").write_bytes(gopro(900.1))
    (tmp_path / "100GOPRO" / "GX020001.MP4").write_bytes(film([b"no telemetry"]))
    record(tmp_path / "100GOPRO", "DJI_0001")
    listing = READER.scenes(tmp_path)
    ids = [f"flights/{name}" for name in ("100GOPRO.DJI_0001", "100GOPRO.GX010001", "own", "set")]
    assert [ref.id for ref in listing.scenes] == ids
    assert [(error.finding, error.scene) for error in listing.broken] == [
        ("no_telemetry", "flights/100GOPRO.GX020001")
    ]  # fmt: skip
    for ref in listing.scenes[1:]:
        files = SceneFiles(tmp_path, ref)
        scene = READER.read(files)
        assert scene.facts.log == "gpmf"
        assert scene.facts.video_offset_s == pytest.approx(-0.125)  # the track's 0 is its first sample
        assert scene.video is not None
        assert scene.video.path in scene.source.files
        unused = "video_offset_unused" in {found.name for found in scene.findings}
        assert unused == (ref.id == "flights/set")
    missing = {want.part: scenes for want, scenes in inspect(READER, tmp_path).missing.items()}
    assert missing["log"] == missing["video"] == ()
    assert missing["settings"] == tuple(ids[:3])


def test_a_root_may_be_one_film(tmp_path: Path) -> None:
    card = tmp_path / "100GOPRO"
    card.mkdir()
    film_path = card / "GX010001.MP4"
    film_path.write_bytes(gopro())
    (card / "GX020001.MP4").write_bytes(film([b"no telemetry"]))
    record(card, "DJI_0001")
    log = card / "DJI_0001.SRT"
    for root, name, there in ((film_path, "GX010001", film_path.name), (log, "DJI_0001", log.name)):
        (ref,) = READER.scenes(root).scenes
        assert (ref.id, ref.files[:2]) == (f"flights/{name}", (".", there))
        assert READER.read(SceneFiles(folder_of(root), ref)).id == f"flights/{name}"
    missing = {want.part: scenes for want, scenes in inspect(READER, film_path).missing.items()}
    assert (missing["log"], missing["settings"]) == ((), ("flights/GX010001",))
    (error,) = READER.scenes(card / "GX020001.MP4").broken
    assert error.finding == "no_telemetry"
    (card / "notes.txt").write_text("")
    with pytest.raises(ConfigError, match="no film or log of a flight"):
        READER.scenes(card / "notes.txt")


def test_a_log_beside_a_film_comes_before_that_in_it(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {"video_offset_s": 2})
    (folder / "video.mp4").write_bytes(gopro())
    scene = read(tmp_path)[0]
    assert (scene.facts.log, scene.facts.video_offset_s) == ("dji_srt", 2.0)


def test_a_folder_with_a_film_alone_is_told_what_the_film_lacks(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "video.mp4").write_bytes(film([b"protobuf"], title="DJI meta"))
    error = fault_of(tmp_path)
    assert error.finding == "missing_log"
    assert "DJI meta" in error.message
    assert "djmd" in error.remedy


def test_two_cards_count_alike_and_settings_are_for_all_of_a_card(tmp_path: Path) -> None:
    for card in ("100MEDIA", "101MEDIA"):
        record(tmp_path / card, "DJI_0001", video=None)
    (tmp_path / "101MEDIA" / "flight.yaml").write_text("{dataset: mine, goal: Mill}")
    write_flight(tmp_path, {}, name="own")
    refs = {ref.id: ref for ref in READER.scenes(tmp_path).scenes}
    assert set(refs) == {"flights/100MEDIA.DJI_0001", "mine/101MEDIA.DJI_0001", "flights/own"}
    assert READER.read(SceneFiles(tmp_path, refs["mine/101MEDIA.DJI_0001"])).facts.goal == "Mill"


def test_a_changed_video_changes_the_stamp_of_its_flight_alone(tmp_path: Path) -> None:
    record(tmp_path, "DJI_0001")
    record(tmp_path, "DJI_0002")
    before = READER.scenes(tmp_path).scenes
    write_video(tmp_path / "DJI_0002.MP4", 6)
    after = READER.scenes(tmp_path).scenes
    assert [a.stamp == b.stamp for a, b in zip(before, after, strict=True)] == [True, False]


def test_a_folder_whose_settings_name_the_log_is_one_flight(tmp_path: Path) -> None:
    record(tmp_path / "one", "DJI_0001")
    record(tmp_path / "one", "DJI_0002")
    (tmp_path / "one" / "flight.yaml").write_text("{log: DJI_0002.SRT, video: DJI_0002.MP4}")
    (ref,) = READER.scenes(tmp_path).scenes
    assert ref.id == "flights/one"
    assert READER.read(SceneFiles(tmp_path, ref)).source.files == (
        "one/DJI_0002.MP4",
        "one/DJI_0002.SRT",
        "one/flight.yaml",
    )


def test_a_name_that_no_id_can_hold_costs_its_recording(tmp_path: Path) -> None:
    record(tmp_path, "DJI 0001")
    record(tmp_path, "DJI_0002")
    listing = READER.scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["flights/DJI_0002"]
    assert [error.finding for error in listing.broken] == ["unsafe_scene_name"]


def test_an_empty_folder_is_still_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DJI_0001"):
        READER.scenes(tmp_path)


def test_doctor_finds_the_files_of_a_card(tmp_path: Path) -> None:
    record(tmp_path, "DJI_0001")
    record(tmp_path, "DJI_0002", video=None)
    found = {want.part: scenes for want, scenes in inspect(READER, tmp_path).missing.items()}
    assert found["log"] == ()
    assert found["video"] == ("flights/DJI_0002",)
    assert found["landmarks"] == ("flights/DJI_0001", "flights/DJI_0002")
    (tmp_path / "city.osm.gz").write_bytes(b"")
    assert {want.part: scenes for want, scenes in inspect(READER, tmp_path).missing.items()}["landmarks"] == ()
