"""Scanned houses with labelled boxes: Replica, Matterport3D, 3RScan, and EmbodiedScan's over them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import FormatError, RawDataError
from pipeline.core.files import read_file
from pipeline.formats.images import MAX_PIXELS, size_of
from pipeline.formats.pickles import read_pickle
from pipeline.formats.scene_folder import CaptureCamera, SceneDocument
from pipeline.worlds.indoor.converters.annotated import SOME, AnnotatedBoxes, annotated_scene, placed
from pipeline.worlds.indoor.converters.capture import (
    UP_AXES,
    Capture,
    CapturedFrame,
    Converter,
    copied,
    usable_poses,
    write_capture,
    written_camera,
)
from pipeline.worlds.indoor.converters.rgbd import depth_png, orthonormal
from pipeline.worlds.indoor.converters.texts import (
    bytes_of,
    entries_of,
    euler_rotations,
    first_file,
    folders_of,
    kept_until_changed,
    numbers_from,
    numbers_of,
    object_of,
    one_file,
    pinhole_of,
    places_in,
    rotations,
    text_of,
)

SEMANTIC: Final = "info_semantic.json"
REPLICA_MESHES: Final = ("mesh.ply", "habitat/mesh_semantic.ply", "mesh_semantic.ply")
UPRIGHT_MIN: Final = 0.98  # cosine between gravity and -z


class Replica(Converter):
    """Replica's ``habitat/info_semantic.json``: boxes of all instances, beside the room's mesh.

    Metres, z up (``gravity_dir`` says so). Of a box ``orientation.rotation`` is a quaternion x y z w, and
    ``abb.center`` lies in the box's turned frame: the centre is R ``abb.center`` + ``translation``.
    """

    name = "replica"
    about = "habitat/info_semantic.json beside mesh.ply (Replica): labelled boxes and the mesh"
    real = "Replica's room_1 (its boxes; no mesh)"

    def is_scene(self, folder: Path) -> bool:
        """See `Converter.is_scene`."""
        return _file(folder) is not None and folder.name != "habitat"

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = _file(place) or place / SEMANTIC
        document = object_of(path)
        gravity = numbers_from(path, document.get("gravity_dir", [0, 0, -1]), 3, "gravity_dir")
        if not -gravity[2] >= UPRIGHT_MIN * np.linalg.norm(gravity):
            message = f"gravity_dir is {gravity.round(3).tolist()}: z does not point up"
            raise RawDataError(path, "another_axis_is_up", message, "fetch Replica's own file")
        entries = entries_of(path, document, "objects")
        numbers = [_numbers(path, entry) for entry in entries]
        center, size, quat, shift = np.split(np.array(numbers).reshape(-1, 13), [3, 6, 10], axis=1)
        turn = rotations(quat)
        boxes = AnnotatedBoxes(
            labels=[str(entry.get("class_name", "")) for entry in entries],
            center=placed(turn, center, shift),
            size=size,
            axes=turn.transpose(0, 2, 1),
        )
        mesh = first_file(place, REPLICA_MESHES)
        own = None if mesh is None else copied(mesh, folder, "mesh")
        return annotated_scene(path, boxes, complete=True, mesh=own)


def _file(folder: Path) -> Path | None:
    return first_file(folder, (f"habitat/{SEMANTIC}", SEMANTIC))


def _numbers(path: Path, entry: dict[str, Any]) -> list[float]:
    """Centre, sides, quaternion and shift of one object."""
    what = f"the box of object {entry.get('id')}"
    box = entry.get("oriented_bbox")
    parts = [box.get(key) if isinstance(box, dict) else None for key in ("abb", "orientation")]
    abb, turned = (part if isinstance(part, dict) else {} for part in parts)
    lists = ((abb, "center", 3), (abb, "sizes", 3), (turned, "rotation", 4), (turned, "translation", 3))
    return [n for record, key, count in lists for n in numbers_from(path, record.get(key), count, what).tolist()]


SUFFIX: Final = ".house"
FOLDERS: Final = (".", "house_segmentations")
REGIONS: Final = "region_segmentations"
MARK: Final = "ASCII"  # of the first line, before the version
OBJECT: Final = 16  # tokens: O, object, region, category, 3 of its middle, 6 of two axes, 3 radii
CATEGORY: Final = 4  # tokens: C, category, its number in the mapping, its name
REGION: Final = 3
HOUSE_AGAIN: Final = "fetch the house again, or is it of another version?"


class House(NamedTuple):
    """Regions by number; the names of categories; and of each object its region, category and 12 numbers."""

    regions: tuple[int, ...]
    names: dict[int, str]
    region: IntArray
    category: IntArray
    numbers: FloatArray


class Matterport(Converter):
    """Matterport3D's house files (``SCAN.house``): the objects of each region, a scene per region.

    Text, a line per item, told apart by its first letter: C (category), R (region), O (object). Metres, z up. Of an
    object are stated the middle of its box, two of its axes, and its radii: half of its sides. The mesh of a region
    is ``region_segmentations/regionN.ply``, in the house's frame.
    """

    name = "matterport"
    about = "SCAN.house with region_segmentations/ (Matterport3D): labelled boxes and the mesh of each region"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a region is the house's path with its name below it."""
        folders = [top / name for top in folders_of(source) for name in FOLDERS]
        files = (
            [source] if source.is_file() else [path for folder in folders for path in sorted(folder.glob("*.house"))]
        )
        found: dict[Path, None] = {}
        for path in files:
            if path.suffix == SUFFIX:
                found |= dict.fromkeys(places_in(path.resolve(), _regions))
        return list(found)

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place if place.is_file() else place.parent
        house = _house(path)
        if place.is_file():
            raise RawDataError(path, "empty_annotation", "no region has an object", HOUSE_AGAIN)
        number = int(place.name.rpartition("region")[2])
        mine = np.flatnonzero((house.region == number) & (house.category >= 0))
        numbers = house.numbers[mine]
        first, second = numbers[:, 3:6], numbers[:, 6:9]
        with np.errstate(over="ignore", invalid="ignore"):
            third = np.cross(first, second)
            size = 2 * numbers[:, 9:]
        boxes = AnnotatedBoxes(
            labels=[house.names.get(int(c), "") for c in house.category[mine]],
            center=numbers[:, :3],
            size=size,
            axes=np.stack([first, second, third], axis=1),
        )
        mesh = path.parent.parent / REGIONS / f"region{number}.ply"
        own = copied(mesh, folder, "mesh") if mesh.is_file() else None
        return annotated_scene(place, boxes, complete=False, remarks=(SOME,), mesh=own)


