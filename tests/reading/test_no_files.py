"""What lies in a data folder and is no file costs its scene and no time: pipes and devices are never opened."""

import io
import json
import os
import signal
import struct
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import av
import numpy as np
import pytest

from pipeline.core.errors import ConfigError, RawDataError, Scan2qaError
from pipeline.core.files import open_file, read_file, size_of_file
from pipeline.core.findings import Findings, note
from pipeline.formats.sens import open_sens
from pipeline.formats.videos import MAX_PIXELS, VideoError, video_facts
from pipeline.reading import folders
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.worlds.panorama.readers import panoramas
from pipeline.worlds.registry import READERS
from tests.worlds.flight.readers.tiny_flights import place, point_feature, write_flight, write_map
from tests.worlds.indoor.readers.tiny_scans import WRITERS
from tests.worlds.panorama.panoramas import write

PATIENCE_S = 120  # of a busy machine


@pytest.fixture(autouse=True)
def _impatient() -> Iterator[None]:
    """A reader that waits at a pipe would wait for ever."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise AssertionError("a reader waits for what is no file")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _flights(root: Path) -> None:
    folder = write_flight(root, {"landmarks": "marks.json"}, video_s=1.0)
    write_map(folder / "marks.json", point_feature(place(0.0, 40.0), name="the mast"))


def _told(reader: str, root: Path) -> list[str]:
    """Everything that is said of a root when all of it is read."""
    told = []
    try:
        listing = READERS[reader].scenes(root)
        told += [error.finding for error in listing.broken]
        for ref in listing.scenes:
            files = SceneFiles(root, ref)
            scene = READERS[reader].read(files)
            READERS[reader].geometry(files, scene)
            told += [finding.name for finding in scene.findings]
            footage = READERS[reader].footage(files, scene)
            told += [str(frame.shape) for frame in islice(footage.frames(), 2)] if footage else ["no footage"]
    except Scan2qaError as error:
        told.append(error.finding if isinstance(error, RawDataError) else type(error).__name__)
    return told


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*WRITERS, "flights"])
def test_a_pipe_in_the_place_of_any_file_is_told_at_once(kind: str, tmp_path: Path) -> None:
    reader, write = kind.partition("_")[0], WRITERS.get(kind, _flights)
    write(tmp_path / "whole")
    whole = _told(reader, tmp_path / "whole")
    kinds: dict[tuple[Path, str], Path] = {}  # one picture stands for all of its folder
    for path in sorted(p for p in (tmp_path / "whole").rglob("*") if p.is_file()):
        kinds.setdefault((path.parent, path.suffix), path.relative_to(tmp_path / "whole"))
    assert len(kinds) >= 2
    differ = 0
    for number, path in enumerate(kinds.values()):
        told = []
        for put in (os.mkfifo, os.mkdir):
            root = tmp_path / f"{number} {put.__name__}"
            write(root)
            (root / path).unlink()
            put(root / path)
            told.append(_told(reader, root))
        assert told[0] == told[1], path
        differ += told[0] != whole
    assert differ >= 1


def test_only_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "named pipe"), (tmp_path, "folder"), (Path("/dev/zero"), "device")):
        for use in (size_of_file, open_file, read_file):
            with pytest.raises(OSError, match=rf"this is a {what}, not a file"):
                use(path)
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="device"):
        read_file(tmp_path / "link")
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(OSError, match="5 bytes, over 4"):
        read_file(tmp_path / "large", 4)
    assert read_file(tmp_path / "large", 5) == b"12345"


def test_a_hundred_thousand_keys_given_twice_take_no_time() -> None:
    pairs = [(f"k{n % 50_000}", n) for n in range(100_000)]
    text = "{" + ",".join(f'"{key}": {value}' for key, value in pairs) + "}"
    findings, start = Findings(), time.monotonic()
    assert json.loads(text, object_pairs_hook=findings.unique_keys) == dict(pairs)
    assert time.monotonic() - start < PATIENCE_S / 2
    (fault,) = findings.faults
    assert fault.name == "duplicate_key"
    assert len(fault.message) < 2_100


def test_a_name_of_a_hundred_million_letters_is_told_in_short() -> None:
    name = "a" * 10**8
    finding = note("odd", name, f"the label {name}", "rename it")
    assert finding.subject.endswith("… (100,000,000 characters)")
    assert len(finding.subject) + len(finding.message) < 2_500
    error = RawDataError(Path("a.json"), "odd", name, "rename it", name)
    assert len(str(error)) < 2_500


def _sens_header(frames: int) -> bytes:
    name = b"StructureSensor"
    sizes = struct.pack("<iiIIIIfQ", 2, 1, 64, 48, 64, 48, 1000.0, frames)
    return struct.pack("<IQ", 4, len(name)) + name + struct.pack("<64f", *np.eye(4).ravel().tolist() * 4) + sizes


def test_a_sparse_sens_file_of_a_terabyte_ends_where_it_was_not_filled(tmp_path: Path) -> None:
    path = tmp_path / "scan.sens"
    path.write_bytes(_sens_header(10**12))
    os.truncate(path, 10**12)
    sens = open_sens(path)
    assert (len(sens.table), sens.declared) == (0, 10**12)


def test_a_video_of_huge_pictures_is_refused_by_its_header(tmp_path: Path) -> None:
    width, height = 16_000, 8_600
    assert width * height > MAX_PIXELS
    raw = io.BytesIO()
    with av.open(raw, "w", format="avi") as container:  # a header alone, which is believed
        stream = container.add_stream("mjpeg", rate=5)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuvj420p"
        container.start_encoding()
    (tmp_path / "video.avi").write_bytes(raw.getvalue())
    with pytest.raises(VideoError, match=f"16000x8600 pixels, over {MAX_PIXELS}"):
        video_facts(tmp_path / "video.avi")


@pytest.mark.parametrize(
    ("reader", "module", "step"), [("panoramas", panoramas, "_list_panorama"), ("scannet", folders, "_ref")]
)
def test_whatever_goes_wrong_in_listing_a_scene_costs_that_alone(
    reader: str, module: ModuleType, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what no code foresaw; what concerns the whole build ends it."""
    for name in ("scene0001_00", "scene0002_00"):
        if reader == "panoramas":
            write(tmp_path, name)
        else:
            (tmp_path / "scans" / name).mkdir(parents=True)
    real = getattr(module, step)
    listed = len(READERS[reader].scenes(tmp_path).scenes)
    assert listed == 2

    def broken(error: Exception) -> Callable[..., SceneRef]:
        def run(root: Path, place: Path, *others: Any) -> SceneRef:
            if place.name == "scene0002_00":
                raise error
            made: SceneRef = real(root, place, *others)
            return made

        return run

    monkeypatch.setattr(module, step, broken(ZeroDivisionError("nothing to divide by")))
    listing = READERS[reader].scenes(tmp_path)
    assert [ref.id.partition("/")[2] for ref in listing.scenes] == ["scene0001_00"]
    (fault,) = listing.broken
    assert (fault.finding, fault.path.name) == ("unexpected_error", "scene0002_00")
    assert "ZeroDivisionError: nothing to divide by (test_no_files.py:" in fault.message
    monkeypatch.setattr(module, step, broken(ConfigError("no such option")))
    with pytest.raises(ConfigError, match="no such option"):
        READERS[reader].scenes(tmp_path)
