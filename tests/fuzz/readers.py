"""What is fuzzed: each reader of binary files, files to begin with, and what must hold whatever it is given."""

import io
import pickle
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import feather
from pymavlink.dialects.v20 import ardupilotmega as mav

from pipeline.core.errors import FormatError, RawDataError
from pipeline.core.findings import Findings
from pipeline.formats.carla_log import read_carla_log
from pipeline.formats.colmap import parse_views
from pipeline.formats.feather import read_feather
from pipeline.formats.logs.registry import LOGS
from pipeline.formats.pickles import read_pickle
from pipeline.formats.picture_tags import BrokenTagsError, header_of, tags_of
from pipeline.formats.ply import parse_ply
from pipeline.formats.sens import open_sens
from pipeline.formats.zips import zip_members
from pipeline.worlds.flight.tracks.assemble import assemble
from pipeline.worlds.indoor.readers.scannetpp_film import PIXELS, open_depth
from pipeline.worlds.panorama.readers.sources import WrongGPano, from_exif, from_gpano
from tests.formats.logs.made_films import device, gps5, gps9, karma
from tests.formats.logs.made_logs import dataflash, structured, tlog, ulog
from tests.worlds.drive.readers.test_carla import recording
from tests.worlds.indoor.readers.tiny_scans import ply, poses, sens
from tests.worlds.panorama.tagged import NICE, picture, with_thumbnail

CORPUS: Final = Path(__file__).parent / "corpus"  # READER.zip: files that fuzzing found to reach new code
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # of all members, so that equal corpora are equal archives
N: Final = 6


class Fuzzed(NamedTuple):
    """A reader under fuzzing.

    Attributes:
        read: what a file holds; raises what the reader declares, which is caught, or anything else, which is a fault.
        declared: errors that the reader may raise.
        seeds: files to begin with.
    """

    read: Callable[[Path], object]
    declared: tuple[type[Exception], ...]
    seeds: Callable[[], list[bytes]]


def read_corpus(reader: str) -> dict[str, bytes]:
    """Name -> bytes of the saved files of a reader; empty where there are none."""
    path = CORPUS / f"{reader}.zip"
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in sorted(archive.namelist())}


def write_corpus(reader: str, files: dict[str, bytes]) -> None:
    """Replaces the saved files of a reader."""
    with zipfile.ZipFile(CORPUS / f"{reader}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), raw, zipfile.ZIP_DEFLATED)


def tried(fuzzed: Fuzzed, path: Path) -> object:
    """What a file holds; None where it was refused in the declared way."""
    try:
        return fuzzed.read(path)
    except fuzzed.declared:
        return None


def _log(name: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        logs, tracks = LOGS[name].read(path), []
        for log in logs:
            track = assemble(path, log).track
            assert np.isfinite(track.enu_m).all()
            assert (np.diff(track.t_s) > 0).all()
            tracks.append(track)
        return logs, tracks

    return read


def _ply(path: Path) -> object:
    mesh = parse_ply(path.read_bytes())
    assert np.isfinite(mesh.vertices).all()
    assert not mesh.faces.size or 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.vertices)
    return mesh


def _sens(path: Path) -> object:
    found, pictures = open_sens(path), []
    for frame in range(min(len(found), 3)):
        color, depth = found.color(frame), found.depth_m(frame)
        assert color is None or color.ndim == 3
        assert depth is None or (depth[~np.isnan(depth)] > 0).all()
        pictures.append((color, depth))
    return found, pictures


def _depth(path: Path) -> object:
    stream = open_depth(path)
    found = [stream(frame) for frame in range(min(len(stream.offsets), 3) or 1)]
    assert all(depth is None or (depth.size == PIXELS and not (depth < 0).any()) for depth in found)
    return found


def _zip(path: Path) -> object:
    found = [(member.name, member.read_bytes()) for member in zip_members(path)[:5]]
    assert all(isinstance(raw, bytes) for _, raw in found)
    return found


def _picture(path: Path) -> object:
    raw = path.read_bytes()
    header = header_of(raw)
    if header is None:
        raise BrokenTagsError("no picture")
    if header.width * header.height > 1_000_000:
        return header
    exif, gpano = tags_of(raw)
    found, told = Findings(), list[object]([header])
    if exif is not None:
        told.append(from_exif(exif, found))
    if gpano is not None:
        with suppress(WrongGPano):
            told.append(from_gpano(gpano, (header.width, header.height), found))
    assert all(finding.remedy for finding in found.items)
    return told, [finding.name for finding in found.items]


def _colmap(path: Path) -> object:
    cameras, _, images = path.read_text("utf-8", "replace").partition("\f")
    views = parse_views(cameras, images)
    assert np.isfinite(views.world_T_camera).all()
    return views


def _ulogs() -> list[bytes]:
    time_us = 10**6 + 100_000 * np.arange(N, dtype=np.uint64)
    line, zero = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    yes = np.ones(N, bool)
    local = structured(timestamp=time_us, x=line, y=zero, z=zero - 2, xy_valid=yes, z_valid=yes, heading=zero)
    whole = np.full(N, 1, np.int32)
    fix = structured(timestamp=time_us, lat=470_000_000 * whole, lon=85_000_000 * whole, alt=500_000 * whole)
    return [ulog({("vehicle_local_position", 0): local}), ulog({("vehicle_gps_position", 0): fix}, sync=True)]


def _dataflashes() -> list[bytes]:
    boot_us = 10**6 + 200_000 * np.arange(N, dtype=np.uint64)
    lat, lng, alt = np.full(N, 470_000_000), np.full(N, 85_000_000), np.full(N, 58_450)
    place = {"TimeUS": boot_us, "Status": np.full(N, 3), "Lat": lat + 900 * np.arange(N), "Lng": lng, "Alt": alt}
    angles = {"TimeUS": boot_us, "Roll": np.zeros(N), "Pitch": np.zeros(N), "Yaw": np.full(N, 9000)}
    return [dataflash({"GPS": ("QBLLe", place)}), dataflash({"GPS": ("QBLLe", place), "ATT": ("QccC", angles)})]


def _tlogs() -> list[bytes]:
    def place(i: int) -> tuple[float, int, mav.MAVLink_message]:
        message = mav.MAVLink_global_position_int_message(
            5000 + 100 * i, 470_000_000 + 100 * i, 85_000_000, 520_000, 20_000, 1100, 100, -50, 9000
        )
        return 1.7e9 + i / 10, 1, message

    return [tlog([place(i) for i in range(N)], version) for version in (1, 2)]


def _gpmfs() -> list[bytes]:
    rows = [(47.0 + 1e-5 * i, 8.5, 500.0, 4.0, 4.0) for i in range(N)]
    timed = [(*row, 9000, 100.0 + i, 1.5, 3) for i, row in enumerate(rows)]
    return [device("Hero7", gps5(rows)), device("Hero13", gps9(timed)), karma([100.0 + i / 4 for i in range(N)])]


def _plies() -> list[bytes]:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.5]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [3, 1, 0]])
    return [ply(corners, faces, kind) for kind in ("binary_little_endian", "binary_big_endian", "ascii")]


