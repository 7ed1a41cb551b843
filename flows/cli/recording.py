"""A recording for Rerun: a scene in 3D with its question, for `scan2qa show --rerun`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from flows.cli.output.console import console
from flows.cli.release_reader import ReleaseReader, sketch_of
from flows.orchestration.saved_build import raw_files
from pipeline.core.errors import ConfigError, RawDataError, require_extra
from pipeline.core.files import new_temporary, translate_os_errors
from pipeline.core.schema import AnyScene
from pipeline.core.spatial import Spatial, SpatialBoxes, flat
from pipeline.rendering.details import QuestionDetail
from pipeline.review.maps import operand_ids
from pipeline.worlds.registry import WORLDS

MARKED: Final = (225, 154, 69)
THING: Final = (150, 150, 145)
WAY: Final = (63, 143, 151)
SURFACE: Final = (205, 200, 190)
TIMELINE: Final = "video"


def record(opened: ReleaseReader, scene: AnyScene | None, questions: Sequence[QuestionDetail], path: Path) -> None:
    """Writes what `rerun FILE` opens. Raises ConfigError where the scene is not kept, or Rerun is not installed."""
    require_extra("rerun", "--rerun")
    if path.suffix != ".rrd":
        raise ConfigError(f"{path}: recordings of Rerun end in .rrd; give a name that ends so")
    if scene is None:
        raise ConfigError(f"{opened.folder}: its scenes are not here; a recording needs the build, not a release alone")
    show = WORLDS[scene.facts.world].spatial
    spatial = show(scene, _geometry(opened, scene)) if show else flat(sketch_of(scene))
    operands = {name for one in questions for name in one.shown.operands}
    write(path, scene.id, spatial, operand_ids(sketch_of(scene), operands), [_as_markdown(one) for one in questions])


def write(path: Path, name: str, spatial: Spatial, marked: frozenset[str], lines: Sequence[str]) -> None:
    """Writes a recording, whole or not at all.

    Args:
        path: the file.
        name: of the recording.
        spatial: the scene.
        marked: ids or labels of boxes that the question speaks of.
        lines: texts about it, Markdown.
    """
    import rerun as rr

    with translate_os_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = new_temporary(path.parent)
        os.close(handle)
        try:
            stream = rr.RecordingStream("scan2qa", recording_id=name)
            stream.save(temporary)
            stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
            if len(spatial.faces):
                surface = rr.Mesh3D(
                    vertex_positions=spatial.vertices, triangle_indices=spatial.faces, albedo_factor=SURFACE
                )
                stream.log("world/mesh", surface, static=True)
            if spatial.lines:
                stream.log("world/outlines", rr.LineStrips3D(spatial.lines, colors=THING), static=True)
            for entity, colour, is_marked in (("world/things", THING, False), ("world/operands", MARKED, True)):
                called = zip(spatial.boxes.labels, spatial.boxes.ids or spatial.boxes.labels, strict=True)
                chosen = [n for n, names in enumerate(called) if (not marked.isdisjoint(names)) == is_marked]
                if chosen:
                    stream.log(entity, _boxes(rr, spatial.boxes, chosen, colour, is_marked), static=True)
            if len(spatial.path):
                stream.log("world/camera/way", rr.LineStrips3D([spatial.path[:, 1:]], colors=WAY), static=True)
                times = rr.TimeColumn(TIMELINE, duration=spatial.path[:, 0])
                places = rr.Points3D.columns(positions=spatial.path[:, 1:], radii=np.full(len(spatial.path), 0.1))
                stream.send_columns("world/camera/now", indexes=[times], columns=places)
            for number, text in enumerate(lines):
                stream.log(f"question/{number}", rr.TextDocument(text, media_type="text/markdown"), static=True)
            stream.flush()
            stream.disconnect()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _boxes(rr: Any, boxes: SpatialBoxes, chosen: Sequence[int], colour: tuple[int, int, int], named: bool) -> Any:
    """Boxes as Rerun has them: turned by quaternions, of half their sides."""
    from scipy.spatial.transform import Rotation

    axes = boxes.axes[chosen].copy()
    axes[np.linalg.det(axes) < 0, 2] *= -1  # a box is the same with an axis turned round
    turns = Rotation.from_matrix(axes.transpose(0, 2, 1)).as_quat()
    return rr.Boxes3D(
        centers=boxes.centers[chosen],
        half_sizes=boxes.lengths[chosen] / 2,
        quaternions=[rr.Quaternion(xyzw=turn) for turn in turns],
        labels=[boxes.labels[n] for n in chosen],
        show_labels=named,
        colors=colour,
    )


def _as_markdown(one: QuestionDetail) -> str:
    """A question as Markdown, in which nothing of it is markup."""
    shown = one.shown
    lines = [f"{shown.task}, question {shown.id}", "", *shown.text.splitlines(), ""]
    lines += [f"{o.letter or '-'} {o.text}{' (right)' if o.right else ''}" for o in shown.options]
    lines += ["", f"Answer: {shown.answer}", ""]
    lines += [f"{name} {subject}: {value}" for name, subject, value in shown.facts]
    lines += [f'passed "{name}" {subject}: {value} (limit: {limit})' for name, subject, value, limit in shown.rules]
    return "\n".join(f"    {line}" for line in lines)  # as code: word for word


def _geometry(opened: ReleaseReader, scene: AnyScene) -> Any:
    """The geometry in the raw data of a scene; None, with a message, where they are no longer there."""
    try:
        found = raw_files(opened.folder, (scene.source.reader,)).get(scene.id)
        if found is not None:
            return found[0].geometry(found[1], scene)
        console.print(f"Without the raw data: {scene.id} is no longer there")
    except (RawDataError, OSError) as error:
        console.print(f"Without the raw data: {error}")
    return None