def _regions(path: Path) -> list[str]:
    house = _house(path)
    filled = set(house.region[house.category >= 0].tolist())
    return [f"{path.stem}-region{number}" for number in house.regions if number in filled]


@kept_until_changed
def _house(path: Path) -> House:
    lines = text_of(path).splitlines()
    if not lines or not lines[0].startswith(MARK):
        raise RawDataError(path, "unknown_version", f"the file does not begin with {MARK}", HOUSE_AGAIN)
    rows = {letter: [line.split() for line in lines if line.startswith(f"{letter} ")] for letter in "CRO"}
    for letter, least in (("C", CATEGORY), ("R", REGION), ("O", OBJECT)):
        short = next((row for row in rows[letter] if len(row) < least), None)
        if short is not None:
            message = f"line {' '.join(short)[:60]!r} has {len(short)} entries, not {least} or more"
            raise RawDataError(path, "wrong_columns", message, HOUSE_AGAIN)
    try:
        keys = np.array([[int(n) for n in row[1:4]] for row in rows["O"]], dtype=np.int64).reshape(-1, 3)
        numbers = np.array([row[4:OBJECT] for row in rows["O"]], dtype=np.float64).reshape(-1, 12)
        # Blanks of a name are written as #.
        names = {int(row[1]): row[3].replace("#", " ") for row in rows["C"]}
        regions = tuple(sorted({int(row[1]) for row in rows["R"]}))
    except (ValueError, OverflowError) as error:
        raise RawDataError(path, "wrong_type", str(error)[:200], HOUSE_AGAIN) from error
    if not len(keys):
        raise RawDataError(path, "empty_annotation", "the house has no objects", HOUSE_AGAIN)
    return House(regions, names, keys[:, 1], keys[:, 2], numbers)


