"""The `Reader` protocol: a reader's interface to the build, and the files it expects in a scene's folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
class NearbyPanorama:
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
    twins: tuple[NearbyPanorama, ...] = ()


NO_SCENE: Final = "the scene is left out"
NO_SIGHT: Final = "no visibility: no appearance order, unseen objects are asked about and counted"
NO_VIDEO: Final = "no standardised video"
NO_DEPTH: Final = "visibility is not checked against measured depth"


@dataclass(frozen=True)
class ExpectedFile:
    """One part of a scene, as patterns below its folder, any of which may match.

    Attributes:
        part: its name for users.
        patterns: relative to the scene's folder; "{}" stands for the scene's name.
        without: what a missing part costs, for users.
        needed: whether the scene is left out without it.
        recorded: endings, in lower case, one of which a scene must have if it shares its folder with other scenes.
        present: whether a scene's folder has the part, if only the content of a file shows it; None: see ``patterns``.
        read_in: quantities that cannot be read without the part (`TaskBase.reads`): no such task asks about the scene.
        settled: whether ``read_in`` applies only under rules that heed doubts (`refuse_doubts`).
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
    """Reads one raw format. The defaults are those of a format without options, geometry and video."""

    name: str
    version: int

    @property
    def extra(self) -> str | None:
        """The extra of pyproject.toml that the reader needs; None: none."""
        return None

    @property
    def video_fps(self) -> int:
        """Frames per second of the standardised video of its scenes."""
        return 30

    @property
    def expected_files(self) -> tuple[ExpectedFile, ...]:
        """The files that it looks for in a scene's folder, and what each one missing costs."""
        return ()

    def settings(self) -> dict[str, str]:
        """Inputs of a result other than raw data and code: options, digests of category tables."""
        return {}

    def scenes(self, root: Path) -> Listing:
        """All scenes below ``root``. Raises ConfigError if the folder is missing or holds nothing of this format."""

    def listed_from(self, root: Path) -> Sequence[Path] | None:
        """The files that alone decide what `scenes` gives, where it has to read them whole; None: it looks at more."""
        return None

    def read(self, files: SceneFiles) -> AnyScene:
        """One scene, from its files. Make values that `geometry` or `footage` need too with `SceneFiles.once`.

        Raises RawDataError, which names file, scene, finding and remedy, if it cannot be used.
        """

    def geometry(self, files: SceneFiles, scene: AnyScene) -> SceneGeometry | FlightGeometry | PanoramaGeometry | None:
        """The raw data from which stage `observe` works, or None if the format has none.

        For a scan, the labelled mesh and the camera's frames; for a flight, its track and the buildings around it; for
        a panorama, its pixels, its depth and the maps of the place.
        """
        return None

    def footage(self, files: SceneFiles, scene: AnyScene) -> Footage | None:
        """The scene's video, before rotation by ``scene.video.turn_deg``, or None if the format has none."""
        return None
