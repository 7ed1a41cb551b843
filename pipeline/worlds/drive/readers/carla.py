"""Reader of recordings of the CARLA simulator, without CARLA: ``name.log`` below a folder, in the recorder's own form.

Our car is the vehicle of the role "hero". Sizes are those that the recording has; lanes are in no recording.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.errors import faults_of
from pipeline.core.files import open_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.formats import carla_log
from pipeline.formats.carla_log import CarlaLog, read_carla_log
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import FolderReader, check_scene_name, digest_files
from pipeline.reading.reader import ExpectedFile
from pipeline.worlds.drive.facts import TIME_STEP_S, Drive, DriveScene
from pipeline.worlds.drive.readers.carla_recording import CarlaRecording
from pipeline.worlds.drive.readers.tracking import check_span

EXPECTED_FILES: Final = (ExpectedFile("recording", ("*.log",), "the drive is left out", True, recorded=(".log",)),)


@dataclass(frozen=True)
class Carla(FolderReader):
    """Recordings of the CARLA simulator.

    Attributes:
        ego: the role or the id of our car, where it is not the one called "hero".
    """

    ego: str = ""

    name = "carla"
    version = 1
    video_fps = 20
    expected_files = EXPECTED_FILES
    expected_root = "a folder of CARLA recordings (*.log)"
    expected_scenes = "no recording of CARLA here. Give a folder of what its recorder wrote (*.log)"
    scene_word = "recording"

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {"ego": self.ego} if self.ego else {}

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: all files ``*.log`` below the root."""
        return root.rglob("*.log")

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`: a file that begins as recordings do."""
        if place.is_file() and _is_recording(place):
            check_scene_name(place, place.stem, "rename the file")
            stamp = digest_files(root, [(place.name, place.stat())], shared)
            names = tuple(path.relative_to(root).as_posix() for path in (place.parent, place))
            yield SceneRef(f"{self.name}/{place.stem}", names, stamp)

    def read(self, files: SceneFiles) -> DriveScene:
        """See `Reader.read`."""
        findings = Findings()
        path = files.root / files.ref.files[1]
        with faults_of(path, "give what client.start_recorder of CARLA 0.9.12 to 0.9.15 wrote", files.scene):
            log = read_carla_log(files.raw(path))
        _report_damage(log, findings)
        read = CarlaRecording(log, _frames_in_order(log, findings), findings)
        check_span(files, path, read.times_s, len(read.tracks))
        ego = read.hero(self.ego, files, path)
        drive = Drive(
            map_name=log.map_name.rpartition("/")[2] or None,
            start_ns=log.start_s * 10**9,
            seconds=pack(read.times_s - read.times_s[0], TIME_STEP_S),
            ego=None if ego is None else read.ego(ego),
            actors=read.actors(ego),
            lights=read.lights(),
            collisions=read.collisions(ego),
            cameras=read.cameras(ego),
        )
        return files.scene_of(DriveScene, self, "recorded", drive, findings)


def _is_recording(path: Path) -> bool:
    with open_file(path) as file:
        return file.read(2 + 2 + len(carla_log.MAGIC))[4:] == carla_log.MAGIC.encode()


def _frames_in_order(log: CarlaLog, findings: Findings) -> IntArray:
    """For each frame the index of its time; -1 for one that is no later than one before it."""
    known = np.isfinite(log.elapsed_s)
    latest = np.maximum.accumulate(np.where(known, log.elapsed_s, -np.inf))
    later = known & np.append(True, log.elapsed_s[1:] >= latest[:-1] + TIME_STEP_S)
    if not later.all():
        back = int((~later).sum())
        message = f"{back} of {len(later)} frames are no later than one before them; they were left out"
        findings.add(doubt("times_run_backwards", "log", message, "record it again", back, 0, "frames"))
    return np.where(later, np.cumsum(later) - 1, -1)


def _report_damage(log: CarlaLog, findings: Findings) -> None:
    if log.left_bytes:
        message = f"the file ends in the middle of a packet; its {log.left_bytes} bytes were left out"
        remedy = "stop the recorder before the simulator, or copy the file again"
        findings.add(note("truncated", "log", message, remedy, log.left_bytes, 0, "bytes"))
    if log.unknown:
        unknown = ", ".join(f"{count} of id {kind}" for kind, count in log.unknown.items())
        message = f"packets that nothing is known of were passed over: {unknown}"
        findings.add(note("unknown_packet", "log", message, "nothing is to be done", sum(log.unknown.values()), 0, "1"))
    if log.damaged:
        unknown = ", ".join(f"{count} of id {kind}" for kind, count in log.damaged.items())
        message = f"packets whose size does not fit what is in them were left out: {unknown}"
        bad = sum(log.damaged.values())
        findings.add(doubt("damaged_packet", "log", message, "record it again", bad, 0, "packets"))
