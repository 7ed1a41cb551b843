"""Readers of raw data, by name. One file per format; all give `Scene` in the shared schema."""

from __future__ import annotations

from typing import Final

from pipeline.readers.base import Listing, Reader, SceneRef
from pipeline.readers.vsi_meta import VsiMeta

READERS: Final[dict[str, Reader]] = {reader.name: reader for reader in (VsiMeta(),)}

__all__ = ["READERS", "Listing", "Reader", "SceneRef"]
