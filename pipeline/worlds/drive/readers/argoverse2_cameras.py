"""The cameras of an Argoverse 2 log: calibration, and the pictures of the one that looks ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.findings import Findings, note
from pipeline.geometry.turns import matrices
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.facts import Camera
from pipeline.worlds.drive.readers.argoverse2_tables import UNIT_TOLERANCE, read_rows, table_of
from pipeline.worlds.drive.readers.pictures import Pictures, numbered, pictures_of

CAMERAS: Final = "sensors/cameras"
AHEAD: Final = "ring_front_center"
INTRINSICS: Final = "calibration/intrinsics.feather"
MOUNTS: Final = "calibration/egovehicle_SE3_sensor.feather"
_MOUNT: Final[dict[str, type[np.generic] | None]] = {
    "sensor_name": None,
    **dict.fromkeys(("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"), np.float64),
}
_LENS: Final[dict[str, type[np.generic] | None]] = {
    "sensor_name": None,
    **dict.fromkeys(("fx_px", "fy_px", "cx_px", "cy_px", "width_px", "height_px"), np.float64),
}


def pictures_ahead(folder: Path, start_ns: int) -> Pictures | None:
    """Of the camera ahead, or else of the first one that has any."""
    cameras = sorted((folder / CAMERAS).glob("*"), key=lambda path: (path.name != AHEAD, path.name))
    for camera in cameras:
        entries = numbered(camera)
        if entries:
            times_s = (np.array([stamp for stamp, _ in entries]) - start_ns) / 1e9
            return pictures_of(camera, entries, times_s)
    return None


def read_cameras(files: SceneFiles, findings: Findings) -> tuple[Camera, ...]:
    """Those whose calibration is there, by name."""
    lenses_path, mounts_path = files.folder / INTRINSICS, files.folder / MOUNTS
    if not (lenses_path.is_file() and mounts_path.is_file()):
        return ()
    lenses, mounts = read_rows(files, lenses_path, _LENS), read_rows(files, mounts_path, _MOUNT)
    rows = {name: row for row, name in enumerate(mounts["sensor_name"].tolist())}
    places, turns = table_of(mounts, "tx_m", "ty_m", "tz_m"), table_of(mounts, "qw", "qx", "qy", "qz")
    found = []
    for row, name in enumerate(lenses["sensor_name"].tolist()):
        lens = {column: float(lenses[column][row]) for column in _LENS if column != "sensor_name"}
        sound = np.isfinite(list(lens.values())).all() and min(lens[c] for c in ("fx_px", "fy_px", "width_px")) > 0
        mounted = name in rows and abs(np.sqrt((turns[rows[name]] ** 2).sum()) - 1) <= UNIT_TOLERANCE
        if not (sound and mounted and lens["height_px"] > 0):
            message = f"the calibration of {name} is not whole"
            findings.add(note("bad_calibration", str(name), message, "fetch the log's calibration again"))
            continue
        a, b, c = (tuple(axis) for axis in matrices(turns[rows[name]]).round(9).tolist())
        x, y, z = places[rows[name]].round(6).tolist()
        found.append(
            Camera(
                name=name,
                width=int(lens["width_px"]),
                height=int(lens["height_px"]),
                focal_px=(lens["fx_px"], lens["fy_px"]),
                centre_px=(lens["cx_px"], lens["cy_px"]),
                ego_from_camera=(a, b, c),
                place_m=(x, y, z),
            )
        )
    return tuple(sorted(found, key=lambda camera: camera.name))
