"""ScanNet's ``<scene>.txt``: entries ``key = value``, among them the transform that aligns the scan."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, note
from pipeline.formats.ply import Mesh
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.readers.meshes import tilt_deg
from pipeline.worlds.indoor.readers.poses import POSITION_MAX_M, RIGID_TOLERANCE

INFO: Final = "{}.txt"
TILT_MAX_DEG: Final = 1.0  # of floors and table tops in a scan without alignment; a box leans by as much
_LINE: Final = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def scan_info(files: SceneFiles) -> dict[str, str]:
    """The entries of the scan's .txt; none where there is no such file."""
    path = files.folder / INFO.format(files.name)
    if not path.exists():
        return {}
    return dict(_LINE.findall(files.text(path, "fetch the scan's .txt, which holds its alignment")))


def alignment(files: SceneFiles, info: dict[str, str], mesh: Mesh, findings: Findings) -> FloatArray:
    """world_T_scan (4, 4); raises RawDataError where it is no rigid transform.

    Without the line the scan's own frame is the world, if its floors are level: turning about the vertical and
    shifting change no answer.
    """
    path = files.folder / INFO.format(files.name)
    if "axisAlignment" not in info:
        tilt = tilt_deg(mesh)
        found = "nothing in the scan is level" if tilt is None else f"the scan leans by {tilt:.2f} degrees"
        remedy = f"fetch {path.name} of a train or validation scan; test scans have no alignment"
        if tilt is None or tilt > TILT_MAX_DEG:
            raise files.fault(
                path, "missing_alignment", f"there is no axisAlignment, and {found} (limit {TILT_MAX_DEG:g})", remedy
            )
        message = f"there is no axisAlignment in {path.name}; the scan's own frame is used ({found})"
        findings.add(note("missing_alignment", "axisAlignment", message, remedy, tilt, TILT_MAX_DEG, "deg"))
        return np.eye(4)
    words = info["axisAlignment"].split()
    try:
        matrix = np.array(words, dtype=np.float64)
    except ValueError as error:
        raise files.fault(path, "bad_alignment", f"axisAlignment: {error}", "fetch the file again") from error
    problem = None
    if matrix.shape != (16,):
        problem = f"it has {len(words)} numbers, not 16"
    elif not np.isfinite(matrix).all():
        problem = "it is not finite"
    elif np.abs(matrix).max() > POSITION_MAX_M:
        problem = f"it moves the scan by {np.abs(matrix).max():.3g} m"
    else:
        matrix = matrix.reshape(4, 4)
        off = float(np.abs(matrix[:3, :3] @ matrix[:3, :3].T - np.eye(3)).max())
        if off > RIGID_TOLERANCE or np.abs(matrix[3] - [0, 0, 0, 1]).max() > RIGID_TOLERANCE:
            problem = f"it is no rigid transform (off orthonormal by {off:.3g}, limit {RIGID_TOLERANCE:g})"
        elif np.linalg.det(matrix[:3, :3]) < 0:
            problem = "it mirrors the scan"
    if problem:
        raise files.fault(path, "bad_alignment", f"axisAlignment cannot be used: {problem}", "fetch the file again")
    return matrix
