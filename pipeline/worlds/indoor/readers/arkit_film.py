"""The film of an ARKitScenes video: a recording, streams of pictures, a trajectory, and intrinsics per picture.

A stream is a folder, or the zip of that name that the dataset's download script keeps with ``--keep_zip``.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import Findings, note
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, depth_file, size_of
from pipeline.formats.videos import VideoPictures, picture_times_s
from pipeline.formats.zips import ZipMember, bytes_of, zip_members
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import movie_facts
from pipeline.worlds.indoor.readers.frames import (
    CLOCK_TOLERANCE_S,
    OFF_CENTRE_MAX,
    RawFrameTable,
    Recording,
    check_clock,
    frame_rate,
    from_axis_angle,
    interpolate,
    invert,
)

STREAMS: Final = ("lowres_wide", "vga_wide", "wide")  # coarsest first: that is the one with depth of its size
TRAJECTORIES: Final = ("lowres_wide.traj", "color.traj")
MOVIES: Final = (".mov", ".mp4")
FPS: Final = 10.0  # of the frames in 3dod
SAME_STAMP_S: Final = 0.005  # the dataset's own tools take stamps this close as one
NEAR_STAMP_S: Final = 0.1  # poses come ten times a second; one is never made from stamps farther off
PINCAM_TOLERANCE_S: Final = 0.0015  # names of intrinsics are rounded apart from those of the pictures by 1 ms
FOLDS: Final = {"train": "Training", "val": "Validation"}
Stamped = list[tuple[float, Path | ZipMember]]
_STAMPED: Final = re.compile(r".+_(\d{1,12}(?:\.\d{1,9})?)", re.ASCII)


def _frames_folder(files: SceneFiles) -> Path:
    """Where the frames lie, or where they should: ``<id>_frames``, or in the raw layout the scene's own folder."""
    places = (files.path / f"{files.name}_frames", files.path)
    parts = (*STREAMS, *(f"{stream}.zip" for stream in STREAMS), *TRAJECTORIES)
    return next((place for place in places if any((place / part).exists() for part in parts)), places[0])


def open_film(files: SceneFiles, findings: Findings) -> Recording | None:
    """The film of a scene, not yet turned; None where there are neither frames nor a recording.

    Its video is the recording, or else the pictures of the finest stream.
    """
    folder, movie = _frames_folder(files), movie_path(files.root, files.path)
    streams = {name: _stamped(files, folder / name, ".png") for name in STREAMS}
    there = [name for name in STREAMS if streams[name]]
    empty = next((name for name in STREAMS if (folder / name).is_dir()), None)
    trajectory = next((folder / name for name in TRAJECTORIES if (folder / name).is_file()), None)
    if movie is None and not there:
        if empty is not None:
            _picture_size(files, folder / empty, [])
        _no_frames(f"neither a recording nor {files.relative(folder)}/{STREAMS[0]}", findings)
        return None
    pictures = streams[there[-1]] if there else []
    stamp = np.array([t for t, _ in pictures])
    video, path = _source_video(files, movie, folder / there[-1] if there else folder, pictures)
    film = Recording(None, video, path, path, movie is not None, [picture for _, picture in pictures])
    if not there or trajectory is None:
        missing = STREAMS[0] if not there else " or ".join(TRAJECTORIES)
        _no_frames(f"{files.relative(folder)}/{missing}", findings)
        return film
    table, clock_s = _table(files, folder, trajectory, there[0], streams[there[0]], findings), stamp - stamp[0]
    fps, frames = video.fps or FPS, video.frames or len(pictures)
    if movie is not None:
        shown_s = picture_times_s(movie)  # uneven where the camera dropped some
        shown_s = shown_s - shown_s[0] if len(shown_s) == frames else np.arange(frames) / fps
        number = np.interp(table.time_s, shown_s, np.arange(frames)) + np.maximum(table.time_s - shown_s[-1], 0) * fps
        number = number.round().astype(np.intp)
        _compare_length(video.path, frames / fps, float(table.time_s[-1]), findings)
        decode = VideoPictures(movie)  # what viewers see; the stream beside it may be of another film
        table = replace(table, load_color=lambda i: decode(int(number[i])))
    else:
        check_clock(video.path, clock_s, np.arange(len(stamp)), fps, findings)
        number = (
            np.searchsorted([t - SAME_STAMP_S for t, _ in pictures], [t for t, _ in streams[there[0]]], "right") - 1
        )
    beyond = table.usable & (number > frames - 1 + CLOCK_TOLERANCE_S * fps)
    number = np.clip(number, 0, frames - 1)
    skipped = table.skipped | {"beyond_video": int(beyond.sum())}
    shown = replace(table, number=number, time_s=number / fps, usable=table.usable & ~beyond, skipped=skipped)
    return replace(film, table=shown)


