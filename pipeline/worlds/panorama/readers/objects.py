"""The visible objects of a panorama, from ``objects.json``.

``{"objects": [{"id", "label", "yaw_deg": [from, to], "pitch_deg": [low, high]} …], "complete": [labels]}``: yaw
clockwise from the middle column, so that [170, -170] is 20 degrees across the seam. In their place ``box_px``: [left,
top, right, bottom] in pixels of the picture, left over right for what lies across the seam. Further keys: slot, name,
kind, attributes, distance_m, visible_share.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, FiniteFloat, ValidationError

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Model, Name, Share
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.areas import fit_name
from pipeline.reading.maps.feature import mentioned
from pipeline.worlds.panorama.facts import PanoramaObject, PanoramaPicture, Slot, SphereCrop
from pipeline.worlds.panorama.readers.own_files import OBJECTS_FILE, refuse_large

DISTANCE_MAX_M: Final = 10_000.0  # beyond it nothing in a street has a distance: millimetres
_MOST_BYTES: Final = 64 << 20
_WHO_CHARS: Final = 60
_REMEDIES: Final = {
    "unusable_object": "see docs/build/panoramas.md for what an object has",
    "duplicate_id": "give each an id of its own",
}


class _RawObject(Model):
    id: Name
    label: Name
    slot: Slot | None = None
    name: Name | None = None
    kind: Name | None = None
    attributes: dict[Name, Name] = Field(default_factory=dict)
    yaw_deg: tuple[FiniteFloat, FiniteFloat] | None = None
    pitch_deg: tuple[FiniteFloat, FiniteFloat] | None = None
    box_px: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    distance_m: Annotated[FiniteFloat, Field(gt=0, le=DISTANCE_MAX_M)] | None = None
    visible_share: Share | None = None


def read_objects(
    files: SceneFiles, path: Path, picture: PanoramaPicture, findings: Findings
) -> tuple[tuple[PanoramaObject, ...], tuple[str, ...]]:
    """The usable objects by id, and the labels of which they are all; what is wrong with single ones is a doubt.

    Raises:
        RawDataError: where the file is no JSON object with a list of objects.
    """
    if not path.is_file():
        return (), ()
    refuse_large(files, path, _MOST_BYTES)
    value = files.json(path)
    entries, complete = value.get("objects"), value.get("complete", [])
    if not isinstance(entries, list) or not isinstance(complete, list) or set(value) - {"objects", "complete"}:
        message = f'its keys are {", ".join(sorted(value))[:200]}, and not "objects" and "complete", both lists'
        raise files.fault(path, "bad_objects", message, _REMEDIES["unusable_object"])
    found: dict[str, PanoramaObject] = {}
    refused: dict[str, list[str]] = {}
    again: set[str] = set()
    for place, entry in enumerate(entries):
        seen = _seen(entry, picture)
        if isinstance(seen, str):
            own = entry.get("id") if isinstance(entry, dict) else None
            who = str(own)[:_WHO_CHARS] if own else f"object {place}"
            refused.setdefault("unusable_object", []).append(f"{who} ({seen})")
        elif seen.id in found or seen.id in again:
            refused.setdefault("duplicate_id", []).append(seen.id)
            again.add(seen.id)
            found.pop(seen.id, None)
        else:
            found[seen.id] = seen
    name = files.relative(path)
    for reason, ids in refused.items():
        message = f"{name}: {len(ids)} of {len(entries)} objects were left out: {mentioned(ids)}"
        findings.add(doubt(reason, OBJECTS_FILE, message, _REMEDIES[reason], float(len(ids)), 0.0, "objects"))
    count = Counter(seen.label for seen in found.values())
    several = sorted(label for label, n in count.items() if n > 1)
    if several:
        message = f"{name}: {len(several)} of {len(count)} labels are those of several objects: {mentioned(several)}"
        remedy = "nothing is asked that would name one of them; tell them apart by label to have it asked"
        findings.add(note("label_not_unique", OBJECTS_FILE, message, remedy, float(len(several)), 0.0, "labels"))
    labels = [label for label in complete if isinstance(label, str) and label]
    if len(labels) < len(complete) or refused:
        labels = []  # nothing is complete of which something was left out
    return tuple(found[key] for key in sorted(found)), tuple(sorted(set(labels)))


def _seen(entry: Any, picture: PanoramaPicture) -> PanoramaObject | str:
    """An object, or why it is none."""
    try:
        raw = _RawObject.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'entry'}: {first['msg']}"
    words = (raw.id, raw.label, raw.name or "-", raw.kind or "-", *raw.attributes, *raw.attributes.values())
    unfit = next((word for word in words if not fit_name(word)), None)
    angles = f"{unfit!r} cannot stand in a question" if unfit is not None else _angles(raw, picture)
    if isinstance(angles, str):
        return angles
    (start, width), (low, high) = angles
    return PanoramaObject(
        **raw.model_dump(exclude={"yaw_deg", "pitch_deg", "box_px"}),
        yaw_deg=(start + width / 2 + 180.0) % 360.0 - 180.0,
        width_deg=width,
        pitch_low_deg=low,
        pitch_high_deg=high,
        source_tags={key: OBJECTS_FILE for key in ("distance_m", "visible_share") if getattr(raw, key) is not None},
    )


def _angles(raw: _RawObject, picture: PanoramaPicture) -> tuple[tuple[float, float], tuple[float, float]] | str:
    """First yaw and width, lowest and highest pitch, degrees; or why it has none."""
    if raw.box_px is not None and raw.yaw_deg is None and raw.pitch_deg is None:
        angles = angles_of(raw.box_px, picture)
        if angles is None:
            return f"box_px {list(raw.box_px)} lies beyond the picture's {picture.width} x {picture.height} pixels"
    elif raw.box_px is None and raw.yaw_deg is not None and raw.pitch_deg is not None:
        if max(map(abs, raw.yaw_deg)) > 360.0:
            return f"yaw_deg {list(raw.yaw_deg)} is not within -360 to 360"
        angles = (raw.yaw_deg[0], (raw.yaw_deg[1] - raw.yaw_deg[0]) % 360.0), raw.pitch_deg
    else:
        return "needs yaw_deg and pitch_deg, or box_px"
    (_, width), (low, high) = angles
    if not -90.0 <= low < high <= 90.0:
        return f"pitch from {low:g} to {high:g}, which is not low to high within -90 to 90"
    return angles if width else "it has no width"


def angles_of(
    box_px: tuple[float, float, float, float], picture: PanoramaPicture
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """First yaw and width, lowest and highest pitch of a box between pixels' edges, degrees; None: off the picture."""
    left, top, right, bottom = box_px
    if not (min(left, right) >= 0 and max(left, right) <= picture.width and 0 <= top < bottom <= picture.height):
        return None
    crop = picture.crop or SphereCrop(full_width=picture.width, full_height=picture.height, left=0, top=0)
    across, down = 360.0 / crop.full_width, 180.0 / crop.full_height
    start = (left + crop.left) * across - 180.0
    width = ((right - left) * across) % 360.0 or (360.0 if right > left else 0.0)
    return (start, width), (90.0 - (bottom + crop.top) * down, 90.0 - (top + crop.top) * down)
