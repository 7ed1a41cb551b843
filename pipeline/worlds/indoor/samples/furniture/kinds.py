"""All kinds of furniture by label, as the datasets spell them.

ScanNet's raw categories, ScanNet++'s labels, the 17 classes of ARKitScenes.
"""

from __future__ import annotations

from typing import Final

from pipeline.worlds.indoor.samples.furniture.appliances import APPLIANCES
from pipeline.worlds.indoor.samples.furniture.part import Kind
from pipeline.worlds.indoor.samples.furniture.resting import RESTING
from pipeline.worlds.indoor.samples.furniture.small import SMALL
from pipeline.worlds.indoor.samples.furniture.storing import STORING

KINDS: Final[dict[str, Kind]] = {**RESTING, **STORING, **APPLIANCES, **SMALL}
