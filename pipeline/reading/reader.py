"""What a reader of raw data offers to the build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.core.errors import RawDataError
from pipeline.core.schema import AnyScene
from pipeline.geometry.scans import SceneGeometry
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.footage import Footage
from pipeline.reading.wants import Want

if TYPE_CHECKING:
    from pipeline.reading.files import SceneFiles
    from pipeline.reading.panorama_geometry import PanoramaGeometry


@dataclass(frozen=True)
class SceneRef:
    """One scene in the raw data, cheap to make and to send to a worker.

    Attributes:
        id: "dataset/name".
        files: the files that hold it, relative to the root; the first names the scene in messages.
        stamp: changes whenever the scene's raw data may have changed: a digest of its bytes, or where those are too
            many to read each time, of names, sizes and modification times.
        span: first and one-past-last byte, for scenes that share a file.
        beside: ids and files, relative to the root, of other scenes with which it is compared; ``stamp`` changes with
            them.
    """

    id: str
    files: tuple[str, ...]
    stamp: str
    span: tuple[int, int] | None = None
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def dataset(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Listing:
    """The scenes of a root, sorted by id, and what could not even be listed."""

    scenes: tuple[SceneRef, ...]
    broken: tuple[RawDataError, ...]


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
    def wants(self) -> tuple[Want, ...]:
        """The files that it looks for in a scene's folder, and what each one missing costs."""
        ...

    def settings(self) -> dict[str, str]:
        """What a result depends on besides the raw data and the code: options, digests of tables of categories."""
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
        """What a scene that `read` gave is observed by, or None where the format has nothing of the kind.

        Of a scan the labelled mesh and the camera's frames; of a flight its track and the buildings around it; of a
        panorama its pixels, its depth and the maps of the place.
        """
        return None

    def footage(self, files: SceneFiles, scene: AnyScene) -> Footage | None:
        """The scene's video, to be turned by ``scene.video.turn_deg``, or None where the format has none."""
        return None
