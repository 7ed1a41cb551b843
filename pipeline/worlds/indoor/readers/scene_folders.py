"""Reader of the neutral scene format: a folder per scene with ``scene.json`` (docs/build/phone-captures.md).

Whatever a scene lacks is left out of what is asked: without a mesh nothing is known to be seen, without a unit nothing
is asked in metres, of labels that are not complete nothing is asked in profile `strict`. Labels are categories as they
stand, in small letters; no list has to know them.
"""

import io
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, FormatError, faults_of
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, doubt, fault, note
from pipeline.core.identity import digest_of
from pipeline.core.templates import load_table
from pipeline.formats.ply import PlyMesh
from pipeline.formats.scene_folder import FILE, MAX_BYTES, UNTRIED, LabelledBox, SceneDocument
from pipeline.reading.checks import check_box, check_name
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.folders import Layout, list_scenes
from pipeline.reading.reader import NO_DEPTH, NO_SCENE, NO_SIGHT, NO_VIDEO, ExpectedFile
from pipeline.worlds.indoor.facts import SCALE, UPRIGHT, IndoorScene, Room, Scan
from pipeline.worlds.indoor.readers.capture_checks import check_capture, check_film_turn
from pipeline.worlds.indoor.readers.categories import load_curation, normal
from pipeline.worlds.indoor.readers.frames import LabelledScan, Recording, ScanReader, check_frames, upright_turn
from pipeline.worlds.indoor.readers.meshes import check_extent, measure_room, ply_mesh, walkable_floor
from pipeline.worlds.indoor.readers.objects import AnnotatedInstance, assemble, check_boxes
from pipeline.worlds.indoor.readers.scene_document import document_of, file_within, film_of

# Of each side of a box the mesh within reaches over so much: who walks through a room sees chairs from one side.
SPANNED_MIN: Final = 0.1
# Of 505 boxes of Replica, Aria Digital Twin and ProcTHOR 14 lean so far, at most one in 25 of a scene.
LEANS_DEG: Final = 15.0
LEANING_MAX: Final = 0.5  # share
LEANING_OF: Final = 4  # boxes
AREA_TOLERANCE: Final = 0.05  # between a stated area and that of the outline
CURATED: Final = ("scannet", "scannetpp", "arkitscenes")  # whose lists say which words mean the same
SIZED: Final = frozenset(load_table("indoor/sizes")["typical"])  # whose usual sizes are known
NAMED: Final = 20  # labels that one message names

LAYOUT: Final = Layout(
    dataset="scene",
    tops=(("",),),
    is_scene=lambda folder: (folder / FILE).exists(),
    main_files=lambda name: (FILE,),
    expected=f"a folder with one folder per scene, each with a {FILE} (docs/build/phone-captures.md)",
)


def _has_part(part: Callable[[SceneDocument], bool]) -> Callable[[Path], bool]:
    """Whether the document of a scene's folder has a part; of one that is not valid nothing but that is told."""

    def has(folder: Path) -> bool:
        document = _document(folder)
        return document is None or part(document)

    return has


def _document(folder: Path) -> SceneDocument | None:
    path = folder / FILE
    return _read_document(path, path.stat().st_mtime_ns if path.is_file() else 0)


@lru_cache(maxsize=1)
def _read_document(path: Path, _: int) -> SceneDocument | None:
    try:
        return SceneDocument.model_validate_json(read_file(path, MAX_BYTES).removeprefix(BOM_UTF8))
    except (OSError, ValueError):
        return None


def _any_frame(name: str) -> Callable[[SceneDocument], bool]:
    return lambda d: d.camera is not None and any(getattr(frame, name) is not None for frame in d.camera.frames)


_MEASURED: Final = ("size", "distance", "nearness", "side", "way")

