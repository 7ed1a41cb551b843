"""Reader of RLBench's demonstrations: joints, gripper and cameras of one episode, from a pickle that is never run.

``TASK/variationN/episodes/episodeN/{low_dim_obs.pkl, front_rgb/N.png, …}``, also with ``all_variations``, and
``variation_descriptions.pkl`` beside or above it: a list of instructions, in whose place many releases hold the
demonstration once more. James et al., "RLBench: The Robot Learning Benchmark & Learning Environment" (RA-L 2020).
Observations have no times: the step follows from positions and rates of the joints.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import faults_of
from pipeline.core.files import sha256_of_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, size_of
from pipeline.formats.pickles import PickledRecord, read_pickle
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import RENAME, FolderReader, check_scene_name, digest_files
from pipeline.reading.footage import Footage
from pipeline.reading.reader import NO_VIDEO, ExpectedFile
from pipeline.worlds.arm.facts import (
    PLACE_STEP_M,
    SHARE_STEP,
    TIME_STEP_S,
    TURN_STEP,
    Clock,
    Episode,
    EpisodeScene,
    Gripper,
    SceneItem,
)
from pipeline.worlds.arm.quality_checks import held_against_film
from pipeline.worlds.arm.readers.declared import read_things, turns_wxyz
from pipeline.worlds.arm.readers.rlbench_robot import CAMERAS, RecordedArm, arm_of, cameras_of, placed, stacked

OBSERVATIONS: Final = "low_dim_obs.pkl"
DESCRIPTIONS: Final = "variation_descriptions.pkl"
THINGS: Final = "things.json"  # of people or of the simulator: success, and all there is (`declared`)
DEMO: Final = "rlbench.demo.Demo"
RECORDS: Final = (DEMO, "rlbench.backend.observation.Observation")
STEP_S: Final = 0.05  # of the simulator, unless somebody changed it
STEP_OFF_MAX: Final = 0.02  # share by which positions and rates may disagree
OBSERVATIONS_MAX: Final = 100_000
MOVED_RAD: Final = 0.05  # root of all squares: less is a tremble
FINGERS: Final = 2
_POSE: Final = 7
_SHORT: Final = 2  # parts of a path without the task: it is the root then
_TOPS: Final = ("", "*/", "*/*/")
_COLOUR: Final = re.compile(r"\bthe (\w+) (?:target|ball|sphere)\b", re.IGNORECASE)
_TARGET: Final = {"reach_target": ("target", "ball")}  # tasks whose low-dimensional state is a place, and of what
EXPECTED_FILES: Final = (
    ExpectedFile("observations", (OBSERVATIONS,), "the episode is left out", True),
    ExpectedFile("descriptions", (DESCRIPTIONS, f"../../{DESCRIPTIONS}"), "no instruction is known"),
    ExpectedFile("things", (THINGS,), "what there is, and whether it succeeded, is not known"),
    ExpectedFile("pictures", tuple(f"{camera}_rgb/*.png" for camera in CAMERAS), NO_VIDEO),
)


class RLBench(FolderReader):
    """Demonstrations of RLBench."""

    name = "rlbench"
    version = 1
    video_fps = 20
    expected_files = EXPECTED_FILES
    expected_root = "a folder of RLBench's tasks"
    expected_scenes = f"no TASK/variationN/episodes/episodeN here. Give {expected_root}"

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`."""
        patterns = [f"{top}{inner}/episodes/episode*" for top in _TOPS for inner in ("variation*", "all_variations")]
        return (folder for pattern in patterns for folder in root.glob(pattern) if folder.is_dir())

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`: an episode."""
        parts = [part for part in place.relative_to(root).parts if part != "episodes"]
        name = ".".join(parts if len(parts) > _SHORT else [root.name, *parts])
        check_scene_name(place, name, RENAME)
        own = [(path.relative_to(place).as_posix(), path) for path in place.rglob("*") if not path.is_dir()]
        above = place.parent.parent / DESCRIPTIONS
        own += [(f"../../{DESCRIPTIONS}", above)] if above.exists() else []
        stamp = digest_files(place, [(inner, path.lstat()) for inner, path in sorted(own)], shared)
        there = (place, *(path for path in (place / OBSERVATIONS,) if path.exists()))
        yield SceneRef(f"{self.name}/{name}", tuple(path.relative_to(root).as_posix() for path in there), stamp)

    def read(self, files: SceneFiles) -> EpisodeScene:
        """See `Reader.read`."""
        findings = Findings()
        rows = _observations(files)
        within = files.path.resolve().parents[1]  # of TASK/variationN/episodes/episodeN
        task = within.parent.name or None
        joints = arm_of(rows, findings)
        seconds, clock = _times(len(rows), joints, findings)
        gripper = _gripper(rows, findings)
        if joints is None and gripper is None:
            message, remedy = "neither joints nor a gripper are recorded", "record low-dimensional observations"
            raise files.fault(files.path / OBSERVATIONS, "no_movement", message, remedy)
        tip = None if gripper is None or gripper.place_m is None else gripper.place_m.array
        arm = None if joints is None else placed(joints.arm, joints.position, tip, findings)
        cameras = cameras_of(rows, files.path)
        state = stacked(rows, "task_low_dim_state", findings)
        video = _video(files, len(rows), 1 / seconds[1], findings)
        instructions = _instructions(files, findings)
        items, complete, success = _items(task, state, instructions), False, None
        if (files.path / THINGS).is_file():
            items, complete, success = read_things(files, files.path / THINGS, len(rows), findings)
        facts = Episode(
            seconds=pack(seconds, TIME_STEP_S),
            clock=clock,
            task=task,
            instructions=instructions,
            arm=arm,
            gripper=gripper,
            success=success,
            items=items,
            items_complete=complete,
            cameras=cameras,
        )
        if video is not None and video.fps and video.frames:
            folder = files.root / video.path
            findings.add(*held_against_film(facts, video.fps, video.frames, lambda n: color_file(folder / f"{n}.png")))
        return files.scene_of(EpisodeScene, self, "recorded", facts, findings, video)

    def footage(self, files: SceneFiles, scene: EpisodeScene) -> Footage | None:
        """See `Reader.footage`: the pictures of the first camera that has some."""
        if scene.video is None or scene.video.fps is None or scene.video.frames is None:
            return None
        folder, count = files.root / scene.video.path, scene.video.frames

        def frames() -> Iterator[npt.NDArray[np.uint8]]:
            for number in range(count):
                picture = color_file(folder / f"{number}.png")
                if picture is None:
                    message, remedy = "no picture, or none that can be read", "fetch the pictures again"
                    raise files.fault(folder / f"{number}.png", "unreadable_picture", message, remedy)
                yield picture

        return Footage(scene.video.fps, frames)


def _unpickled(files: SceneFiles, path: Path) -> Any:
    with faults_of(path, "fetch the file again; nothing of it was run", files.scene):
        return read_pickle(files.raw(path), RECORDS)


def _observations(files: SceneFiles) -> list[dict[str, Any]]:
    """The fields of all observations of a demonstration."""
    path = files.path / OBSERVATIONS
    demo = _unpickled(files, path)
    listed = demo.fields.get("_observations") if isinstance(demo, PickledRecord) else demo
    if not isinstance(listed, list) or not all(isinstance(one, PickledRecord) and one.kind != DEMO for one in listed):
        message = "it is no demonstration, which is a list of observations"
        raise files.fault(path, "not_a_demo", message, "give what RLBench saves")
    if not 1 < len(listed) <= OBSERVATIONS_MAX:
        message = f"it holds {len(listed)} observations, not 2 to {OBSERVATIONS_MAX:,}"
        raise files.fault(path, "no_movement", message, "record the episode again")
    return [one.fields for one in listed]


def _instructions(files: SceneFiles, findings: Findings) -> tuple[str, ...]:
    """The wordings of the task, from beside the episode or above all of its variation."""
    for path in (files.path / DESCRIPTIONS, files.path.parent.parent / DESCRIPTIONS):
        if not path.is_file():
            continue
        held = _unpickled(files, path)
        if isinstance(held, list) and held and all(isinstance(text, str) and text.strip() for text in held):
            return tuple(" ".join(text.split())[:2000] for text in held)
        what = "a whole demonstration" if isinstance(held, PickledRecord) and held.kind == DEMO else "no list of texts"
        message = f"{files.relative(path)} holds {what}, and so no instruction"
        findings.add(note("no_instructions", "instructions", message, "put a list of texts in its place"))
    return ()


def step_of(position: FloatArray, velocity: FloatArray) -> tuple[float, float] | None:
    """Seconds between two rows of joints (N, J), from their rates, and how far the two disagree, as a share.

    A simulator that integrates moves each joint by its rate of the new row. None where nothing moves.
    """
    change, rate = np.diff(position, axis=0), velocity[1:]
    usable = ~(np.isnan(change) | np.isnan(rate)).any(1)
    change, rate = change[usable], rate[usable]
    power = float((rate**2).sum())
    moved = float(np.sqrt((change**2).sum()))
    if power <= 0 or moved < MOVED_RAD:
        return None
    step_s = float((change * rate).sum()) / power
    return step_s, float(np.sqrt(((change - step_s * rate) ** 2).sum())) / moved


def _times(count: int, joints: RecordedArm | None, findings: Findings) -> tuple[FloatArray, Clock]:
    """Seconds (N,), and how they are known."""
    found = None if joints is None or joints.velocity is None else step_of(joints.position, joints.velocity)
    if found is not None and found[0] > TIME_STEP_S and found[1] <= STEP_OFF_MAX:
        return np.asarray(np.arange(count) * round(found[0], 6), dtype=np.float64), "from rates"
    problem = "the joints do not move, or have no rates" if found is None else f"{found[1]:.1%} off one another"
    message = f"observations have no times, and positions and rates of joints do not tell: {problem}"
    remedy = f"taken to be {STEP_S:g} s apart, as RLBench's simulator has them"
    findings.add(doubt("times_assumed", "log", message, remedy, found and found[1], STEP_OFF_MAX, "share"))
    return np.asarray(np.arange(count) * STEP_S, dtype=np.float64), "frames per second"


def _gripper(rows: list[dict[str, Any]], findings: Findings) -> Gripper | None:
    """The gripper's pose, opening and touch; None with a note where there is none."""
    pose = stacked(rows, "gripper_pose", findings)
    opening = stacked(rows, "gripper_open", findings)
    if pose is None and opening is None:
        findings.add(note("no_gripper", "gripper", "no gripper is recorded", "record gripper_pose and gripper_open"))
        return None
    fingers = stacked(rows, "gripper_joint_positions", findings)
    if pose is not None and pose.shape[1] != _POSE:
        message = f"gripper_pose has {pose.shape[1]} numbers, not place and quaternion"
        findings.add(doubt("unusable_pose", "gripper", message, "record it again", pose.shape[1], _POSE, "numbers"))
        pose = None
    if opening is not None:
        with np.errstate(invalid="ignore"):
            bad = (opening[:, :1] < 0) | (opening[:, :1] > 1)
        if bad.any():
            message = f"gripper_open is not between 0 and 1 at {int(bad.sum())} times"
            findings.add(doubt("unusable_opening", "gripper", message, "record it again", int(bad.sum()), 0, "times"))
        opening = np.where(bad, np.nan, opening[:, :1])
    return Gripper(
        point="the point between the finger tips",
        place_m=None if pose is None else pack(pose[:, :3], PLACE_STEP_M),
        turn_wxyz=None if pose is None else pack(turns_wxyz(pose[:, 3:], findings), TURN_STEP),
        opening=None if opening is None else pack(opening, SHARE_STEP),
        width_m=None if fingers is None or fingers.shape[1] != FINGERS else pack(fingers.sum(1), PLACE_STEP_M),
    )


def _items(task: str | None, state: FloatArray | None, instructions: Sequence[str]) -> tuple[SceneItem, ...]:
    """The items that a task's state is known to describe; for most tasks the numbers have no names.

    Balls of other colours lie beside the target, of which the log knows nothing: what tells it from them is the colour
    by which an instruction calls it.
    """
    if task not in _TARGET or state is None or state.shape[1] != 3:
        return ()
    name, category = _TARGET[task]
    colours = {found[1].lower() for text in instructions for found in [_COLOUR.search(text)] if found}
    looks = {"colour": colours.pop()} if len(colours) == 1 else {}
    return (SceneItem(id=name, category=category, role="target", attributes=looks, place_m=pack(state, PLACE_STEP_M)),)


def _video(files: SceneFiles, count: int, fps: float, findings: Findings) -> Video | None:
    """The pictures of the first camera that has one for each observation."""
    for camera in CAMERAS:
        folder = files.path / f"{camera}_rgb"
        paths = [path for number in range(count) if (path := folder / f"{number}.png").is_file()]
        size = size_of(paths[0]) if paths else None
        if not paths:
            continue
        if len(paths) < count or size is None:
            message = f"{camera}_rgb holds {len(paths)} readable pictures of {count} observations"
            findings.add(note("pictures_missing", "video", message, "fetch them again", len(paths), count, "pictures"))
            continue
        digests = "\n".join(sha256_of_file(path) for path in paths)
        files.add(files.relative(folder), digests.encode())
        width, height = size
        return Video(path=files.relative(folder), fps=fps, frames=count, width=width, height=height)
    return None
