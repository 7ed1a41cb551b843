"""A panorama's depth: whether it covers what the picture covers."""

from __future__ import annotations

from typing import Final

from pipeline.core.findings import Findings, doubt
from pipeline.core.schema import Finding
from pipeline.formats.picture_header import Header, header_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import Depth, Picture
from pipeline.worlds.panorama.readers.own_files import SIDECAR, OwnFiles
from pipeline.worlds.panorama.readers.sidecar import Sidecar

MOST_PIXELS: Final = 8192 * 4096  # eight bytes each, where it is read
FAR_M: Final = 10_000.0  # what the largest number of 16 bits may mean at most
_UNITS: Final = 65_535


def find_depth(files: SceneFiles, own: OwnFiles, sidecar: Sidecar, picture: Picture, found: Findings) -> Depth | None:
    """The depth that goes with a picture; None where there is none, or with a doubt none that can be used.

    Raises:
        RawDataError: where the sidecar names one that is not there.
    """
    stated = sidecar.depth
    path = files.folder / stated.path if stated is not None and stated.path is not None else own.depth
    if stated is None:
        if path.is_file():
            message = f"{path.name}: how many metres a unit is was not said; it was not used"
            remedy = f"give depth (metres_per_unit) in {SIDECAR}"
            found.add(doubt("depth_without_scale", "depth", message, remedy))
        return None
    raw = files.raw(path)
    header = header_of(raw)
    fault = _fault_of(header, stated.metres_per_unit, picture)
    if fault is not None:
        found.add(fault.model_copy(update={"message": f"{path.name}: {fault.message}; it was not used"}))
    if fault is not None or header is None:
        return None
    return Depth(
        path=files.relative(path),
        metres_per_unit=stated.metres_per_unit,
        width=header.width,
        height=header.height,
    )


def _fault_of(header: Header | None, metres_per_unit: float, picture: Picture) -> Finding | None:
    """Why a depth cannot be used, or None."""
    if header is None:
        return doubt("unusable_depth", "depth", "it is no PNG", "write a grey PNG of 16 bits")
    if header.kind != "PNG" or header.channels != 1 or header.bits != 16 or not header.whole:
        cut = "" if header.whole else ", and its end is missing"
        message = f"it is a {header.kind} with channels of {header.bits} bits, {header.channels} of them{cut}"
        return doubt("unusable_depth", "depth", message, "write a grey PNG of 16 bits")
    size = header.width * header.height
    if size > MOST_PIXELS:
        message = f"it has {size:,} pixels"
        return doubt("depth_too_large", "depth", message, "scale it down", float(size), float(MOST_PIXELS), "pixels")
    if abs(header.width / picture.width - header.height / picture.height) > 2 / min(picture.height, header.height):
        message = f"it is {header.width} x {header.height}, the picture {picture.width} x {picture.height}"
        ratio = (header.width / header.height) / (picture.width / picture.height)
        remedy = "write one that covers what the picture covers"
        return doubt("depth_of_another_shape", "depth", message, remedy, ratio, 1.0, "times as wide")
    farthest = metres_per_unit * _UNITS
    if farthest > FAR_M:
        message = f"its largest number would be {farthest:,.0f} m"
        remedy = f"give metres_per_unit in metres in {SIDECAR}: 0.001 for millimetres"
        return doubt("depth_scale_implausible", "depth", message, remedy, farthest, FAR_M, "m")
    return None
