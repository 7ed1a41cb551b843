"""What is as it was is not read again, and whatever is not is noticed."""

import json
import os
from pathlib import Path

import pytest

import pipeline.engine.stat_cache
import pipeline.engine.store
from pipeline.core.errors import ConfigError
from pipeline.engine.stage import STORE
from pipeline.engine.stat_cache import STAT_CACHE_FILE
from pipeline.release.history import RELEASE
from pipeline.stages.builder import Builder
from tests.builds import config_of, release_of
from tests.engine.test_builder import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

FILE = "meta.json"
Made = tuple[Path, Path]


def built(made: Made, sections: dict[str, object] | None = None) -> bool:
    """Builds as the command does; whether nothing had to run."""
    meta, out = made
    builder = Builder(config_of(meta, **sections or {}), out)
    if builder.confirm(builder.dry_run()):
        return True
    builder.build()
    return False


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A root and a build of it, in packs, whose files have lain there for long."""
    monkeypatch.setattr(pipeline.engine.stat_cache, "SETTLED_NS", -(10**12))
    monkeypatch.setattr(pipeline.engine.store, "PACK_RESULTS", 1)
    meta = tmp_path / "meta"
    write_scenes(meta / FILE, SCENES)
    assert not built((meta, tmp_path / "out"))
    assert built((meta, tmp_path / "out"))
    return meta, tmp_path / "out"


def with_its_times(path: Path, raw: bytes) -> None:
    """Other bytes of the same length in the same file, with the time of modification that it had."""
    found = path.stat()
    assert found.st_size == len(raw)
    path.write_bytes(raw)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_nothing_changed_is_known_by_the_times_of_files(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> bool:
        raise AssertionError("read again")

    monkeypatch.setattr(pipeline.engine.stat_cache, "list_within", read)
    monkeypatch.setattr(pipeline.engine.store, "_is_sound_pack", read)
    before = release_of(made[1])
    assert built(made)
    assert release_of(made[1]) == before


def test_a_build_that_is_not_confirmed_notes_that_nothing_changed(made: Made) -> None:
    """As that of a scheduled flow; one that makes a result notes nothing."""
    file = made[1] / STAT_CACHE_FILE
    for more, is_noted in (({}, True), ({"select": {"per_scene_and_task": 2}}, False)):
        file.unlink(missing_ok=True)
        Builder(config_of(made[0], **more), made[1]).build()
        assert file.exists() is is_noted


def test_a_file_of_the_same_size_and_time_is_read_again(made: Made) -> None:
    file = made[0] / FILE
    with_its_times(file, file.read_bytes().replace(b"0.5", b"0.6"))
    assert not built(made)


def test_a_file_behind_a_link_is_looked_at(made: Made, tmp_path: Path) -> None:
    file = made[0] / FILE
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert built(made)  # the same scenes
    with_its_times(file, file.read_bytes().replace(b"0.5", b"0.6"))
    assert not built(made)
    (tmp_path / "elsewhere.json").unlink()
    assert [error.finding for _, error in Builder(config_of(made[0]), made[1])._list().broken] == ["unreadable_file"]


def test_a_new_file_is_listed(made: Made) -> None:
    write_scenes(made[0] / "more.json", {"attic": SCENES["kitchen"]})
    assert not built(made)
    assert any("attic" in path for path in Builder(config_of(made[0]), made[1]).inputs())


def test_a_damaged_pack_of_the_same_size_and_time_is_made_again(made: Made) -> None:
    before = release_of(made[1])
    for pack in (made[1] / STORE).glob("*/packs/*"):
        raw = bytearray(pack.read_bytes())
        raw[len(raw) // 2] ^= 1
        with_its_times(pack, bytes(raw))
    assert not built(made)
    assert release_of(made[1]) == before
    assert built(made)


def test_a_damaged_release_is_made_again(made: Made) -> None:
    """Of the same size and time; or without the link that users follow."""
    before = release_of(made[1])
    for file in (path for path in (made[1] / RELEASE).rglob("*.parquet")):
        with_its_times(file, file.read_bytes()[::-1])
    assert not built(made)
    assert release_of(made[1]) == before
    assert built(made)
    (made[1] / RELEASE).unlink()
    assert not built(made)
    assert release_of(made[1]) == before


def test_a_file_that_was_just_written_is_read_again(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.engine.stat_cache, "SETTLED_NS", 10**15)
    read = []
    monkeypatch.setattr(
        pipeline.engine.stat_cache, "list_within", lambda reader, root, limits: read.append(root) or reader.scenes(root)
    )
    assert built(made)
    assert read == [made[0]]


@pytest.mark.parametrize(
    "told", ["", "[]", '{"results": 1, "listings": {"KEY": [["../x", ["meta.json"], "0", [0, 1]]]}}']
)
def test_a_damaged_stat_cache_is_an_empty_one(made: Made, told: str) -> None:
    """Nor is a name taken from it that no listing gives."""
    file = made[1] / STAT_CACHE_FILE
    (key,) = json.loads(file.read_text())["listings"]
    file.write_text(told.replace("KEY", key))
    assert built(made)
    assert set(json.loads(file.read_text())["listings"]) == {key}


def test_settings_of_the_reader_are_part_of_a_listing(made: Made, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    with pytest.raises(ConfigError, match="no video of any"):
        built(made, {"videos": str(tmp_path / "videos")})
