"""Observes a panorama: whether its picture is fit for questions, where it lies, how far things are.

Filters: ERGeoBench, table 9, "Manual panorama filtering". Each is measured, and what fails one is left out with the
measured value and the limit.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import AnyScene, Finding
from pipeline.reading.reader import PanoramaGeometry, Twin
from pipeline.worlds.panorama.facts import MeasuredPicture, Panorama, PanoramaConfig, PanoramaScene
from pipeline.worlds.panorama.observe.landmarks import landmarks_of
from pipeline.worlds.panorama.observe.picture import (
    differing_bits,
    nadir_by_colour,
    nadir_by_depth,
    sharpness_of,
    thumbnail,
    with_signs_read,
)
from pipeline.worlds.panorama.observe.place import DEPTH, find_place, measure_objects

_ROOF_M: Final = 12.0  # above the camera: nearer all over, it may be a ceiling
_ROOFED: Final = 0.9  # of the sky above 60 degrees
_UP_SHARE: Final = 1 / 6  # of the rows that lie above 60 degrees
TILT_DEG: Final = 3.0  # by which a camera may lean: a view's horizon shows more

Color = npt.NDArray[np.uint8]


def observe_panorama(scene: PanoramaScene, geometry: PanoramaGeometry, config: PanoramaConfig) -> PanoramaScene:
    """The scene with what was measured; a finding of severity "fault" leaves it out."""
    findings = Findings()
    facts = scene.facts
    color = geometry.color()
    if color is None:
        message = f"{facts.picture.path} cannot be decoded"
        findings.add(_fault(note("broken_picture", "picture", message, "fetch the picture again")))
        return _with(scene, facts, findings)
    depth_m = geometry.depth_m()
    if facts.depth is not None and depth_m is None:
        message = f"{facts.depth.path} cannot be decoded; it was not used"
        findings.add(doubt("broken_depth", DEPTH, message, "write it again"))
    facts = _judge(facts, color, depth_m, config, findings)
    _compare(facts.picture.path, color, geometry.twins, config, findings)
    tilt = max(abs(facts.camera_pitch_deg or 0.0), abs(facts.camera_roll_deg or 0.0))
    if tilt > TILT_DEG:
        message = f"the camera leaned by {tilt:.1f} degrees, over {TILT_DEG:g}, and the picture may not be level"
        remedy = "level the picture, and take camera_pitch_deg and camera_roll_deg out"
        findings.add(doubt("not_level", "level", message, remedy, tilt, TILT_DEG, "degrees"))
    gazetteer, wrong = geometry.gazetteer() or (None, ())
    findings.add(*wrong)
    facts = facts.model_copy(update={"place": find_place(facts, gazetteer, config, findings)})
    around = None if facts.position is None else geometry.surroundings(facts.position)
    if around is not None:
        findings.add(*around[1])
        facts = facts.model_copy(update=landmarks_of(facts, around[0], config))
    facts = facts.model_copy(update={"objects": measure_objects(facts, depth_m, findings)})
    if config.ocr and facts.picture.crop is None:
        facts = facts.model_copy(update={"objects": with_signs_read(facts, color)})
    return _with(scene, facts, findings)


def _judge(
    facts: Panorama, color: Color, depth_m: FloatArray | None, config: PanoramaConfig, findings: Findings
) -> Panorama:
    """The facts with what its own pixels tell; a finding of severity "fault" leaves it out."""
    facts = facts.model_copy(update={"measured": _measure(facts, color, depth_m)})
    _filter(facts, config, findings)
    return _indoor(facts, depth_m, findings)


def _with(scene: PanoramaScene, facts: Panorama, findings: Findings) -> PanoramaScene:
    return scene.model_copy(update={"facts": facts, "findings": (*scene.findings, *findings.items)})


def _fault(found: Finding) -> Finding:
    return found.model_copy(update={"severity": "fault"})


def _measure(facts: Panorama, color: Color, depth_m: FloatArray | None) -> MeasuredPicture:
    picture = facts.picture
    whole = picture.crop is None
    across = picture.width if picture.crop is None else picture.crop.full_width
    share = None
    if whole and depth_m is not None and facts.camera_height_m is not None:
        share = nadir_by_depth(depth_m, facts.camera_height_m)
    elif whole:
        share = nadir_by_colour(color)
    return MeasuredPicture(
        pixels_per_degree=round(across / 360.0, 3),
        sharpness=round(sharpness_of(color), 1) if whole else None,
        nadir_share=None if share is None else round(share, 4),
    )


def _filter(facts: Panorama, config: PanoramaConfig, found: Findings) -> None:
    measured = facts.measured
    if measured is None:
        return
    name = facts.picture.path
    fine, sharp, hidden = measured.pixels_per_degree, measured.sharpness, measured.nadir_share
    if fine < config.pixels_per_degree_min:
        message = f"{name}: it has {fine:g} pixels per degree, under {config.pixels_per_degree_min:g}"
        remedy = "fetch it in full size, or set observe.panorama.pixels_per_degree_min"
        unit = "pixels per degree"
        found.add(_fault(note("low_resolution", "picture", message, remedy, fine, config.pixels_per_degree_min, unit)))
    if sharp is not None and sharp < config.sharpness_min:
        message = f"{name}: the variance of its Laplacian is {sharp:.1f}, under {config.sharpness_min:g}: it is blurred"
        remedy = "take another, or set observe.panorama.sharpness_min"
        found.add(_fault(note("blurred", "picture", message, remedy, sharp, config.sharpness_min, "grey levels²")))
    if hidden is not None and hidden > config.nadir_share_max:
        message = f"{name}: its vehicle hides {hidden:.0%} of what is below, over {config.nadir_share_max:.0%}"
        remedy = "take another, or set observe.panorama.nadir_share_max"
        limit = config.nadir_share_max
        found.add(_fault(note("vehicle_hides", "picture", message, remedy, hidden, limit, "of the lower half")))


def _compare(name: str, color: Color, twins: tuple[Twin, ...], config: PanoramaConfig, found: Findings) -> None:
    """Finds that the picture is another one, taken twice, which is not itself left out for what it shows."""
    if config.duplicate_bits < 0 or not twins:
        return
    own = thumbnail(color)
    for twin in twins:
        read = twin.read()
        if read is None:  # said of that one
            continue
        scene, geometry = read
        other = geometry.color()
        if other is None:
            continue
        bits = differing_bits(own, thumbnail(other))
        if bits <= config.duplicate_bits and not _is_left_out(scene, other, geometry.depth_m(), config):
            message = f"{name}: it is {twin.id} once more: their hashes differ in {bits} of 64 bits, at most"
            message += f" {config.duplicate_bits}, and they were taken at one place"
            remedy = "keep one of them, or set observe.panorama.duplicate_bits"
            limit = float(config.duplicate_bits)
            found.add(_fault(note("near_duplicate", "picture", message, remedy, float(bits), limit, "bits")))
            return


def _is_left_out(scene: AnyScene, color: Color, depth_m: FloatArray | None, config: PanoramaConfig) -> bool:
    """Whether a panorama has no question for what is wrong with it, apart from being another one once more."""
    findings = Findings()
    findings.add(*scene.findings)
    if isinstance(scene.facts, Panorama):
        _judge(scene.facts, color, depth_m, config, findings)
    return any(found.severity == "fault" for found in findings.items)


def _indoor(facts: Panorama, depth_m: FloatArray | None, found: Findings) -> Panorama:
    """Whether it was taken under a roof: what people say, else what depth shows, else a doubt."""
    remedy = "state indoor (true or false) in pano.yaml, or decide it on the page: scan2qa review BUILD --checks"
    if facts.indoor:
        message = f"{facts.picture.path}: it was taken indoors, by {facts.source_tags.get('indoor', 'its source')}"
        found.add(_fault(note("indoor", "indoor", message, "take it out")))
        return facts
    if depth_m is None or facts.picture.crop is not None:
        if facts.indoor is None:
            found.add(doubt("indoor_unknown", "indoor", "it is not stated whether it was taken indoors", remedy))
        return facts
    rows = depth_m[: max(1, int(len(depth_m) * _UP_SHARE))]
    weight = np.broadcast_to(np.sin(np.pi * (np.arange(len(rows)) + 0.5) / len(depth_m))[:, None], rows.shape)
    with np.errstate(invalid="ignore"):
        roofed = round(float(weight[rows < _ROOF_M].sum() / weight.sum()), 4)
    if roofed > _ROOFED:
        message = f"{roofed:.0%} of what is above 60 degrees is nearer than {_ROOF_M:g} m: a ceiling, or trees"
        perhaps = doubt("perhaps_indoor", "indoor", message, remedy, roofed, _ROOFED, "of what is above")
        if facts.indoor is not None:
            message += f"; outdoors holds, by {facts.source_tags.get('indoor', 'its source')}"
            settled = {"severity": "note", "message": message, "remedy": "none needed: the depth does not decide"}
            perhaps = perhaps.model_copy(update=settled)
        found.add(perhaps)
        return facts
    if facts.indoor is not None:
        return facts
    return facts.model_copy(update={"indoor": False, "source_tags": facts.source_tags | {"indoor": DEPTH}})
