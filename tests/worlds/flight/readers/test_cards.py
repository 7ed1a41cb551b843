"""Folders of a drone's memory card are flights as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles
from pipeline.worlds.flight.readers.flights import Flights
from tests.worlds.flight.readers.tiny_flights import SECONDS, srt, write_flight, write_video

READER = Flights()


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