EXPECTED_FILES: Final = (
    ExpectedFile(
        "scene.json that is valid",
        (),
        NO_SCENE,
        needed=True,
        present=lambda folder: _document(folder) is not None,
        read_in=(*_MEASURED, "count", "order", "area"),
    ),
    ExpectedFile(
        "objects",
        (),
        "nothing is asked but the area of the room",
        present=_has_part(lambda d: bool(d.objects)),
        read_in=(*_MEASURED, "count", "order"),
    ),
    ExpectedFile(
        "complete labels",
        (),
        "profile strict asks nothing about any thing, only for the area: tick names with scan2qa label",
        present=_has_part(lambda d: d.complete is not False and d.complete != ()),
        read_in=(*_MEASURED, "count", "order"),
        settled=True,
    ),
    ExpectedFile(
        "a unit of length",
        (),
        "no size, no distance, no area, no direction, no route: counts and order of appearance alone",
        present=_has_part(lambda d: d.unit != "unknown"),
        read_in=(*_MEASURED, "area"),
    ),
    ExpectedFile("mesh", (), NO_SIGHT, present=_has_part(lambda d: d.mesh is not None), read_in=("order",)),
    ExpectedFile(
        "area",
        (),
        "no room_size_estimation; give outline, area, or whole_floor with a mesh",
        present=_has_part(lambda d: bool(d.outline or d.area or (d.whole_floor and (d.mesh or d.points)))),
        read_in=("area",),
    ),
    ExpectedFile("poses", (), NO_SIGHT, present=_has_part(_any_frame("world_T_camera")), read_in=("order",)),
    ExpectedFile(
        "film or pictures",
        (),
        NO_VIDEO,
        present=_has_part(lambda d: d.camera is not None and (d.camera.film is not None or _any_frame("color")(d))),
        read_in=("order",),
    ),
    ExpectedFile("depth", (), NO_DEPTH, present=_has_part(_any_frame("depth"))),
    ExpectedFile(
        "converter tried on real files",
        (),
        "made files alone: a wrong axis, unit or order may go unnoticed; look at findings, boxes and mesh",
        present=_has_part(lambda d: not any(UNTRIED in remark for remark in d.remarks)),
    ),
)


@dataclass(frozen=True)
class SceneFolders(ScanReader):
    """Neutral scene folders: scene.json with boxes, poses and outline, and the mesh, film and depth that it names."""

    name = "scene"
    version = 1
    extra = "scans"
    video_fps = 30
    expected_files = EXPECTED_FILES

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {"categories": digest_of([load_curation(name).sha256 for name in CURATED])}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if (root / FILE).is_file():
            raise ConfigError(f"{root} is one scene: give the folder above it, {root.resolve().parent}")
        return list_scenes(root, LAYOUT)

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings = Findings()
        document = document_of(files)
        instances = _instances(document, findings)
        files.raise_faults(files.path / FILE, findings)
        _check_lean(instances, findings)
        objects, counts = assemble(instances, findings)
        _check_labels(document, counts, findings)
        mesh, film = mesh_of(files, findings), self.film(files, findings)
        if mesh is not None:
            check_boxes(instances, mesh.vertices, findings, SPANNED_MIN)
        video = None
        if film is not None and film.table is not None:
            frames = film.frames()
            metric, camera = document.unit != "unknown", film.table.world_T_camera[film.table.usable][:, :3, 3]
            if film.table.skipped["no_pose"] < len(film.table.number):
                around = mesh.vertices if mesh is not None and metric else camera
                check_frames(files, film.path, frames, around, findings)
            check_capture(frames, mesh, metric, findings)
            turn = upright_turn(frames.world_T_camera)
            if turn and film.is_movie:
                check_film_turn(film.path, turn, findings)
            files.raise_faults(film.path, findings)
            video = film.video and film.video.model_copy(update={"turn_deg": turn[0] if turn else 0})
        room = _room(document, mesh, findings)
        files.raise_faults(files.path / FILE, findings)
        facts = Scan(objects=objects, counts=counts, room=room)
        return files.scene_of(IndoorScene, self, "annotated", facts, findings, video)

    def scan(self, files: SceneFiles, findings: Findings) -> LabelledScan | None:
        """See `ScanReader.scan`."""
        mesh = mesh_of(files, findings)
        return None if mesh is None else LabelledScan(mesh)

    def film(self, files: SceneFiles, findings: Findings) -> Recording | None:
        """See `ScanReader.film`."""
        return film_of(files, findings)


def mesh_of(files: SceneFiles, findings: Findings) -> PlyMesh | None:
    """The mesh of a scene, or its cloud as a mesh without faces, in the world frame; None where there is neither."""
    return files.once("mesh", lambda found: _mesh(files), findings)


