"""Reader of KITTI's tracking benchmark: ``label_02/SEQUENCE.txt``, with ``calib``, ``oxts`` and ``image_02`` if there.

Labels are boxes in the rectified camera's frame (x right, y down, z ahead; a box's origin at the middle of its bottom),
ten times a second. Without oxts it is not known how our car moved: places are then about the camera (frame "ego").
Columns: devkit_tracking/readme.txt.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray, StrArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.formats.images import size_of
from pipeline.geometry.angles import rotated, yaw_deg
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import FolderReader, check_scene_name, digest_files
from pipeline.reading.footage import Footage
from pipeline.reading.reader import ExpectedFile
from pipeline.worlds.drive.facts import KITTI, ROAD_USERS, TIME_STEP_S, Actor, Drive, DriveCamera, DriveScene, Ego
from pipeline.worlds.drive.readers import tracking
from pipeline.worlds.drive.readers.kitti_poses import (
    BODY_FROM_CAMERA,
    Calibration,
    CameraPoses,
    read_calibration,
    read_oxts,
)

LABELLED_IN: Final = "the left colour camera"
RATE_HZ: Final = 10
FIELDS: Final = 17  # of a label; an 18th is the score of a detector
PASSED: Final = "DontCare"  # stretches of the picture in which nobody labelled
REACH_MAX_M: Final = 1000.0  # labels without a place in space have -1000
POINT: Final = "the left grey camera"
LEVEL_MAX: Final = 3.0  # of occlusion and truncation
NEAR_M: Final = 3.0  # ahead, from which on a box is whole in the picture
MARKS_MIN: Final = 10  # labels, of which the middle one counts
MARKS_OVERLAP: Final = 0.7  # intersection over union in the middle; of the real sequences at hand 0.97
TURNS_MAX_DEG: Final = 10.0  # between turns and those seen by the camera, in the middle; of the real sequences 0.1
_CORNERS: Final = np.array([[a, b, c] for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (0.0, 1.0)])
_SHOWN: Final = 5
_LABELS, _CALIBRATION, _POSES, _PICTURES = "label_02", "calib", "oxts", "image_02"
EXPECTED_FILES: Final = (
    ExpectedFile("labels", (f"{_LABELS}/*.txt",), "the sequence is left out", True),
    ExpectedFile(
        "calibration", (f"{_CALIBRATION}/*.txt",), "no cameras; with oxts too, how our car moved is not known"
    ),
    ExpectedFile("poses", (f"{_POSES}/*.txt",), "how our car moved is not known: no question about speeds over ground"),
    ExpectedFile("pictures", (f"{_PICTURES}/*",), "no cameras"),
)


class KittiTracking(FolderReader):
    """Sequences of KITTI's tracking benchmark."""

    name = "kitti_tracking"
    version = 2
    video_fps = RATE_HZ
    expected_files = EXPECTED_FILES
    expected_root = f"the folder that holds {_LABELS}"
    expected_scenes = f"no labels of KITTI here. Give the folder that holds {_LABELS}/*.txt"

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: files of labels."""
        folder = next((f for f in (root, root / "training") if (f / _LABELS).is_dir()), root)
        return (folder / _LABELS).glob("*.txt")

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`."""
        check_scene_name(place, place.stem, "rename the file")
        folder = place.parents[1]
        beside = (folder / part / place.name for part in (_CALIBRATION, _POSES))
        own = [place, *(p for p in beside if p.is_file())]
        stamp = hashlib.sha256(shared)
        for path in own:
            stat = path.stat()
            stamp.update(f"{path.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
        names = tuple(path.relative_to(root).as_posix() for path in (folder, *own))
        pictures = folder / _PICTURES / place.stem
        listed = digest_files(pictures, ((p.name, p.stat()) for _, p in tracking.numbered(pictures)), b"")
        stamp.update(listed.encode())  # changes whenever the pictures may have changed
        yield SceneRef(f"{self.name}/{place.stem}", names, stamp.hexdigest())

    def read(self, files: SceneFiles) -> DriveScene:
        """See `Reader.read`."""
        findings = Findings()
        labels = _Labels(files, files.path / _LABELS / f"{files.name}.txt", findings)
        labels.check_turns(findings)
        calibration_path = files.path / _CALIBRATION / f"{files.name}.txt"
        calibration = Calibration({}, None)
        if calibration_path.is_file():
            calibration = read_calibration(files, calibration_path, findings)
            labels.check_marks(calibration, findings)
        oxts_path = files.path / _POSES / f"{files.name}.txt"
        poses = read_oxts(files, oxts_path, calibration, findings) if oxts_path.is_file() else None
        count = max(int(labels.frame.max(initial=0)) + 1, 0 if poses is None else len(poses.place_m))
        tracking.check_span(files, labels.path, np.arange(count) / RATE_HZ, len(set(labels.names.tolist())))
        if poses is not None and len(poses.place_m) < count:
            less = count - len(poses.place_m)
            message = f"{less} of {count} frames have no pose of our car"
            findings.add(doubt("no_ego_pose", "log", message, "fetch oxts again", less, 0, "frames"))
        drive = Drive(
            frame="ego" if poses is None else "world",
            seconds=pack(np.arange(count) / RATE_HZ, TIME_STEP_S),
            ego=None if poses is None else _ego(poses),
            ego_point=POINT if poses is None else None,
            actors=labels.actors(poses, findings),
            complete=tuple(sorted(ROAD_USERS)),  # what of them is small or hidden lies in DontCare
            labelled_in=LABELLED_IN,
            cameras=_cameras(files, calibration),
        )
        video = tracking.video_of(files, _pictures(files), drive.times_s[-1], self.video_fps)
        return files.scene_of(DriveScene, self, "annotated", drive, findings, video)

    def footage(self, files: SceneFiles, scene: DriveScene) -> Footage | None:
        """See `Reader.footage`: what the left colour camera saw."""
        return (
            tracking.footage_of(files, _pictures(files), scene.facts.times_s[-1], self.video_fps)
            if scene.video
            else None
        )


class _Labels:
    """The usable lines of a label file, DontCare apart.

    Attributes:
        path: of the file.
        frame: (R,).
        names: (R,) of the tracks.
        words: (R,) the source's categories.
        numbers: (R, 14) from `truncated` to `rotation_y`.
    """

    def __init__(self, files: SceneFiles, path: Path, findings: Findings) -> None:
        self.path = path
        rows: list[tuple[int, str, str, list[float]]] = []
        bad: list[int] = []
        backwards = latest = 0
        text = files.text(path)
        for number, line in enumerate(text.splitlines(), start=1):
            fields = line.split()
            if not fields or (len(fields) > 2 and fields[2] == PASSED):
                continue
            row = _label(fields)
            if row is None:
                bad.append(number)
                continue
            backwards += row[0] < latest
            latest = max(latest, row[0])
            rows.append(row)
        if bad:
            shown = ", ".join(map(str, bad[:_SHOWN])) + (" …" if len(bad) > _SHOWN else "")
            message = f"{len(bad)} lines are no label of {FIELDS} fields, and were left out: line {shown}"
            findings.add(doubt("bad_line", "log", message, "fetch the labels again", len(bad), 0, "lines"))
        if backwards:
            message = f"{backwards} lines are of a frame before that of a line above; they were put in order"
            findings.add(note("frames_out_of_order", "log", message, "nothing is to be done", backwards, 0, "lines"))
        if not text.endswith("\n"):
            rows = [row for row in rows if row[0] < latest]
            message = f"the last line has no end, so that labels may be missing: frame {latest} was left out"
            findings.add(note("cut", "log", message, "fetch the labels again, or end the last line"))
        if not rows:
            message = "no line is a label" if bad else f"there are no labels but {PASSED}"
            raise files.fault(path, "no_labels", message, "fetch the labels again")
        self.frame: IntArray = np.array([row[0] for row in rows], dtype=np.intp)
        self.names: StrArray = np.array([row[1] for row in rows], dtype=object)
        self.words: StrArray = np.array([row[2] for row in rows], dtype=object)
        self.numbers: FloatArray = np.array([row[3] for row in rows], dtype=np.float64)

    def check_marks(self, calibration: Calibration, findings: Findings) -> None:
        """Doubts all tracks where boxes in space do not lie where the same boxes are marked in the picture.

        Of those that are whole in the picture, the rectangles around both must overlap, in the middle.
        """
        projection = calibration.projections.get("P2")
        in_reach = (np.abs(self.numbers[:, 10:13]) < REACH_MAX_M).all(1)
        numbers = self.numbers[in_reach & (self.numbers[:, 0] == 0) & (self.numbers[:, 12] > NEAR_M)]
        if projection is None or len(numbers) < MARKS_MIN:
            return
        size, turn = numbers[:, None, 7:10], numbers[:, 13, None]
        along, across = _CORNERS[:, 0] * size[..., 2], _CORNERS[:, 1] * size[..., 1]
        corners = numbers[:, None, 10:13] + np.stack(
            [
                np.cos(turn) * along + np.sin(turn) * across,
                -_CORNERS[:, 2] * size[..., 0],
                np.cos(turn) * across - np.sin(turn) * along,
            ],
            axis=-1,
        )
        seen = corners @ projection[:, :3].T + projection[:, 3]
        pixels = seen[..., :2] / np.maximum(seen[..., 2:], 0.1)
        low, high = pixels.min(1), pixels.max(1)
        marked_low, marked_high = numbers[:, 3:5], numbers[:, 5:7]
        both = np.maximum(np.minimum(high, marked_high) - np.maximum(low, marked_low), 0).prod(1)
        share = both / np.maximum((high - low).prod(1) + (marked_high - marked_low).prod(1) - both, 1e-9)
        middle = float(np.median(share))
        if middle < MARKS_OVERLAP:
            message = f"boxes in space and in the picture overlap by {middle:.0%}, in the middle of {len(numbers)}"
            remedy = "are places and turns of boxes those of the rectified camera, x to the right?"
            for name in sorted(set(self.names.tolist())):
                findings.add(
                    doubt("boxes_off_the_picture", name, message, remedy, round(middle, 3), MARKS_OVERLAP, "share")
                )

    def check_turns(self, findings: Findings) -> None:
        """Doubts all tracks where turns in space are not those that the same lines have as seen from the camera.

        `alpha` is `rotation_y` less the bearing of the box's middle, however the file came about; where it is the same
        on all lines, as converters write it, it was not measured.
        """
        alpha, place, turn = self.numbers[:, 2], self.numbers[:, 10:13], self.numbers[:, 13]
        stated = (np.abs(alpha) <= np.pi) & (np.abs(place) < REACH_MAX_M).all(1) & (place[:, 2] > NEAR_M)
        if int(stated.sum()) < MARKS_MIN or np.ptp(alpha[stated]) == 0:
            return
        off = (turn - np.arctan2(place[:, 0], place[:, 2]) - alpha)[stated]
        middle = float(np.degrees(np.median(np.abs((off + np.pi) % (2 * np.pi) - np.pi))))
        if middle > TURNS_MAX_DEG:
            message = f"rotation_y and alpha of {stated.sum()} boxes disagree by {middle:.0f} degrees in the middle"
            remedy = "give rotation_y about the axis downwards, in radians, 0 to the right; alpha less by the bearing"
            for name in sorted(set(self.names.tolist())):
                findings.add(doubt("turns_disagree", name, message, remedy, round(middle, 1), TURNS_MAX_DEG, "deg"))

    def actors(self, poses: CameraPoses | None, findings: Findings) -> tuple[Actor, ...]:
        """All with a track, by id."""
        away = ~(np.abs(self.numbers[:, 10:13]) < REACH_MAX_M).all(1)
        for name in sorted(set(self.names[away].tolist())):
            count = int((self.names[away] == name).sum())
            message = f"{count} labels of {name} have no place in space, or one over 1 km away"
            findings.add(doubt("unusable_box", name, message, "label them again", count, 0, "boxes"))
        names, thing = np.unique(self.names.astype(str), return_inverse=True)
        twice = tracking.repeated(thing, self.frame) & ~away
        tracking.report_repeated(names[thing[twice]], findings)
        kept = ~away & ~twice
        words = tracking.steady_words(self.names[kept], self.words[kept], KITTI, findings)
        if poses is not None:
            kept &= self.frame < len(poses.place_m)
        frame, numbers = self.frame[kept], self.numbers[kept]
        turn, place = numbers[:, 13], numbers[:, 10:13]
        ahead = np.stack([np.cos(turn), np.zeros(len(turn)), -np.sin(turn)], axis=-1)
        place_m, ahead = place @ BODY_FROM_CAMERA.T + 0.0, ahead @ BODY_FROM_CAMERA.T + 0.0
        if poses is not None:
            place_m = rotated(poses.axes[frame], place_m) + poses.place_m[frame]
            ahead = rotated(poses.axes[frame], ahead)
        tables = {
            "place_m": place_m,
            "yaw_deg": yaw_deg(ahead)[:, None],
            "truncated": numbers[:, 0:1],
            "occluded": numbers[:, 1:2],
            "size_m": numbers[:, [9, 8, 7]],
        }
        recorded = {"occluded": (LEVEL_MAX, 1.0), "truncated": (LEVEL_MAX, 0.01)}
        actors = tracking.actors_of(self.names[kept], frame, tables, words, KITTI, recorded, findings)
        boxes = [a.box and a.box.model_copy(update={"middle_m": (0.0, 0.0, a.box.size_m[2] / 2)}) for a in actors]
        return tuple(actor.model_copy(update={"box": box}) for actor, box in zip(actors, boxes, strict=True))


def _pictures(files: SceneFiles) -> tracking.Pictures | None:
    folder = files.path / _PICTURES / files.name
    entries = tracking.numbered(folder)
    return tracking.pictures_of(folder, entries, np.array([frame for frame, _ in entries]) / RATE_HZ)


def _label(fields: list[str]) -> tuple[int, str, str, list[float]] | None:
    """Frame, track, type and the 14 numbers after them; None where a field is missing or no number."""
    if len(fields) not in {FIELDS, FIELDS + 1}:
        return None
    try:
        frame, track = int(fields[0]), int(fields[1])
        numbers = [float(field) for field in fields[3:FIELDS]]
    except ValueError:
        return None
    usable = 0 <= frame < tracking.LASTS_MAX_S * RATE_HZ and track >= 0 and bool(np.isfinite(numbers).all())
    return (frame, str(track), fields[2], numbers) if usable else None


def _ego(poses: CameraPoses) -> Ego:
    every = np.arange(len(poses.place_m))
    tables = {
        "place_m": poses.place_m,
        "yaw_deg": yaw_deg(poses.axes[..., 0])[:, None],
        "velocity_mps": poses.velocity_mps,
    }
    return Ego(track=tracking.stretches(np.zeros_like(every), every, tables)[0].track(), point=POINT)


def _cameras(files: SceneFiles, calibration: Calibration) -> tuple[DriveCamera, ...]:
    """The left colour camera, where its projection is known and it has a picture."""
    projection = calibration.projections.get("P2")
    pictures = _pictures(files)
    if projection is None or pictures is None or not (np.diag(projection) > 0).all():
        return ()
    size = size_of(pictures.files[0])
    if size is None:
        return ()
    (fx, fy), (cx, cy) = np.diag(projection)[:2].tolist(), projection[:2, 2].tolist()
    if not abs(np.linalg.det(projection[:, :3])) > 1.0:  # of pixels²: the focal lengths' product
        return ()
    # Its centre in the grey camera's frame: where the projection is 0.
    centre = -np.linalg.solve(projection[:, :3], projection[:, 3]) @ BODY_FROM_CAMERA.T
    x, y, z = (centre.round(6) + 0.0).tolist()
    a, b, c = (tuple(row) for row in BODY_FROM_CAMERA.tolist())
    return (
        DriveCamera(
            name="image_02",
            width=size[0],
            height=size[1],
            focal_px=(fx, fy),
            centre_px=(cx, cy),
            ego_from_camera=(a, b, c),
            place_m=(x, y, z),
        ),
    )