SEGMENTATION: Final = "semseg.v2.json"
SCAN_MESHES: Final = ("labels.instances.annotated.v2.ply", "mesh.refined.v2.obj", "mesh.refined.obj")
INFO: Final = "_info.txt"
INFOS: Final = (f"sequence/{INFO}", INFO)
SCAN_FPS: Final = 10.0  # no clock is in the files
NO_CLOCK: Final = f"frames without a clock: they are shown at {SCAN_FPS:g} per second"
SCAN_AGAIN: Final = "fetch the scan again (3RScan's download.py)"
PACKED: Final = "sequence.zip is not read: unzip it into the folder sequence/, and convert again"
_PGM: Final = re.compile(rb"P5\s+(?:#[^\n]*\s+)*(\d{1,5})\s+(\d{1,5})\s+(\d{1,5})\s")


class ThreeRScan(Converter):
    """3RScan: ``semseg.v2.json`` with a box per instance, the scan's mesh, and its frames where they are unpacked.

    Metres, z up. Of an ``obb`` nine ``normalizedAxes`` are three axes one after another, ``axesLengths`` full
    sides, as in ScanNet++ and ARKitScenes, which the same tool made. Frames: ``frame-NNNNNN.color.jpg``,
    ``.depth.pgm`` (16 bits, millimetres), ``.pose.txt`` camera-to-world, and ``_info.txt`` with the lens.
    """

    name = "3rscan"
    needs = (SEGMENTATION,)
    about = "semseg.v2.json with labels.instances.annotated.v2.ply and sequence/ (3RScan): boxes, mesh, frames"

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place / SEGMENTATION
        entries = [(entry, _box(path, entry)) for entry in entries_of(path, object_of(path), "segGroups")]
        numbers = np.array([box for _, box in entries]).reshape(-1, 15)
        boxes = AnnotatedBoxes(
            labels=[str(entry.get("label", "")) for entry, _ in entries],
            center=numbers[:, :3],
            size=numbers[:, 3:6],
            axes=numbers[:, 6:].reshape(-1, 3, 3),
        )
        mesh = first_file(place, SCAN_MESHES)
        remarks: list[str] = []
        info = first_file(place, INFOS)
        if info is None and (place / "sequence.zip").is_file():
            remarks.append(PACKED)
        camera = None if info is None else _camera(info.parent, folder, remarks)
        own = None if mesh is None else copied(mesh, folder, "mesh")
        return annotated_scene(path, boxes, complete=True, remarks=remarks, mesh=own, camera=camera)


def _box(path: Path, entry: dict[str, Any]) -> list[float]:
    """Centre, sides and axes of one instance."""
    obb = entry.get("obb")
    box = obb if isinstance(obb, dict) else {}
    what = f"the obb of {entry.get('label')} {entry.get('objectId')}"[:80]
    parts = (("centroid", 3), ("axesLengths", 3), ("normalizedAxes", 9))
    return [n for key, count in parts for n in numbers_from(path, box.get(key), count, f"{what}: {key}").tolist()]


def _camera(frames: Path, folder: Path, remarks: list[str]) -> CaptureCamera:
    """The frames of a sequence, in the scan's frame. Raises RawDataError."""
    info = _info(frames / INFO)
    matrix = numbers_from(frames / INFO, info["m_calibrationColorIntrinsic"].split(), 16, "the lens").reshape(4, 4)
    lens = pinhole_of(matrix)
    wide, high = numbers_from(frames / INFO, [info["m_colorWidth"], info["m_colorHeight"]], 2, "the size").tolist()
    per_m = float(numbers_from(frames / INFO, [info["m_depthShift"]], 1, "m_depthShift")[0])
    if not (min(wide, high) >= 1 and max(wide, high) <= 20_000 and per_m > 0):
        message = f"pictures of {wide:g} x {high:g} pixels, {per_m:g} numbers of depth per metre"
        raise RawDataError(frames / INFO, "bad_intrinsics", message, SCAN_AGAIN)
    poses = sorted(frames.glob("frame-*.pose.txt"))
    depths, pictures = (
        [path.with_name(path.name.replace(".pose.txt", suffix)) for path in poses]
        for suffix in (".depth.pgm", ".color.jpg")
    )
    colors = [path if path.is_file() else None for path in pictures]
    shots = [
        orthonormal(CapturedFrame(i / SCAN_FPS, numbers_of(path, 16).reshape(4, 4), lens, color))
        for i, (path, color) in enumerate(zip(poses, colors, strict=True))
    ]
    size = (int(wide), int(high))
    remarks.append(NO_CLOCK)
    capture = Capture(frames, shots, size, depth_m=lambda i: depth_pgm(depths[i], per_m))
    return written_camera(capture, *usable_poses(capture, remarks), folder)


