"""The .sens reader: offsets, poses, times, lazily decoded pictures, and files that break off."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import FormatError
from pipeline.formats.sens import open_sens
from tests.worlds.indoor.readers.tiny_scans import COLOR_SIZE, DEPTH_SIZE, depth_mm, poses, put, sens

COUNT = 5
HEADER_BYTES = 4 + 8 + len("test") + 4 * 64 + 36


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sens") / "scan.sens"
    camera = poses(COUNT)
    camera[3] = -np.inf
    put(path, sens(COUNT, camera))
    return path


def test_header_and_frame_table(path: Path) -> None:
    found = open_sens(path)
    assert (len(found), found.declared, found.sensor) == (COUNT, COUNT, "test")
    assert (found.color_size, found.depth_size) == (COLOR_SIZE, DEPTH_SIZE)
    np.testing.assert_array_equal(found.color_intrinsics, [48, 48, 24, 18])
    np.testing.assert_array_equal(found.depth_intrinsics, [32, 32, 16, 12])
    np.testing.assert_allclose(found.world_T_camera[[0, 1, 2, 4]], poses(COUNT)[[0, 1, 2, 4]], atol=1e-6)
    assert np.isneginf(found.world_T_camera[3]).all()
    np.testing.assert_array_equal(np.diff(found.time_us[:, 0].astype(np.int64)), 100_000)


def test_pictures_are_decoded_one_by_one(path: Path) -> None:
    found = open_sens(path)
    for i in (4, 0, 2):
        color, depth = found.color(i), found.depth_m(i)
        assert color.shape == (COLOR_SIZE[1], COLOR_SIZE[0], 3)
        assert color.dtype == np.uint8
        assert color.mean() == pytest.approx(20 + 5 * i, abs=2)
        assert np.isnan(depth[0, 0])
        assert depth[5, 5] == pytest.approx(depth_mm(i)[5, 5] / 1000)


def test_raw_colours_are_read(tmp_path: Path) -> None:
    """Compression 0 is rows of RGB bytes, as SensorData.h has it."""
    raw = bytearray(sens(1, poses(1)))
    sizes = struct.unpack("<QQ", raw[HEADER_BYTES + 80 : HEADER_BYTES + 96])
    depth = bytes(raw[HEADER_BYTES + 96 + sizes[0] :])
    picture = np.arange(3 * COLOR_SIZE[0] * COLOR_SIZE[1], dtype=np.uint8).reshape(COLOR_SIZE[1], COLOR_SIZE[0], 3)
    raw[16 + 256 : 16 + 260] = struct.pack("<i", 0)
    head = bytes(raw[: HEADER_BYTES + 80])
    put(tmp_path / "a.sens", head + struct.pack("<QQ", picture.size, sizes[1]) + picture.tobytes() + depth)
    found = open_sens(tmp_path / "a.sens")
    color, there = found.color(0), found.depth_m(0)
    assert color is not None
    np.testing.assert_array_equal(color, picture)
    assert there[5, 5] == pytest.approx(depth_mm(0)[5, 5] / 1000)
    put(tmp_path / "cut.sens", head + struct.pack("<QQ", 30, sizes[1]) + picture.tobytes()[:30] + depth)
    assert open_sens(tmp_path / "cut.sens").color(0) is None


def test_opening_reads_headers_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the whole file was read"))
    monkeypatch.setattr("pipeline.formats.sens.decode_color", lambda *_: pytest.fail("a picture was decoded"))
    assert len(open_sens(path)) == COUNT


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_a_cut_file_gives_the_frames_before_the_break(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    raw = sens(3, poses(3))
    cut = seed % len(raw)
    path = tmp_path_factory.getbasetemp() / "cut.sens"
    path.write_bytes(raw[:cut])
    if cut < HEADER_BYTES:
        with pytest.raises(FormatError, match="within its header"):
            open_sens(path)
        return
    found = open_sens(path)
    assert len(found) < 3 == found.declared
    assert all(found.color(i) is not None for i in range(len(found)))


def test_an_absurd_number_of_frames_is_only_declared(tmp_path: Path) -> None:
    raw = sens(2, poses(2))
    at = HEADER_BYTES - 8
    put(tmp_path / "a.sens", raw[:at] + struct.pack("<Q", 2**63) + raw[at + 8 :])
    found = open_sens(tmp_path / "a.sens")
    assert (len(found), found.declared) == (2, 2**63)


@pytest.mark.parametrize("n_bytes", [None, 0, 5, 100_000_000])
def test_depth_that_unpacks_to_another_size_is_none(tmp_path: Path, n_bytes: int | None) -> None:
    raw = b"no zlib" if n_bytes is None else zlib.compress(bytes(n_bytes))
    whole = sens(1, poses(1))
    old = zlib.compress(depth_mm(0).tobytes())
    whole = whole.replace(struct.pack("<Q", len(old)), struct.pack("<Q", len(raw))).replace(old, raw)
    put(tmp_path / "a.sens", whole)
    assert open_sens(tmp_path / "a.sens").depth_m(0) is None


def test_raw_depth(tmp_path: Path) -> None:
    packed, plain = zlib.compress(depth_mm(0).tobytes()), depth_mm(0).tobytes()
    whole = sens(1, poses(1)).replace(struct.pack("<ii", 2, 1), struct.pack("<ii", 2, 0))
    whole = whole.replace(struct.pack("<Q", len(packed)), struct.pack("<Q", len(plain))).replace(packed, plain)
    put(tmp_path / "a.sens", whole)
    depth = open_sens(tmp_path / "a.sens").depth_m(0)
    assert depth[3, 3] == 1.0


@pytest.mark.parametrize(
    ("at", "raw", "finding"),
    [
        (0, struct.pack("<I", 3), "sens_version"),
        (4, struct.pack("<Q", 2**40), "bad_sens"),
        (16 + 256, struct.pack("<i", 3), "sens_compression"),
        (16 + 260, struct.pack("<i", 2), "sens_compression"),
        (16 + 264, struct.pack("<I", 10**6), "bad_sens"),
        (16 + 280, struct.pack("<f", 0.0), "bad_sens"),
        (16 + 280, struct.pack("<f", float("nan")), "bad_sens"),
    ],
)
def test_headers_that_cannot_be_are_refused(tmp_path: Path, at: int, raw: bytes, finding: str) -> None:
    whole = sens(1, poses(1))
    put(tmp_path / "a.sens", whole[:at] + raw + whole[at + len(raw) :])
    with pytest.raises(FormatError) as caught:
        open_sens(tmp_path / "a.sens")
    assert caught.value.finding == finding
    assert caught.value.remedy