def _instances(document: SceneDocument, findings: Findings) -> list[AnnotatedInstance]:
    """The objects in the world frame; what is wrong with their boxes becomes a fault."""
    axes, instances = document.axes, list[AnnotatedInstance]()
    for number, item in enumerate(document.objects):
        category = normal(item.label)
        what = f"{item.label} (object {number})"
        if not check_name(category, findings):
            continue
        rows = rows_of(item, document.up)
        if np.linalg.det(rows) < 0:
            message = f"the axes of {what} are a left-handed triple"
            remedy = "turn one of them about, or state handedness 'left' and give a rotation in that frame"
            findings.add(fault("left_handed_axes", category, message, remedy))
            continue
        turned = rows @ axes.turn.T
        turned[2] *= np.sign(np.linalg.det(turned)) or 1.0
        raw = {
            "centroid": axes.points(np.array([item.center]))[0].tolist(),
            "axesLengths": [side * axes.scale for side in item.size],
            "normalizedAxes": turned.ravel().tolist(),
        }
        box = check_box(raw, what, category, findings)
        if box is not None:
            alike = sum(other.category == category for other in instances)
            instances.append(
                AnnotatedInstance(alike + 1, item.label, category, box, None)
            )  # as the label page numbers them
    return instances


def _check_lean(instances: list[AnnotatedInstance], findings: Findings) -> None:
    """Most things stand upright; of other axes, or quaternions read in another order, most boxes lean."""
    up = np.array([item.box.axes for item in instances]).reshape(-1, 3, 3)[:, :, 2]
    leans = np.degrees(np.arccos(np.clip(np.abs(up).max(axis=1), 0, 1))) > LEANS_DEG if len(up) else np.empty(0)
    if len(leans) >= LEANING_OF and leans.mean() > LEANING_MAX:
        message = f"{int(leans.sum())} of {len(leans)} boxes lean by more than {LEANS_DEG:g} degrees"
        remedy = (
            "correct up, the boxes' axes (a row is an axis), or the order of the quaternions that they were made of"
        )
        findings.add(doubt("boxes_lean", UPRIGHT, message, remedy, round(float(leans.mean()), 3), LEANING_MAX, "share"))


def rows_of(item: LabelledBox, up: str) -> FloatArray:
    """The axes (3, 3) of a box in the file's frame, one per row."""
    if item.axes is not None:
        return np.array(item.axes, dtype=float)
    angle = np.radians(item.turn_deg or 0.0)
    axis = np.zeros(3)
    axis["xyz".index(up[-1])] = -1.0 if up[0] == "-" else 1.0
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross  # Rodrigues
    return np.asarray(turn.T)  # columns of a turn are the turned axes


def _check_labels(document: SceneDocument, counts: dict[str, int], findings: Findings) -> None:
    if not isinstance(document.complete, bool):
        listed = {normal(label) for label in document.complete}
        open_ended = [name for name in counts if name not in listed]
    else:
        open_ended = [] if document.complete else list(counts)
    for name in open_ended:
        message = f"{FILE} does not say that every {name} of the scene is listed"
        remedy = "box all of them and tick the name on the page of scan2qa label, or add the label to complete"
        findings.add(doubt("label_not_complete", name, message, remedy, counts[name], None, "objects"))
    for first, second in combinations(sorted(counts), 2):
        if shared := _meanings(first) & _meanings(second):
            message = f"{first} and {second} both mean {', '.join(sorted(shared))}: which one a question means is open"
            for name in (first, second):
                findings.add(doubt("labels_of_one_kind", name, message, "give them one label"))
    unknown = sorted(name for name in counts if name not in SIZED)
    if unknown:
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        message = f"no usual size is known of {', '.join(unknown[:NAMED])}{more}: wrong sizes of these are not noticed"
        remedy = "check these sizes: does each box hold all of its thing from every side on the page of scan2qa label?"
        findings.add(note("no_usual_size", "labels", message, remedy, len(unknown), 0, "labels"))
    for remark in document.remarks:
        findings.add(note("remark", FILE, remark, "stated by the author of the file; do what it asks, if anything"))


def _meanings(label: str) -> frozenset[str]:
    """The categories that lists of datasets make of a label."""
    curations = [load_curation(name) for name in CURATED]
    return frozenset(c.category[label] for c in curations if label in c.category)


