"""Pictures and depth that cannot be used: each costs what rests on it, with file, finding and remedy."""

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import PanoramaConfig
from pipeline.worlds.panorama.observe.panorama import observe_panorama
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.worlds.panorama.panoramas import SIDECAR, jpeg, read, texture, write

DEPTH = SIDECAR + "depth: {metres_per_unit: 0.001}\n"


def saved(mode: str, kind: str, size: tuple[int, int] = (256, 128), **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, 90 if mode == "L" else None).save(out, kind, **options)
    return out.getvalue()


def wide(width: int, height: int) -> bytes:
    """The head of a JPEG that says it is so large, with the body of a small one."""
    raw = saved("RGB", "JPEG")
    at = raw.index(b"\xff\xc0")
    return raw[: at + 5] + struct.pack(">HH", height, width) + raw[at + 9 :]


def png16(depth: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(depth.astype(np.uint16)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("picture", "finding", "told"),
    [
        (saved("RGB", "JPEG", (300, 128)), "not_two_to_one", "300 x 128, 2.344 times as wide as high"),
        (saved("CMYK", "JPEG"), "not_rgb", "4 channels"),
        (saved("RGB", "JPEG")[:-150], "truncated_picture", "its end is missing"),
        (saved("RGB", "PNG")[:-20], "truncated_picture", "its end is missing"),
        (wide(30_000, 15_000), "picture_too_large", "30000 x 15000"),
        (wide(65_000, 32_500), "picture_too_large", "2,112,500,000 pixels"),
        (b"GIF89a" + bytes(100), "unreadable_picture", "no JPEG and no PNG"),
        (b"\xff\xd8\xff", "unreadable_picture", "no JPEG and no PNG"),
        (png16(np.zeros((128, 256))), "not_8_bits", "16 bits"),
        (saved("RGB", "JPEG", (8, 4)), "picture_too_small", "8 x 4"),
        (saved("RGB", "JPEG", progressive=True).replace(b"\xff\xd9", b"\xff\xda" * 55 + b"\xff\xd9"),
         "too_many_scans", "over it 65 times"),
    ],
)  # fmt: skip
def test_a_picture_that_cannot_be_used(tmp_path: Path, picture: bytes, finding: str, told: str) -> None:
    write(tmp_path, picture=picture, sidecar=None)  # its position is looked for in the picture
    write(tmp_path, name="p2")
    with pytest.raises(RawDataError) as caught:
        read(tmp_path)
    assert (caught.value.path, caught.value.finding) == (tmp_path / "p1" / "pano.jpg", finding)
    assert told in caught.value.message
    assert caught.value.remedy
    assert read(tmp_path, "p2").findings == ()


def test_a_progressive_and_a_grey_picture_are_good_enough(tmp_path: Path) -> None:
    write(tmp_path, picture=jpeg(progressive=True))
    write(tmp_path, name="p2", picture=saved("L", "JPEG"))
    assert [finding.name for finding in read(tmp_path).findings] == ["progressive"]
    assert read(tmp_path, "p2").findings == ()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "p1" / "pano.yaml").unlink()
    os.mkfifo(tmp_path / "p1" / "pano.yaml")
    assert read(tmp_path).facts.heading_deg is None  # no file, no sidecar
    (tmp_path / "p1" / "pano.jpg").unlink()
    os.mkfifo(tmp_path / "p1" / "pano.jpg")
    assert len(Panoramas().scenes(write(tmp_path, name="p2")).scenes) == 1


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        ({}, "missing_picture"),
        ({"a.jpg": jpeg(), "b.jpg": jpeg()}, "several_pictures"),
    ],
)
def test_which_picture_it_is(tmp_path: Path, files: dict[str, bytes], finding: str) -> None:
    folder = write(tmp_path) / "p1"
    (folder / "pano.jpg").unlink()
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    with pytest.raises(RawDataError, match=finding):
        read(tmp_path)


def test_a_picture_that_the_sidecar_names(tmp_path: Path) -> None:
    root = write(tmp_path, sidecar=SIDECAR + "picture: b.jpg\n", a__jpg=jpeg(), b__jpg=jpeg(texture(300, 150)))
    assert read(root).facts.picture.path == "p1/b.jpg"


