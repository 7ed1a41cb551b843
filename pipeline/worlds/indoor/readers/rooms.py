"""The room as a whole, measured on the scan's vertices."""

from __future__ import annotations

from typing import Final

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt
from pipeline.geometry.areas import ROOM_ALPHA_PER_M, room_area
from pipeline.worlds.indoor.facts import Room
from pipeline.worlds.indoor.readers.box_fit import fit_minimal

HOLES_MAX: Final = 0.25  # of the area; beyond it the scan is too incomplete to tell the size of the room
AREA_METHOD: Final = f"alpha_shape alpha={ROOM_ALPHA_PER_M:g} all vertices"


def measure_room(vertices: FloatArray, findings: Findings) -> Room:
    """Area, floor outlines and centre from vertices (V, 3), metres, world frame.

    The centre is that of the minimal box of all vertices (VSI-Bench, appendix B.1).
    """
    x, y, z = fit_minimal(vertices).center
    shape = room_area(vertices)
    if shape.area_m2 is None:
        message = f"the floor has no area: {shape.failure} ({shape.measured:g})"
        findings.add(doubt("room_not_measured", "room", message, "look at the mesh", shape.measured))
        return Room(area_failure=f"{shape.failure}: {shape.measured:g}", center=(x, y, z))
    holes = (shape.holes_m2 or 0.0) / shape.area_m2
    if holes > HOLES_MAX:
        message = f"{holes:.0%} of the {shape.area_m2:.1f} m² within the outline were not scanned"
        remedy = "leave the scene out, or measure the room by hand"
        findings.add(doubt("incomplete_floor", "room", message, remedy, holes, HOLES_MAX, "share"))
    floor = tuple(tuple((float(a), float(b)) for a, b in ring) for ring in shape.outlines)
    return Room(area_m2=shape.area_m2, area_method=AREA_METHOD, center=(x, y, z), floor=floor)