def _depths() -> list[bytes]:
    packed = zlib.compress(np.full(PIXELS, 1500, "<u2").tobytes(), 9)
    one = len(packed).to_bytes(4, "little") + packed
    return [one, one * 3, packed]


def _pictures() -> list[bytes]:
    gpano = {"PoseHeadingDegrees": "37.0", "FullPanoWidthPixels": "32"}
    return [picture(NICE, gpano, (32, 16)), with_thumbnail(picture(size=(32, 16)), picture(NICE, size=(16, 8)))]


def _zips() -> list[bytes]:
    files = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr("color/0.jpg", b"picture" * 5)
            archive.writestr("../depth/0.png", b"")
        files.append(buffer.getvalue())
    return files


def _carla(path: Path) -> object:
    log = read_carla_log(path.read_bytes())
    assert len(log.elapsed_s) > 0
    return log


def _feather(path: Path) -> object:
    columns = read_feather(path.read_bytes(), {"track": None, "x": np.float64, "points": np.int64})
    assert len({len(column) for column in columns.values()}) == 1
    return columns


def _pickle(path: Path) -> object:
    return read_pickle(path.read_bytes(), ("Demo", "Observation"))


def _feathers() -> list[bytes]:
    table = pa.table({"track": ["a", "b", "c"], "x": [0.5, 1.5, 2.5], "points": [1, 2, 3]})
    files = []
    for compression in ("uncompressed", "lz4"):
        buffer = io.BytesIO()
        feather.write_feather(table, buffer, compression=compression)
        files.append(buffer.getvalue())
    return files


def _pickles() -> list[bytes]:
    value = {"joints": np.arange(6.0), "open": 1.0, "names": ["a", "b"], "depth": np.ones((2, 3), "<u2")}
    return [pickle.dumps([value, None, (True, -7, 2.5)], protocol=protocol) for protocol in range(2, 6)]


def _colmaps() -> list[bytes]:
    cameras = (
        "1 OPENCV_FISHEYE 1752 1168 790 790 876 584 -0.03 -0.01 0.001 -0.0007\n2 PINHOLE 640 480 500 500 320 240\n"
    )
    images = (
        "1 0.99 0.01 0.02 0.03 1.5 -0.5 2.5 1 frame_000000.jpg\n\n2 0.9 0.1 0.2 0.3 1 2 3 2 frame_000010.jpg\n1 2 3\n"
    )
    return [f"{cameras}\f{images}".encode()]


READERS: Final = {
    "ply": Fuzzed(_ply, (FormatError,), _plies),
    "sens": Fuzzed(_sens, (FormatError, OSError), lambda: [sens(1, poses(1))]),
    "depth_stream": Fuzzed(_depth, (OSError,), _depths),
    "picture": Fuzzed(_picture, (BrokenTagsError,), _pictures),
    "zips": Fuzzed(_zip, (OSError,), _zips),
    "colmap": Fuzzed(_colmap, (FormatError,), _colmaps),
    "px4_ulog": Fuzzed(_log("px4_ulog"), (RawDataError,), _ulogs),
    "dataflash": Fuzzed(_log("dataflash"), (RawDataError,), _dataflashes),
    "tlog": Fuzzed(_log("tlog"), (RawDataError,), _tlogs),
    "gpmf": Fuzzed(_log("gpmf"), (RawDataError,), _gpmfs),
    "carla_log": Fuzzed(_carla, (FormatError,), lambda: [recording()]),
    "feather": Fuzzed(_feather, (FormatError,), _feathers),
    "pickles": Fuzzed(_pickle, (FormatError,), _pickles),
}