def _info(path: Path) -> dict[str, str]:
    """The values of ``key = value`` lines. Raises RawDataError."""
    fields = dict(re.findall(r"^[ \t]*(\S+)[ \t]*=[ \t]*(.*)$", text_of(path), re.MULTILINE))
    wanted = ("m_calibrationColorIntrinsic", "m_colorWidth", "m_colorHeight", "m_depthShift")
    missing = [key for key in wanted if key not in fields]
    if missing:
        raise RawDataError(path, "missing_key", f"there is no {', '.join(missing)}", SCAN_AGAIN)
    return fields


def depth_pgm(path: Path, per_m: float) -> FloatArray | None:
    """Depth (h, w) in metres of a 16-bit PGM, NaN where it is 0; None: unreadable."""
    try:
        raw = read_file(path, 2 * MAX_PIXELS)
    except OSError:
        return None
    head = _PGM.match(raw)
    if head is None:
        return None
    wide, high, most = map(int, head.groups())
    if most <= 255 or len(raw) - head.end() != 2 * wide * high or not wide * high:
        return None
    numbers = np.frombuffer(raw, ">u2", wide * high, head.end()).reshape(high, wide)
    return np.where(numbers > 0, numbers / per_m, np.nan)


PICKLE: Final = "embodiedscan_infos_*.pkl"
MOST_BYTES: Final = 2**30
STEPS_MAX, PARTS_MAX = 150_000_000, 12_000_000  # 50 scenes of 220 frames take 1 s, 27 MiB and 0.1 of a million parts
PER_M: Final = {"matterport3d": 4000.0}  # of depth pictures; of the others 1000
SECONDS: Final = 0.5  # that a picture is shown: of films every tenth or so was kept, photographs have no clock
BOX: Final = 9
AGAIN: Final = "fetch the file again; is it one of EmbodiedScan's?"
SMALLER: Final = "take scenes out of data_list where you trust the file, and pickle these"
NO_PICTURES: Final = "none of the pictures is here: put scannet/, 3rscan/ or matterport3d/ beside the file"


class EmbodiedScan(Converter):
    """EmbodiedScan's ``embodiedscan_infos_*.pkl``: boxes over ScanNet, 3RScan and Matterport3D, never unpickled.

    ``data_list`` holds a scene each: ``axis_align_matrix`` (aligned <- scan), ``instances`` whose ``bbox_3d`` is x y z,
    three sides and Euler angles about Z, X, Y (intrinsic, radians) in the aligned frame, and ``images`` with
    ``cam2global`` (camera-to-world of the scan's frame, OpenCV's axes). ``metainfo.categories`` names the labels.
    Metres, z up. Pictures and depth lie where the datasets put them, below the folder of the file; without them there
    are boxes alone. Wang et al., "EmbodiedScan" (CVPR 2024); conventions as in its own loader and
    ``euler_angles_to_matrix(…, "ZXY")``.
    """

    name = "embodiedscan"
    about = "embodiedscan_infos_*.pkl (EmbodiedScan; never unpickled): boxes, film and depth where its datasets are"

    def places(self, source: Path) -> Sequence[Path]:
        """See `Converter.places`: a scene is the file's path with its name below it."""
        if source.is_file():
            return places_in(source, _names) if source.suffix == ".pkl" else []
        return [place for path in sorted(source.glob(PICKLE)) for place in places_in(path, _names)]

    def convert(self, place: Path, folder: Path) -> SceneDocument:
        """See `Converter.convert`."""
        path = place if place.is_file() else place.parent
        scenes, labels = _infos(path)
        if place.is_file():
            raise RawDataError(path, "empty_annotation", "data_list is empty", AGAIN)
        info = scenes[place.name]
        align = _matrix(place, info.get("axis_align_matrix"), "axis_align_matrix")
        items = entries_of(place, info, "instances")
        rows = [numbers_from(place, item.get("bbox_3d"), BOX, "bbox_3d").tolist() for item in items]
        numbers = np.array(rows).reshape(-1, BOX)
        boxes = AnnotatedBoxes(
            labels=[_label(place, labels, item.get("bbox_label_3d")) for item in items],
            center=numbers[:, :3],
            size=numbers[:, 3:6],
            axes=euler_rotations("ZXY", numbers[:, 6:]).transpose(0, 2, 1),
        )
        document = annotated_scene(place, boxes, complete=False, remarks=(SOME,))
        capture = _capture(path.parent, place, info, align, document)
        if capture is None:
            return document.model_copy(update={"remarks": (*document.remarks, NO_PICTURES)})
        return write_capture(capture, folder)