def _source_video(files: SceneFiles, movie: Path | None, folder: Path, pictures: Stamped) -> tuple[Video, Path]:
    """Facts of the recording, or else of the finest stream's pictures as a video, and which of both it is."""
    rate = frame_rate(np.array([t for t, _ in pictures])) or FPS
    if movie is not None:
        facts = movie_facts(files, movie)
        size, fps, frames, path = (facts.width, facts.height), facts.fps or rate, facts.frames, movie
    else:
        size, fps, frames, path = _picture_size(files, folder, pictures), rate, len(pictures), folder
    return Video(path=files.relative(path), fps=fps, frames=frames, width=size[0], height=size[1]), path


def _no_frames(missing: str, findings: Findings) -> None:
    remedy = "fetch the frames: without them nothing is known of what the video shows"
    findings.add(note("no_frames", "video", f"{missing} is not here", remedy, 0, 1, "frames"))


def _picture_size(files: SceneFiles, folder: Path, pictures: Stamped) -> tuple[int, int]:
    if not pictures:
        raise files.fault(folder, "no_usable_frames", "there is no picture <id>_<time>.png", "fetch them again")
    size = next((s for _, p in pictures if (s := size_of(p)) is not None), None)
    if size is None:
        message = f"none of the {len(pictures)} pictures can be read"
        raise files.fault(folder, "no_image_size", message, "fetch the frames again")
    return size


def _table(
    files: SceneFiles, folder: Path, trajectory: Path, stream: str, images: Stamped, findings: Findings
) -> RawFrameTable:
    """The frames of a stream, numbered in their own order."""
    size = _picture_size(files, folder / stream, images)
    stamp, paths = np.array([t for t, _ in images]), [p for _, p in images]
    stamps, poses = _trajectory(files, trajectory, findings)
    pose, posed = poses_at(stamp, stamps, poses)
    cameras, seen = _intrinsics(files, folder / f"{stream}_intrinsics", stamp)
    fits = seen & (cameras[:, 0] == size[0]) & (cameras[:, 1] == size[1]) & (cameras[:, 2:] > 0).all(axis=1)
    fits &= (np.abs(cameras[:, 4:] / size - 0.5) <= OFF_CENTRE_MAX).all(axis=1)
    depths = dict(_stamped(files, folder / "lowres_depth", ".png"))
    depth_paths = [depths.get(t) for t in stamp.tolist()]
    return RawFrameTable(
        time_s=stamp - stamp[0],
        number=np.arange(len(stamp)),
        world_T_camera=pose,
        intrinsics=cameras[:, 2:],
        size=size,
        usable=posed & fits,
        has_color=np.ones(len(stamp), dtype=bool),
        has_depth=np.array([p is not None for p in depth_paths]),
        load_color=lambda i: color_file(paths[i]),
        load_depth=lambda i: depth_file(depth_paths[i] or paths[i]),
        skipped={
            "no_pose": int((~posed).sum()),
            "no_intrinsics": int((posed & ~seen).sum()),
            "bad_intrinsics": int((posed & seen & ~fits).sum()),
        },
    )


def _stamped(files: SceneFiles, folder: Path, suffix: str) -> Stamped:
    """Files named ``<id>_<seconds>`` of a folder, or of the zip of its name, in order of time."""
    packed = folder.with_name(f"{folder.name}.zip")
    found: Iterable[Path | ZipMember] = ()
    if folder.is_dir():
        found = folder.iterdir()
    elif packed.is_file():
        try:
            found = zip_members(packed)
        except OSError as error:
            raise files.fault(packed, "unreadable_zip", str(error), "fetch the zip again, or unpack it") from error
    stamped: Stamped = [(float(m[1]), p) for p in found if p.suffix == suffix and (m := _STAMPED.fullmatch(p.stem))]
    return sorted(stamped, key=lambda item: (item[0], item[1].name))


