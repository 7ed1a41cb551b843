"""Readers of raw data, by name. One file per format; all give `Scene` in the shared schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from pipeline.core.errors import ConfigError
from pipeline.reading.reader import Reader
from pipeline.worlds.flight.readers.episodes import Episodes
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.indoor.readers.arkitscenes import ARKitScenes
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta

READERS: Final[dict[str, Reader]] = {
    reader.name: reader for reader in (VsiMeta(), ScanNet(), ScanNetPP(), ARKitScenes(), Flights(), Episodes())
}


def configured(name: str, options: Mapping[str, str]) -> Reader:
    """A reader with options, for example ``configured("scannet", {"split": "val"})``. Raises ConfigError."""
    if name not in READERS:
        raise ConfigError(f"unknown reader {name!r}; there are {', '.join(READERS)}")
    reader: Any = READERS[name]
    known = [field.name for field in fields(reader)] if is_dataclass(reader) else []
    unknown = sorted(set(options) - set(known))
    if unknown:
        has = f"has {', '.join(known)}" if known else "has no options"
        raise ConfigError(f"configuration readers.{name}: unknown option {', '.join(unknown)}; the reader {has}")
    try:
        return replace(reader, **options) if options else reader
    except ValueError as error:
        raise ConfigError(f"configuration readers.{name}: {error}") from error