def _names(path: Path) -> Iterable[str]:
    return _infos(path)[0]


@kept_until_changed
def _infos(path: Path) -> tuple[dict[str, dict[str, Any]], dict[int, str]]:
    """The scenes by name, and the names of labels. Raises RawDataError."""
    try:
        document = read_pickle(bytes_of(path, MOST_BYTES), (), STEPS_MAX, PARTS_MAX)
    except FormatError as error:
        remedy = SMALLER if error.finding == "pickle_too_large" else AGAIN
        raise RawDataError(path, error.finding, error.message, remedy) from error
    meta = document.get("metainfo") if isinstance(document, dict) else None
    categories = meta.get("categories") if isinstance(meta, dict) else None
    if not isinstance(categories, dict):
        raise RawDataError(path, "missing_key", "there is no metainfo with categories", AGAIN)
    labels = {number: str(name) for name, number in categories.items() if isinstance(number, int)}
    scenes: dict[str, dict[str, Any]] = {}
    for number, info in enumerate(entries_of(path, document, "data_list")):
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", str(info.get("sample_idx", number))).strip("-") or str(number)
        if name in scenes:
            raise RawDataError(path, "duplicate_scene", f"{name} is there twice", AGAIN)
        scenes[name] = info
    return scenes, labels


def _label(place: Path, labels: dict[int, str], number: Any) -> str:
    key = numbers_from(place, [number], 1, "bbox_label_3d")[0]
    if not np.isfinite(key) or int(key) not in labels:
        raise RawDataError(place, "unknown_label", f"metainfo names no category {number!r}"[:200], AGAIN)
    return labels[int(key)]


def _matrix(place: Path, value: Any, what: str) -> FloatArray:
    return numbers_from(place, value, 16, what).reshape(4, 4)


def _capture(
    root: Path, place: Path, info: dict[str, Any], align: FloatArray, document: SceneDocument
) -> Capture | None:
    """The pictures that are there, posed in the aligned frame; None without one."""
    frames = []
    for image in entries_of(place, info, "images"):
        paths = [image.get(key) for key in ("img_path", "depth_path")]
        color, depth = (one_file(root, name) if isinstance(name, str) else None for name in paths)
        if color is not None:
            frames.append((image, color, depth))
    size = next((s for _, color, _ in frames if (s := size_of(color)) is not None), None)
    if size is None:
        return None
    dataset = place.name.partition("-")[0]
    shots = []
    for number, (image, color, _) in enumerate(frames):
        lens = _matrix(place, image.get("cam2img", info.get("cam2img")), "cam2img")
        with np.errstate(over="ignore", invalid="ignore"):
            pose = align @ _matrix(place, image.get("cam2global"), "cam2global")
        shots.append(orthonormal(CapturedFrame(number * SECONDS, pose, pinhole_of(lens), color)))
    per_m = PER_M.get(dataset, 1000.0)

    def depth_m(number: int) -> FloatArray | None:
        path = frames[number][2]
        if path is None:
            return None
        return depth_pgm(path, per_m) if path.suffix == ".pgm" else depth_png(path, per_m)

    clock = f"pictures without a clock: each is shown for {SECONDS:g} s"
    return Capture(
        place,
        shots,
        size,
        up=np.array(UP_AXES["z"]),
        depth_m=depth_m,
        objects=document.objects,
        complete=document.complete,
        remarks=(*document.remarks, clock),
    )
