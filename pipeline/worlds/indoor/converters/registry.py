"""The converters into neutral scene folders, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.rgbd import SevenScenes, Tum

_ALL: Final[tuple[Converter, ...]] = (
    SevenScenes(),
    Tum(),
)
CONVERTERS: Final[dict[str, Converter]] = {converter.name: converter for converter in _ALL}


def recognised(source: Path) -> list[str]:
    """The converters that find a scene of theirs in a folder or file."""
    return [name for name, converter in CONVERTERS.items() if converter.places(source)]
