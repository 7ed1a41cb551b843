"""A scan that lacks the floor that its video walks over is left out, and the build goes on."""

from __future__ import annotations

from pathlib import Path

from pipeline.engine.config import build_config
from pipeline.stages.builder import Builder
from tests.builds import UNASKED
from tests.conftest import Samples


def test_a_scan_with_a_hole_below_the_camera_is_left_out(samples: Samples, tmp_path: Path) -> None:
    """Of the sample scans scene9002_00 alone has a gap below the camera's path: 0.3% of its floor."""
    sections = {
        "build": "vsi",
        "benchmark": "vsi",
        "roots": {"scannet": samples.folder / "scannet"},
        "video": False,
        **UNASKED,
    }
    strict = build_config(sections | {"observe": {"indoor": {"unscanned_max": 0.001}}})
    outcome = Builder(strict, tmp_path / "out").build()
    (left_out,) = outcome.quarantine
    assert (left_out.unit, left_out.stage, left_out.finding) == ("scannet/scene9002_00", "observe", "incomplete_mesh")
    assert "0.3% of the floor's area" in left_out.message
    assert "observe.indoor.unscanned_max" in left_out.remedy
    assert {e.unit for e in outcome.manifest if e.stage == "select" and e.output} == {"scannet/scene9001_00"}
    assert Builder(build_config(sections), tmp_path / "out").build().quarantine == []
