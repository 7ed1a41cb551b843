"""The procedural samples of each world, by its name; nothing but the commands and the tests looks here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.core.errors import require_extra


@dataclass(frozen=True)
class Samples:
    """Procedural raw data of a world.

    Attributes:
        write: writes them below a folder, one folder per reader, the same bytes every time.
        readers: the readers that they are written for, each the name of its folder.
        module: where they are made: they are written again where its code has changed.
    """

    write: Callable[[Path], object]
    readers: tuple[str, ...]
    module: str


# Renderers are imported when they are used: Open3D and PyAV take seconds.
def _write_indoor(folder: Path) -> None:
    require_extra("scans", "writing sample scans")
    from pipeline.samples.indoor.metadata import write_sample_metadata
    from pipeline.samples.indoor.write import write_samples

    write_samples(folder)
    write_sample_metadata(folder / "vsi_meta")


def _write_flights(folder: Path) -> None:
    require_extra("scans", "writing sample flights")
    from pipeline.samples.flight.write import write_flights

    write_flights(folder / "flights")


def _write_cities(folder: Path) -> None:
    from pipeline.samples.city.write import write_cities

    write_cities(folder / "city")


def _write_panoramas(folder: Path) -> None:
    from pipeline.samples.panorama.write import write_panoramas

    write_panoramas(folder / "panoramas")


def _write_drives(folder: Path) -> None:
    from pipeline.samples.drive.write import write_drives

    write_drives(folder)


def _write_arms(folder: Path) -> None:
    from pipeline.samples.arm.write import write_samples

    write_samples(folder / "lerobot")


SAMPLES: Final[dict[str, Samples]] = {
    "indoor": Samples(_write_indoor, ("scannet", "scannetpp", "arkitscenes"), "pipeline.samples.indoor.write"),
    "flight": Samples(_write_flights, ("flights",), "pipeline.samples.flight.write"),
    "city": Samples(_write_cities, ("city",), "pipeline.samples.city.write"),
    "panorama": Samples(_write_panoramas, ("panoramas",), "pipeline.samples.panorama.write"),
    "drive": Samples(_write_drives, ("argoverse2", "carla", "kitti_tracking"), "pipeline.samples.drive.write"),
    "arm": Samples(_write_arms, ("lerobot",), "pipeline.samples.arm.write"),
}