def test_a_crop_that_people_state(tmp_path: Path) -> None:
    crop = "crop: {full_width: 256, full_height: 128, left: 0, top: 32}\n"
    facts = read(write(tmp_path, sidecar=SIDECAR + crop, picture=jpeg(texture(256, 64)))).facts
    assert facts.picture.crop is not None
    with pytest.raises(RawDataError, match="crop_contradicts"):
        read(write(tmp_path / "b", sidecar=SIDECAR + crop.replace("32", "65"), picture=jpeg(texture(256, 64))))
    lowest = SIDECAR + crop.replace("32", "64")
    assert read(write(tmp_path / "c", sidecar=lowest, picture=jpeg(texture(256, 64)))).facts.picture.crop is not None


@pytest.mark.parametrize(
    ("depth", "sidecar", "finding"),
    [
        (png16(np.full((128, 128), 4000)), DEPTH, "depth_of_another_shape"),
        (saved("L", "PNG"), DEPTH, "unusable_depth"),
        (jpeg(), DEPTH, "unusable_depth"),
        (b"", DEPTH, "empty_file"),
        (png16(np.full((128, 256), 4000)), SIDECAR, "depth_without_scale"),
        (png16(np.full((128, 256), 4000)), DEPTH.replace("0.001", "1"), "depth_scale_implausible"),
    ],
)
def test_depth_that_cannot_be_used(tmp_path: Path, depth: bytes, sidecar: str, finding: str) -> None:
    root = write(tmp_path, sidecar=sidecar, depth__png=depth)
    if not depth:
        with pytest.raises(RawDataError, match=finding):
            read(root)
        return
    scene = read(root)
    assert scene.facts.depth is None
    assert [(f.name, f.subject) for f in scene.findings if f.severity == "doubt"] == [(finding, "depth")]


def test_depth_of_half_the_size_covers_the_same(tmp_path: Path) -> None:
    scene = read(write(tmp_path, sidecar=DEPTH, depth__png=png16(np.full((64, 128), 4000))))
    assert (scene.facts.depth.width, scene.facts.depth.height) == (128, 64)


@pytest.mark.parametrize("body", [b"\0", b"\xff\x00"])
def test_a_picture_whose_body_is_broken_is_left_out_where_it_is_decoded(tmp_path: Path, body: bytes) -> None:
    raw = saved("RGB", "PNG")
    at = raw.index(b"IDAT") + 6
    root = write(tmp_path, picture=raw[:at] + body * 20 + raw[at + 20 * len(body) :])
    (ref,) = Panoramas().scenes(root).scenes
    files = SceneFiles(root, ref)
    scene = Panoramas().read(files)
    observed = observe_panorama(scene, Panoramas().geometry(files, scene), PanoramaConfig())
    assert [f.name for f in observed.findings if f.severity == "fault"] == ["broken_picture"]


def test_a_depth_too_large_is_not_used(tmp_path: Path) -> None:
    raw = png16(np.zeros((128, 256)))
    large = raw[:16] + struct.pack(">II", 32_768, 16_384) + raw[24:]
    large = large[:29] + struct.pack(">I", zlib.crc32(large[12:29])) + large[33:]
    scene = read(write(tmp_path, sidecar=DEPTH, depth__png=large))
    (told,) = (one for one in scene.findings if one.name == "depth_too_large")
    assert told.measured == 32_768 * 16_384


def test_a_depth_that_breaks_off_within_is_in_doubt(tmp_path: Path) -> None:
    raw = png16(np.arange(128 * 256).reshape(128, 256))
    at = raw.index(b"IDAT") + 4
    root = write(tmp_path, sidecar=DEPTH, depth__png=raw[:at] + b"\xff" * 60 + raw[at + 60 :])
    (ref,) = Panoramas().scenes(root).scenes
    files = SceneFiles(root, ref)
    scene = Panoramas().read(files)
    observed = observe_panorama(scene, Panoramas().geometry(files, scene), PanoramaConfig())
    assert "broken_depth" in {one.name for one in observed.findings}
