"""Whatever happened to a file of a build's folder, the next build gives the release of one that nothing happened to."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

import pipeline.engine.store
from pipeline.core.identity import rng_for
from pipeline.engine.stage import STORE
from tests.builds import build, release_of, whys
from tests.engine.test_kill import SCENES
from tests.environment import times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

EVERY: Final = times(9, 1)  # in the suite every ninth file, under torture all


def flipped(path: Path) -> None:
    """One bit somewhere."""
    raw = bytearray(path.read_bytes())
    at = int(rng_for("damage", path.name).integers(8 * len(raw))) if raw else None
    if at is None:
        raw = bytearray(b"x")
    else:
        raw[at // 8] ^= 1 << at % 8
    path.write_bytes(bytes(raw))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("damage")
    meta, out = folder / "meta", folder / "out"
    write_scenes(meta / "meta.json", {name: SCENES[name] for name in ("bedroom", "office")})
    build(meta, out)
    return meta, out


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flipped, cut, Path.unlink])
def test_any_file_of_a_build_may_be_damaged(
    damage: Callable[[Path], None], undisturbed: tuple[Path, Path], tmp_path: Path
) -> None:
    meta, whole = undisturbed
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.name != ".lock")
    assert len(files) > 30
    for number, file in enumerate(files[::EVERY]):
        out = tmp_path / str(number)
        shutil.copytree(whole, out, symlinks=True)
        damage(out / file)
        build(meta, out)
        assert release_of(out) == release_of(whole), file
        shutil.rmtree(out)


def test_any_pack_may_be_damaged(
    undisturbed: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta, whole = undisturbed
    out = tmp_path / "out"
    shutil.copytree(whole, out, symlinks=True)
    monkeypatch.setattr(pipeline.engine.store, "PACK_RESULTS", 1)
    for damage in (None, flipped, cut, Path.unlink):
        for pack in sorted((out / STORE).glob("*/packs/*")) if damage else ():
            damage(pack)
        build(meta, out)
        assert release_of(out) == release_of(whole)
    assert len([*(out / STORE).glob("*/packs/*")]) > 10
    assert not any("reused" not in found for found in whys(build(meta, out)).values())


def test_no_byte_of_a_pack_that_is_flipped_raises(tmp_path: Path) -> None:
    """The directory may then state another version of zip, names in no encoding, or places outside the file."""
    whole = tmp_path / "whole.zip"
    with ZipFile(whole, "w") as archive:
        archive.writestr("küche.0123.abcd.json", b"{}")
    raw = whole.read_bytes()
    for place in range(len(raw)):
        pack = tmp_path / f"{place}.zip"
        pack.write_bytes(raw[:place] + bytes([raw[place] ^ 0xA5]) + raw[place + 1 :])
        assert len(pipeline.engine.store._members(pack)) <= 1


def test_a_result_under_the_name_of_another_scene_is_made_again(undisturbed: tuple[Path, Path], tmp_path: Path) -> None:
    """Whole, and with the digest of its bytes: it is the other scene's all the same."""
    meta, whole = undisturbed
    out = tmp_path / "out"
    shutil.copytree(whole, out, symlinks=True)
    for stage in sorted((out / STORE).iterdir()):
        found = {path.name.split(".")[0]: path for path in stage.rglob("*.*") if path.is_file()}
        if {"bedroom", "office"} <= set(found):
            mine, theirs = found["bedroom"].name.split("."), found["office"].name.split(".")
            shutil.copy(found["office"], mine_path := found["bedroom"].with_name(".".join([*mine[:2], *theirs[2:]])))
            if mine_path != found["bedroom"]:
                found["bedroom"].unlink()
    build(meta, out)
    assert release_of(out) == release_of(whole)
