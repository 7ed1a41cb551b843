"""The converters into neutral scene folders, by name."""

from pathlib import Path
from typing import Final

from pipeline.worlds.indoor.converters.aria_digital_twin import AriaDigitalTwin
from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.hypersim import Hypersim
from pipeline.worlds.indoor.converters.phones import Polycam, Record3D, StrayScanner
from pipeline.worlds.indoor.converters.photographs import Colmap, Nerfstudio
from pipeline.worlds.indoor.converters.procthor import ProcThor
from pipeline.worlds.indoor.converters.rgbd import ExportedFrames, SevenScenes, Tum
from pipeline.worlds.indoor.converters.roomplan import AppleRoomPlan
from pipeline.worlds.indoor.converters.scanned_houses import EmbodiedScan, Matterport, Replica, ThreeRScan

_ALL: Final[tuple[Converter, ...]] = (
    SevenScenes(),
    Tum(),
    ExportedFrames(),
    Nerfstudio(),
    Colmap(),
    StrayScanner(),
    Record3D(),
    Polycam(),
    AppleRoomPlan(),
    EmbodiedScan(),
    ThreeRScan(),
    Replica(),
    Matterport(),
    Hypersim(),
    AriaDigitalTwin(),
    ProcThor(),
)
CONVERTERS: Final[dict[str, Converter]] = {converter.name: converter for converter in _ALL}


def recognised(source: Path) -> list[str]:
    """The converters that find a scene of theirs in a folder or file."""
    return [name for name, converter in CONVERTERS.items() if converter.places(source)]