def _trajectory(files: SceneFiles, path: Path, findings: Findings) -> tuple[FloatArray, FloatArray]:
    """Times (T,) in order and poses world_T_camera (T, 4, 4). Lines that cannot be read are reported."""
    lines = files.text(path).splitlines()
    rows: list[list[float]] = []
    bad: list[str] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            bad.append(f"line {number} holds no numbers")
            continue
        if len(row) != 7:
            bad.append(f"line {number} has {len(row)} columns, not 7")
        elif not np.isfinite(row).all():
            bad.append(f"line {number} is not finite")
        else:
            rows.append(row)
    if bad:
        message = f"{files.relative(path)}: {len(bad)} of {len(lines)} lines cannot be used: {'; '.join(bad[:3])}"
        remedy = "fetch the file again; is it a lowres_wide.traj? Frames near these lines are left out"
        if not rows:
            raise files.fault(path, "bad_trajectory_line", message, remedy)
        findings.add(note("bad_trajectory_line", "video", message, remedy, len(bad), 0, "lines"))
    table = np.array(rows, dtype=np.float64).reshape(-1, 7)
    table = table[np.unique(table[:, 0], return_index=True)[1]]
    return table[:, 0], invert(from_axis_angle(table[:, 1:4], table[:, 4:7]))


def poses_at(stamp: FloatArray, stamps: FloatArray, poses: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Poses (N, 4, 4) at times (N,), and which (N,) have one.

    The pose of the same stamp where there is one; between two stamps that are near enough, a pose between theirs.
    """
    result = np.full((len(stamp), 4, 4), np.nan)
    if not len(stamps):
        return result, np.zeros(len(stamp), dtype=bool)
    after = np.minimum(np.searchsorted(stamps, stamp), len(stamps) - 1)
    before = np.maximum(np.searchsorted(stamps, stamp, side="right") - 1, 0)
    to_before, to_after = np.abs(stamp - stamps[before]), np.abs(stamps[after] - stamp)
    nearest = np.where(to_before <= to_after, before, after)
    same = np.minimum(to_before, to_after) <= SAME_STAMP_S
    result[same] = poses[nearest[same]]
    bracketed = (stamps[before] <= stamp) & (stamp <= stamps[after])
    between = ~same & bracketed & (np.maximum(to_before, to_after) <= NEAR_STAMP_S)
    if between.any():
        share = to_before[between] / (to_before[between] + to_after[between])
        result[between] = interpolate(poses, before[between], after[between], share)
    return result, same | between


def _intrinsics(files: SceneFiles, folder: Path, stamp: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Width, height, fx, fy, cx, cy (N, 6) at times (N,), and which (N,) have a readable file."""
    cameras = np.full((len(stamp), 6), np.nan)
    files_at = _stamped(files, folder, ".pincam")
    if not files_at:
        return cameras, np.zeros(len(stamp), dtype=bool)
    times = np.array([t for t, _ in files_at])
    after = np.clip(np.searchsorted(times, stamp), 0, len(times) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(times[before] - stamp) < np.abs(times[after] - stamp), before, after)
    near = np.abs(times[nearest] - stamp) <= PINCAM_TOLERANCE_S
    everything: list[bytes] = []
    for place in np.flatnonzero(near):
        path = files_at[nearest[place]][1]
        try:
            raw = bytes_of(path)
            cameras[place] = np.array(raw.split(), dtype=np.float64).reshape(6)
        except (OSError, ValueError):
            near[place] = False
        else:
            everything.append(path.name.encode() + b" " + raw)
    files.add(files.relative(folder), b"\n".join(everything))
    return cameras, near & np.isfinite(cameras).all(axis=1)


def dataset_folders(root: Path) -> tuple[Path, ...]:
    """The root, and the dataset's top folder where the root is its ``3dod`` or a fold within that."""
    if root.name == "3dod":
        return root, root.parent
    if root.name in FOLDS.values() and root.parent.name == "3dod":
        return root, root.parent, root.parent.parent
    return (root,)


def movie_path(root: Path, folder: Path) -> Path | None:
    """The recording of a scene, in its folder or in ``raw/``; None where there is none."""
    tops = dataset_folders(root.absolute())
    places = (folder, *(top / "raw" / folder.parent.name / folder.name for top in tops))
    paths = (p for place in places if place.is_dir() for p in sorted(place.glob(f"{folder.name}*")))
    return next((p for p in paths if p.suffix.lower() in MOVIES and p.is_file()), None)


def _compare_length(where: str, video_s: float, frames_s: float, findings: Findings) -> None:
    if abs(video_s - frames_s) > CLOCK_TOLERANCE_S:
        message = f"{where} lasts {video_s:.2f} s, its frames {frames_s:.2f} s"
        remedy = "times are those of the frames; is the video cut, or of another scan?"
        findings.add(note("clock_differs", "video", message, remedy, abs(video_s - frames_s), CLOCK_TOLERANCE_S, "s"))
