"""The `Reader` protocol: a reader's interface to the build, and the files it expects in a scene's folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import AnyScene, Finding, Origin
from pipeline.geometry.scans import SceneGeometry
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.footage import Footage

if TYPE_CHECKING:  # with osmium: no code of readers that read no map
    from pipeline.reading.maps.gazetteer import Gazetteer
    from pipeline.reading.maps.surroundings import MapSurroundings


def folder_of(root: Path) -> Path:
    """The folder that files of a root's scenes are relative to: the root, or that of a root which is one film."""
    return root.parent if root.is_file() else root


Color = Callable[[], npt.NDArray[np.uint8] | None]


@dataclass(frozen=True)
class Twin:
    """Another panorama that was taken nearby, or whose file is as long; it comes before this one by its id.

    Attributes:
        id: of its scene.
        read: its facts and what it is observed by; None where it cannot be read.
    """

    id: str
    read: Callable[[], tuple[AnyScene, PanoramaGeometry] | None]


@dataclass(frozen=True)
class PanoramaGeometry:
    """The raw data that a panorama is observed by.

    Attributes:
        color: (h, w, 3) uint8 RGB; None where it cannot be decoded.
        depth_m: (h, w) metres from the camera's centre, NaN where not known; None where there is none.
        gazetteer: roads and areas of the maps, and what is wrong with these; None where there are no maps.
        surroundings: what the maps have around a place; None where there are no maps.
        twins: what it may be a near-duplicate of.
    """

    color: Color
    depth_m: Callable[[], FloatArray | None]
    gazetteer: Callable[[], tuple[Gazetteer, tuple[Finding, ...]] | None]
    surroundings: Callable[[Origin], tuple[MapSurroundings, tuple[Finding, ...]] | None] = lambda at: None
    twins: tuple[Twin, ...] = ()


NO_SCENE: Final = "the scene is left out"
NO_SIGHT: Final = "no visibility: no appearance order, unseen objects are asked about and counted"
NO_VIDEO: Final = "no standardised video"
NO_DEPTH: Final = "visibility is not checked against measured depth"


@dataclass(frozen=True)
class ExpectedFile:
    """One part of a scene: any of some patterns below its folder ("{}" is the scene's name), and what it is for.

    Attributes:
        recorded: endings, in lower case, of which a scene has one where it is some files of a folder that it shares.
        present: whether a scene's folder has it, where that is said within a file; else the patterns tell.
        read_in: what nobody can read without it (`TaskBase.reads`), so that no such task asks about the scene.
        settled: whether that holds only where rules heed doubts (`refuse_doubts`).
    """

    part: str
    patterns: tuple[str, ...]
    without: str
    needed: bool = False
    recorded: tuple[str, ...] = ()
    present: Callable[[Path], bool] | None = None
    read_in: tuple[str, ...] = ()
    settled: bool = False


class Reader(Protocol):
    """Reads one raw format. What a subclass does not define is as for a format without options, geometry and video."""

    name: str
    version: int

    @property
    def extra(self) -> str | None:
        """The extra of pyproject.toml that it needs; None: every installation reads its format."""
        return None

    @property
    def video_fps(self) -> int:
        """Frames per second of the standardised video of its scenes."""
        ...

    @property
    def expected_files(self) -> tuple[ExpectedFile, ...]:
        """The files that it looks for in a scene's folder, and what each one missing costs."""
        ...

    def settings(self) -> dict[str, str]:
        """The inputs of a result besides raw data and code: options, digests of tables of categories."""
        return {}

    def scenes(self, root: Path) -> Listing:
        """All scenes below ``root``. Raises ConfigError if the folder is missing or holds nothing of this format."""
        ...

    def read(self, files: SceneFiles) -> AnyScene:
        """One scene, from its files. What `geometry` or `footage` need too is to be made with `SceneFiles.once`.

        Raises RawDataError, which names file, scene, finding and remedy, if it cannot be used.
        """
        ...

    def geometry(self, files: SceneFiles, scene: AnyScene) -> SceneGeometry | FlightGeometry | PanoramaGeometry | None:
        """The raw data that a scene of `read` is observed by, or None where the format has nothing of the kind.

        Of a scan the labelled mesh and the camera's frames; of a flight its track and the buildings around it; of a
        panorama its pixels, its depth and the maps of the place.
        """
        return None

    def footage(self, files: SceneFiles, scene: AnyScene) -> Footage | None:
        """The scene's video, to be turned by ``scene.video.turn_deg``, or None where the format has none."""
        return None
