"""Scans that the tests of readers share: tiny ones, and the samples with their planted truth."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.geometry.scans import SceneGeometry
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.reader import Reader
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.registry import READERS
from tests.worlds.indoor.readers.tiny_scans import WRITERS


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sound tiny scan per layout; not to be changed."""
    root = tmp_path_factory.mktemp("tiny")
    for layout, write in WRITERS.items():
        write(root / layout)
    return root


@pytest.fixture
def copied(tiny: Path, tmp_path: Path) -> Callable[[str], Path]:
    """layout -> root of a copy of its tiny scan, to be spoilt."""

    def copy(layout: str) -> Path:
        return Path(shutil.copytree(tiny / layout, tmp_path / layout))

    return copy


def only_scene(reader: Reader, root: Path) -> SceneRef:
    """The one scene below a root."""
    listing = reader.scenes(root)
    assert listing.broken == ()
    (ref,) = listing.scenes
    return ref


def geometry_of(root: Path, scene: IndoorScene, reader: Reader | None = None) -> SceneGeometry:
    """The geometry of the one scene below a root; without a reader of its own by the one that read the scene."""
    reader = reader or READERS[scene.source.reader]
    geometry = reader.geometry(SceneFiles(root, only_scene(reader, root)), scene)
    assert geometry is not None
    return geometry


def read_only(layout: str, root: Path) -> IndoorScene:
    """Reads the one scene below a root."""
    return READERS[layout].read(SceneFiles(root, only_scene(READERS[layout], root)))


def fault_of(layout: str, root: Path) -> RawDataError:
    """The error that the one scene below a root costs."""
    with pytest.raises(RawDataError) as caught:
        read_only(layout, root)
    return caught.value
