"""Reader of VSI-Bench's unified metadata as released: one JSON file per dataset, scene name -> measurements.

Every scene is an object with ``dataset``, ``video_path``, ``room_size`` (m²), ``room_center``, ``object_counts``
{category: n} and ``object_bbox`` {category: [box]}; a box has ``centroid``, ``axesLengths``, ``normalizedAxes`` (nine
numbers, rows = axes), ``min`` and ``max``. Metres, z up. Releases of our own hold them too (`metadata_of`), with
``video`` (rate and size), ``fixes`` (what people corrected) and ``findings`` (what is doubtful).

The benchmark's videos lie in a folder of their own, as ``<dataset>/<scene>.mp4``. The metadata tell neither their rate
nor their length: those are checked against the file itself and the paper.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from pipeline.core.errors import ConfigError, FormatError, RawDataError, unexpected
from pipeline.core.files import open_file, read_file
from pipeline.core.findings import Findings, doubt, fault, note, printable
from pipeline.core.identity import digest_of
from pipeline.core.schema import Applied, Finding, Source, Video
from pipeline.core.video_spec import video_file
from pipeline.formats.json_scenes import JsonEntry, split_scenes, text_digest, whole_number
from pipeline.reading.checks import check_box, check_keys, check_name, check_repeats, finite_number, number_list
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import SAFE, SAFE_NAME
from pipeline.reading.footage import Footage, movie_facts, movie_footage
from pipeline.reading.reader import Reader
from pipeline.worlds.indoor.facts import IndoorScene, Room, Scan, SceneObject, count_doubts

SCENE_KEYS: Final = frozenset({"dataset", "video_path", "room_size", "room_center", "object_counts", "object_bbox"})
OWN_KEYS: Final = frozenset({"video", "fixes", "findings"})  # of releases of our own
METADATA_FOLDER: Final = "meta_info"
ROOM_MAX_M2: Final = 10_000.0
COUNT_MAX: Final = 10_000
VIDEO_FPS: Final = {"scannet": 24.0, "scannetpp": 30.0, "arkitscenes": 30.0}  # VSI-Bench, appendix B.1
RATE_TOLERANCE_FPS: Final = 0.5


@dataclass(frozen=True)
class VsiMeta(Reader):
    """Unified metadata as released with VSI-Bench (``meta_info/*.json``); they hold neither mesh nor camera.

    Args:
        videos: the folder of the benchmark's videos; None: without.
    """

    videos: str | None = None
    name = "vsi_meta"
    version = 1
    video_fps = 30
    expected_files = ()

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`. A file that breaks off still gives the scenes before the break."""
        refs: list[SceneRef] = []
        broken: list[RawDataError] = []
        for file in self._metadata_files(root):
            self._list_file(root, file, refs, broken)
        seen = Counter(ref.id for ref in refs)
        for name in sorted(name for name, n in seen.items() if n > 1):
            where = sorted({ref.files[0] for ref in refs if ref.id == name})
            broken.append(
                RawDataError(
                    root / where[0],
                    "duplicate_scene",
                    f"the scene stands {seen[name]} times in {', '.join(where)}, and which one is right is not known",
                    "keep one of them",
                    name,
                )
            )
        unique = [replace(ref, stamp=self._stamp(ref.stamp, ref.id)) for ref in refs if seen[ref.id] == 1]
        if self.videos is not None and unique and not any(self._video(ref.id) for ref in unique):
            wanted = Path(self.videos) / video_file(unique[0].id)
            raise ConfigError(f"{self.videos}: no video of any of the {len(unique)} scenes is here, such as {wanted}")
        return Listing(tuple(sorted(unique, key=lambda ref: ref.id)), tuple(broken))

    def listed_from(self, root: Path) -> list[Path]:
        """See `Reader.listed_from`."""
        videos = [] if self.videos is None else sorted(Path(self.videos).rglob("*.mp4"))
        return [*self._metadata_files(root), *videos]

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`. All faults of the scene are gathered into one error."""
        path, ref = files.path, files.ref
        raw = _read_span(path, ref)
        sha256 = text_digest(raw)
        if self._stamp(sha256, ref.id) != ref.stamp:
            raise RawDataError(
                path, "changed_while_reading", "the file changed during the build", "build again", ref.id
            )
        findings = Findings()
        scene = _parse(raw, ref, findings)
        built = None if scene is None else self._built(scene, ref, sha256, findings)
        if built is not None:
            return self._with_video(files, built)
        first, *others = findings.faults
        more = "".join(f"; also {f.name}: {f.message}" for f in others)
        raise RawDataError(path, first.name, first.message + more, first.remedy, ref.id)

    def footage(self, files: SceneFiles, scene: IndoorScene) -> Footage | None:
        """See `Reader.footage`. Iterating raises RawDataError where fewer frames can be decoded than were announced."""
        path = self._video(scene.id)
        if path is None or scene.video is None or scene.video.fps is None:
            return None
        announced, footage = scene.video.frames, movie_footage(files, path, scene.video.fps)

        def frames() -> Iterator[npt.NDArray[np.uint8]]:
            count = 0
            for count, picture in enumerate(footage.frames(), start=1):  # noqa: B007 - the last one is held on to
                yield picture
            if count != announced:
                message = f"it announces {announced} frames, and {count} can be decoded"
                raise files.fault(path, "unreadable_video", message, "fetch the video again")

        return Footage(footage.fps, frames)

    def _metadata_files(self, root: Path) -> list[Path]:
        """The files below a root. Raises ConfigError where there are none."""
        if not root.is_dir():
            raise ConfigError(f"{root}: no such folder. Give the folder with VSI-Bench's meta_info/*.json files")
        within = root / METADATA_FOLDER  # of a release, which has other JSON files beside it
        folder = within if within.is_dir() else root
        files = sorted(folder.glob("*.json"))
        if not files:
            raise ConfigError(f"{root}: no *.json file here. Give the folder with VSI-Bench's meta_info/*.json files")
        return files

    def _entries(self, raw: bytes) -> Iterator[JsonEntry]:
        """The scenes of a file. Raises FormatError."""
        return split_scenes(raw)

    def _list_file(self, root: Path, file: Path, refs: list[SceneRef], broken: list[RawDataError]) -> None:
        relative = file.relative_to(root).as_posix()
        try:
            for entry in self._entries(read_file(file)):
                dataset = entry.value.get("dataset") if isinstance(entry.value, dict) else None
                if not isinstance(dataset, str) or not SAFE_NAME.fullmatch(dataset):
                    dataset = re.sub(r"[^A-Za-z0-9._-]", "_", file.stem)
                if not SAFE_NAME.fullmatch(entry.name):
                    fault = f"a scene name holds {SAFE}, no others"
                    remedy = "rename the scene: it becomes part of file names"
                    broken.append(RawDataError(file, "unsafe_scene_name", fault, remedy, repr(entry.name)))
                    continue
                refs.append(SceneRef(f"{dataset}/{entry.name}", (relative,), entry.sha256, entry.span))
        except FormatError as fault:
            scene = None if fault.scene is None else printable(fault.scene)
            broken.append(RawDataError(file, fault.finding, fault.message, fault.remedy, scene))
        except OSError as error:
            broken.append(RawDataError(file, "unreadable_file", str(error.strerror), "make the file readable"))
        except Exception as error:  # a damaged file, or a fault of ours, costs this file alone
            broken.append(unexpected(error, file))

    def _built(self, raw: dict[str, Any], ref: SceneRef, sha256: str, findings: Findings) -> IndoorScene | None:
        """The scene, or None if any finding is a fault."""
        return _build(raw, ref, sha256, findings, self)

    def _video(self, scene: str) -> Path | None:
        """The benchmark's video of a scene, where it is there."""
        path = Path(self.videos) / video_file(scene) if self.videos is not None else None
        return path if path is not None and path.is_file() else None

    def _stamp(self, sha256: str, scene: str) -> str:
        """See `SceneRef.stamp`, from the digest of the scene's metadata."""
        path = self._video(scene)
        if path is None:
            return sha256
        found = path.stat()
        return digest_of([sha256, found.st_size, found.st_mtime_ns])

    def _with_video(self, files: SceneFiles, scene: IndoorScene) -> IndoorScene:
        """The scene with the facts of its video. Raises RawDataError where that is there and cannot be read."""
        path = self._video(scene.id)
        if path is None:
            return scene
        facts = movie_facts(files, path)
        if facts.fps is None:
            raise files.fault(path, "unreadable_video", "it states no frame rate", "fetch the video again")
        usual, findings = VIDEO_FPS.get(scene.dataset, facts.fps), Findings()
        if (off := abs(facts.fps - usual)) > RATE_TOLERANCE_FPS:
            message = f"the video has {facts.fps:g} frames per second, those of VSI-Bench {usual:g}"
            remedy = "is this the benchmark's own video, and of this scene?"
            findings.add(note("video_rate_differs", "video", message, remedy, off, RATE_TOLERANCE_FPS, "1/s"))
        name = video_file(scene.id)
        video = Video(path=name, fps=facts.fps, frames=facts.frames, width=facts.width, height=facts.height)
        return scene.model_copy(update={"video": video, "findings": (*scene.findings, *findings.items)})


def _read_span(path: Path, ref: SceneRef) -> bytes:
    if ref.span is None:
        raise ValueError(f"{ref.id} is not a scene of this reader")
    start, end = ref.span
    with open_file(path) as file:
        file.seek(start)
        return file.read(end - start)


def _parse(raw: bytes, ref: SceneRef, findings: Findings) -> dict[str, Any] | None:
    """The scene's object, or None with a fault."""
    try:
        scene = json.loads(raw.decode("utf-8"), object_pairs_hook=findings.unique_keys, parse_int=whole_number)
    except UnicodeDecodeError as error:
        findings.add(
            fault("not_utf8", ref.id, f"byte {error.start} of the scene is not UTF-8", "save the file as UTF-8")
        )
        return None
    except RecursionError:
        findings.add(fault("too_deep", ref.id, "the scene is nested too deeply", "is this a meta_info file?"))
        return None
    if not isinstance(scene, dict):
        findings.add(fault("wrong_type", ref.id, f"a scene is an object, not {type(scene).__name__}"))
        return None
    return scene


def _build(raw: dict[str, Any], ref: SceneRef, sha256: str, findings: Findings, reader: VsiMeta) -> IndoorScene | None:
    """The scene, or None if any finding is a fault."""
    check_keys(raw, SCENE_KEYS | (OWN_KEYS & set(raw)), "scene", findings)
    dataset, name = ref.id.split("/")
    if raw.get("dataset") != dataset:
        findings.add(fault("bad_dataset", "dataset", f"dataset is {raw.get('dataset')!r}, not a plain name", "name it"))
    counts = _counts(raw.get("object_counts", {}), findings)
    objects = _objects(raw.get("object_bbox", {}), findings)
    findings.add(*count_doubts(counts, objects))
    room = _room(raw, findings)
    video = _video(raw.get("video_path"), raw.get("video"), findings)
    fixes = _stated(raw.get("fixes"), "fixes", _FIXES, findings) or []
    known = {(one.name, one.subject) for one in findings.items}
    for one in _stated(raw.get("findings"), "findings", _FINDINGS, findings) or []:
        if one.severity == "fault":
            message = f"{printable(one.name)} is a fault, and such a scene is not released"
            findings.add(fault("wrong_value", "findings", message, "write the release again"))
        elif (one.name, one.subject) not in known:
            findings.add(one)
    if findings.faults:
        return None
    return IndoorScene(
        id=ref.id,
        dataset=dataset,
        name=name,
        source=Source(reader=reader.name, reader_version=reader.version, files=ref.files, sha256=sha256),
        video=video,
        facts=Scan(objects=tuple(objects), counts=counts, room=room),
        findings=tuple(findings.items),
        fixes=tuple(fixes),
    )


_FIXES: Final = TypeAdapter(list[Applied])
_FINDINGS: Final = TypeAdapter(list[Finding])
_VIDEO: Final = TypeAdapter(Video)
S = TypeVar("S")


def _stated(raw: object, key: str, form: TypeAdapter[S], findings: Findings) -> S | None:
    """What a release of our own says under a key; None where it says nothing, or with a fault."""
    if raw is None:
        return None
    problem = "it has characters that cannot be printed"
    try:
        if _is_printable(raw):
            return form.validate_python(raw)
    except ValidationError as error:
        problem = printable(" ".join(str(error).split())[:200])
    except RecursionError:
        problem = "it is nested too deeply"
    message = f"{key} is not as a release of scan2qa writes it: {problem}"
    findings.add(fault("wrong_value", key, message, "write the release again"))
    return None


def _is_printable(raw: object) -> bool:
    if isinstance(raw, dict):
        return all(map(_is_printable, (*raw, *raw.values())))
    return all(map(_is_printable, raw)) if isinstance(raw, list) else not isinstance(raw, str) or raw.isprintable()


def metadata_of(scene: IndoorScene) -> dict[str, Any]:
    """A scan as this reader reads it: what is measured again, or lies in its raw data alone, is not in it.

    Counts are those stated, or of boxes where none is stated. An area of the main room alone is none of the room.
    """
    boxes: dict[str, list[dict[str, Any]]] = {}
    items = sorted(scene.facts.objects, key=lambda item: (item.category, item.instance))
    center = np.array([item.box.center for item in items]).reshape(-1, 3)
    axes = np.array([item.box.axes for item in items]).reshape(-1, 3, 3)
    reach = np.abs(axes.transpose(0, 2, 1) * [[item.box.lengths] for item in items]).sum(2) / 2 if items else center
    for item, low, high in zip(items, (center - reach).tolist(), (center + reach).tolist(), strict=True):
        boxes.setdefault(item.category, []).append(
            {
                "centroid": list(item.box.center),
                "axesLengths": list(item.box.lengths),
                "normalizedAxes": [x for axis in item.box.axes for x in axis],
                "min": low,
                "max": high,
            }
        )
    room, video = scene.facts.room, scene.video
    return {
        "dataset": scene.dataset,
        "video_path": None if video is None else video_file(scene.id),
        "room_size": room.area_m2 if room.extent != "main room" else None,
        "room_center": list(room.center) if room.center else None,
        "object_counts": {name: len(own) for name, own in boxes.items()} | dict(scene.facts.counts),
        "object_bbox": boxes,
        "video": video and video.model_dump(exclude={"path"}, exclude_none=True),
        "fixes": [fix.model_dump(mode="json") for fix in scene.fixes],
        "findings": [one.model_dump(mode="json") for one in scene.findings],
    }


def _counts(raw: object, findings: Findings) -> dict[str, int]:
    if not isinstance(raw, dict):
        findings.add(fault("wrong_type", "object_counts", f"object_counts is {type(raw).__name__}, not an object"))
        return {}
    counts = {}
    for category, count in sorted(raw.items()):
        check_name(category, findings)
        if isinstance(count, bool) or not isinstance(count, int):
            findings.add(fault("wrong_type", category, f"the count of {category} is {count!r}, not a whole number"))
        elif count < 0:
            findings.add(fault("negative_count", category, f"the count of {category} is {count}", "count again"))
        elif count > COUNT_MAX:
            message = f"the count of {category} is {count}, over {COUNT_MAX}"
            findings.add(fault("implausible_count", category, message, "count again"))
        else:
            counts[category] = count
    return counts


def _objects(raw: object, findings: Findings) -> list[SceneObject]:
    if not isinstance(raw, dict):
        findings.add(fault("wrong_type", "object_bbox", f"object_bbox is {type(raw).__name__}, not an object"))
        return []
    objects = []
    for category, boxes in sorted(raw.items()):
        named = check_name(category, findings)
        if not isinstance(boxes, list):
            findings.add(
                fault("wrong_type", category, f"the boxes of {category} are {type(boxes).__name__}, not a list")
            )
            continue
        for number, box in enumerate(boxes):
            oriented = check_box(box, f"{category} #{number}", category, findings)
            if oriented is not None and named:
                objects.append(SceneObject(category=category, instance=number, box=oriented))
    check_repeats([(o.category, o.box) for o in objects], findings)
    return objects


def _room(raw: dict[str, Any], findings: Findings) -> Room:
    area: float | None = None
    if raw.get("room_size") is not None:
        area = finite_number(raw["room_size"], "room_size", findings)
        if area is not None and area < 0:
            findings.add(fault("negative_area", "room_size", f"room_size is {area} m2", "measure the room again"))
        elif area is not None and area > ROOM_MAX_M2:
            message = f"room_size is {area} m2, over {ROOM_MAX_M2:.0f}"
            findings.add(fault("implausible_area", "room_size", message, "give square metres"))
        elif area == 0:
            message = "room_size is 0, which stands for a failed measurement: taken as not measured"
            findings.add(doubt("room_area_zero", "room", message, "measure the room again or write null", 0, 0, "m2"))
            area = None
    center = None
    if raw.get("room_center") is not None:
        center = number_list(raw["room_center"], 3, "room_center", findings)
    if findings.faults:
        return Room()
    return Room(area_m2=area, center=(center[0], center[1], center[2]) if center else None)


def _video(raw: object, measured: object, findings: Findings) -> Video | None:
    """Only the file name is kept: the released paths are those of the authors' machines."""
    if raw is None:
        return None
    if not isinstance(raw, str) or not raw.isprintable() or not PurePosixPath(raw).name.strip("."):
        findings.add(fault("bad_video_path", "video_path", f"video_path is {raw!r}", "give the name of the video file"))
        return None
    name = PurePosixPath(raw).name
    own = measured if isinstance(measured, dict | None) else {"video": measured}
    return _stated({**(own or {}), "path": name}, "video", _VIDEO, findings)
