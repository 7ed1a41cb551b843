"""Map files written and read in one step."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.maps.feature import EVERYWHERE, Feature, MapBounds
from pipeline.reading.maps.read import read_context

DELFT = MapBounds(52.011, 4.36, 0.02, 0.03)


def files_of(folder: Path) -> SceneFiles:
    return SceneFiles(folder, SceneRef("flights/a", (".",), ""))


def read_file(path: Path, box: MapBounds = EVERYWHERE, walls: bool = False) -> tuple[tuple[Feature, ...], Findings]:
    findings = Findings()
    return read_context(files_of(path.parent), path, box, walls, findings), findings


def read_value(folder: Path, value: Any, box: MapBounds = EVERYWHERE, walls: bool = False) -> tuple[Any, Findings]:
    """Features and findings of a value written as JSON."""
    path = folder / "map.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return read_file(path, box, walls)


def fault_of(path: Path) -> RawDataError:
    with pytest.raises(RawDataError) as caught:
        read_file(path)
    error = caught.value
    assert error.path == path
    assert error.scene == "flights/a"
    assert error.message
    assert error.remedy
    return error


def fault_of_value(folder: Path, value: Any) -> RawDataError:
    path = folder / "map.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return fault_of(path)


def names_of(findings: Findings) -> list[str]:
    return [f.name for f in findings.items]