def _mesh(files: SceneFiles) -> PlyMesh | None:
    """The mesh, or the cloud as a mesh without faces, in the world frame. Raises RawDataError."""
    document = document_of(files)
    name = document.mesh or document.points
    if name is None:
        return None
    path = file_within(files, name)
    suffix = path.suffix.lower()
    if suffix == ".ply":
        mesh = ply_mesh(files, path, "write it again", points=document.mesh is None)
    elif document.mesh is None or suffix not in MESH_SUFFIXES:
        what = f"a mesh as .ply, {', '.join(MESH_SUFFIXES)}" if document.mesh else "points as .ply"
        raise files.fault(path, "unsupported_mesh", f"{suffix or 'no suffix'} is not read", f"give {what}")
    else:
        with faults_of(path, "write it again, with all in one file", files.scene):
            mesh = read_mesh(files.raw(path), suffix)
    faces = mesh.faces[:, ::-1] if np.linalg.det(document.axes.turn) < 0 else mesh.faces
    mesh = PlyMesh(document.axes.points(mesh.vertices), faces, mesh.colors)
    if document.unit != "unknown":
        check_extent(files, path, mesh.vertices)
    return mesh


def _measured(document: SceneDocument, mesh: PlyMesh, findings: Findings) -> Room:
    room = measure_room(mesh, findings)
    if document.whole_floor:
        return room
    return room.model_copy(
        update={"area_m2": None, "area_method": None, "area_failure": "the scan may not show all of the floor"}
    )


def _room(document: SceneDocument, mesh: PlyMesh | None, findings: Findings) -> Room:
    """The room by its outline, else by what is stated, else by the mesh."""
    if document.unit == "unknown":
        message = "the scene was not measured: its lengths are in no unit"
        remedy = "measure one length, and give unit and scaled numbers; counts and order of appearance are asked"
        findings.add(doubt("scale_unknown", SCALE, message, remedy))
        return Room(area_failure="the unit of the scene is not known")
    stated = None if document.area is None else document.area * document.axes.scale**2
    if document.outline is None:
        if stated is None:
            return Room() if mesh is None else _measured(document, mesh, findings)
        return Room(area_m2=stated, area_method="as stated in scene.json")
    corners = document.axes.points(np.array(document.outline))[:, :2]
    shape = shapely.Polygon(corners)
    if not shape.is_valid or shape.area <= 0:
        message = "the outline crosses itself or has no area"
        findings.add(fault("unusable_outline", "outline", message, "give its corners in order"))
        return Room()
    area_m2 = float(shape.area)
    if stated is not None and abs(stated / area_m2 - 1) > AREA_TOLERANCE:
        message = f"area is {stated:.2f} m², the outline encloses {area_m2:.2f} m²"
        findings.add(doubt("area_differs", "room", message, "correct one of them", stated, round(area_m2, 3), "m²"))
    ring = tuple((float(x), float(y)) for x, y in shapely.geometry.polygon.orient(shape).exterior.coords)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    height = float(np.ptp(mesh.vertices[:, 2]) / 2 + mesh.vertices[:, 2].min()) if mesh is not None else None
    center = None if height is None else (float(middle[0]), float(middle[1]), height)
    seen = None if mesh is None else walkable_floor(mesh, floor_known=True)
    return Room(area_m2=area_m2, area_method="outline of scene.json", center=center, floor=(ring,), seen_floor=seen)


MESH_SUFFIXES: Final = (".glb", ".obj", ".off", ".stl")
MESH_MAX_BYTES: Final = 2**30
UNREADABLE: Final = "unreadable_mesh"


def read_mesh(raw: bytes, suffix: str) -> PlyMesh:
    """All triangles of a file, in its own frame: parts of a GLB stand where its nodes put them. Raises FormatError."""
    import trimesh  # takes a fifth of a second

    if len(raw) > MESH_MAX_BYTES:
        raise FormatError(UNREADABLE, f"{len(raw)} bytes, over {MESH_MAX_BYTES}")
    try:
        scene = trimesh.load_scene(io.BytesIO(raw), file_type=suffix[1:], resolver=None, process=False)
        mesh = scene.to_mesh()
        vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces)
    except MemoryError:
        raise
    except Exception as error:  # its parsers raise whatever Python raises
        raise FormatError(UNREADABLE, f"it cannot be read: {type(error).__name__}: {error}"[:300]) from error
    if not len(faces):
        raise FormatError(UNREADABLE, "it has no triangles")
    if not np.isfinite(vertices).all():
        raise FormatError(UNREADABLE, "places of its corners are no finite numbers")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise FormatError(UNREADABLE, "a triangle names a corner that is not there")
    return PlyMesh(vertices, faces.astype(np.int32))
