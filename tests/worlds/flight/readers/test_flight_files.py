"""``flight.yaml``: every wrong key is named with its value and what it takes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.worlds.flight.readers.flight_files import read_settings
from tests.worlds.flight.readers.tiny_flights import fault_of, read, write_flight

BAD_SETTINGS: dict[str, tuple[Any, str, str]] = {
    "field of view 0": ({"camera": {"horizontal_fov_deg": 0}}, "bad_setting", "camera.horizontal_fov_deg is '0'"),
    "field of view 180": ({"camera": {"horizontal_fov_deg": 180}}, "bad_setting", "camera.horizontal_fov_deg"),
    "no field of view": ({"camera": {"width": 640}}, "bad_setting", "camera.horizontal_fov_deg is missing"),
    "pitch": ({"camera": {"horizontal_fov_deg": 9, "pitch_deg": -95}}, "bad_setting", "camera.pitch_deg is '-95'"),
    "width": ({"camera": {"horizontal_fov_deg": 9, "width": 0}}, "bad_setting", "camera.width"),
    "camera a number": ({"camera": 84}, "bad_setting", "camera is '84'"),
    "unknown key": ({"fov": 84}, "bad_setting", "unknown key fov"),
    "unknown key of the camera": ({"camera": {"horizontal_fov_deg": 9, "f": 1}}, "bad_setting", "unknown key camera.f"),
    "offset nan": ("video_offset_s: .nan", "bad_setting", "video_offset_s is 'nan'"),
    "offset in words": ({"video_offset_s": "2 s"}, "bad_setting", "video_offset_s is '2 s'"),
    "latitude": ({"local_origin": {"lat_deg": 91, "lon_deg": 0, "alt_m": 0}}, "bad_setting", "local_origin.lat_deg"),
    "origin without altitude": ({"local_origin": {"lat_deg": 1, "lon_deg": 0}}, "bad_setting", "local_origin.alt_m"),
    "goal a number": ({"goal": 12}, "bad_setting", "goal is '12'"),
    "goal empty": ({"goal": "  "}, "bad_setting", "goal"),
    "goal too long": ({"goal": "x" * 201}, "bad_setting", "goal"),
    "goal rings": ('goal: "a\\u0007"', "bad_setting", "goal"),
    "route a text": ({"route": "fly"}, "bad_setting", "route is 'fly'"),
    "dataset a path": ({"dataset": "../x"}, "bad_setting", "dataset is '../x'"),
    "log above": ({"log": "../two/log.srt"}, "bad_setting", "log is '../two/log.srt'"),
    "video absolute": ({"video": "/etc/passwd"}, "bad_setting", "video is '/etc/passwd'"),
    "map of Windows": ({"landmarks": "C:\\maps\\x.geojson"}, "bad_setting", "landmarks is"),
    "map up and down": ({"buildings": "a/../../x.geojson"}, "bad_setting", "buildings is"),
    "map not there": ({"landmarks": "none.geojson"}, "missing_file", "none.geojson"),
    "log not there": ({"log": "none.srt"}, "missing_file", "none.srt"),
    "format": ({"log_format": "csv"}, "bad_setting", "log_format"),
    "a list": ("- 1", "bad_yaml", "list"),
    "a key twice": ("goal: a\ngoal: b", "bad_yaml", "goal"),
    "an alias": ("goal: &a x\nroute: [*a]", "bad_yaml", "alias"),
    "a python object": ("goal: !!python/object/apply:os.getcwd []", "bad_yaml", "python/object"),
    "no yaml": ("{", "bad_yaml", "YAML"),
    "a date that is none": ("goal: 2026-13-45", "bad_yaml", "month"),
    "deep": ("[" * 2000, "bad_yaml", "recursion"),
    "empty": ("", "empty_file", "empty"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_named_with_their_value(tmp_path: Path, case: str) -> None:
    settings, expected, words = BAD_SETTINGS[case]
    folder = write_flight(tmp_path, settings)
    error = fault_of(tmp_path)
    assert error.finding == expected
    assert words in error.message
    assert error.path == folder / "flight.yaml"


def test_the_range_of_a_field_of_view_is_told(tmp_path: Path) -> None:
    write_flight(tmp_path, {"camera": {"horizontal_fov_deg": 0}})
    assert "above 0 and below 180" in fault_of(tmp_path).remedy


SOUND = b"""goal: City Hall
route: [up, "on"]
camera: {horizontal_fov_deg: 84, width: 640, height: 480}
video_offset_s: 2.5
local_origin: {lat_deg: 52.0, lon_deg: 4.36, alt_m: 0}
landmarks: landmarks.geojson
"""


def test_settings_spoilt_anywhere_are_read_or_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    outcomes: dict[str, int] = {}
    path = tmp_path / "one" / "flight.yaml"
    path.parent.mkdir()
    files = SceneFiles(tmp_path, SceneRef("flights/one", ("one",), ""))
    for _ in range(500):
        raw = bytearray(SOUND[: int(rng.integers(1, len(SOUND)))] if rng.random() < 0.3 else SOUND)
        for at in rng.integers(0, len(raw), int(rng.integers(1, 4))):
            raw[at] = int(rng.integers(0, 256))
        path.write_bytes(raw)
        try:
            settings = read_settings(files)
        except RawDataError as error:
            outcome = error.finding
        else:
            assert settings.camera is None or 0 < settings.camera.horizontal_fov_deg < 180
            outcome = "read"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert set(outcomes) == {"read", "bad_yaml", "bad_setting", "not_utf8"}


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {})
    (folder / "flight.yaml").write_bytes(b"goal: \xe9t\xe9\n")
    assert fault_of(tmp_path).finding == "not_utf8"


def test_settings_with_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    folder = write_flight(tmp_path, {})
    (folder / "flight.yaml").write_bytes("\ufeffgoal: été\r\nroute:\r\n- up\r\n".encode())
    assert read(tmp_path)[1].goal == "été"
