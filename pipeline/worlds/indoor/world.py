"""The world of indoor scans."""

from __future__ import annotations

from typing import Final

from pipeline.worlds.indoor.facts import Scan
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.indoor.readers.arkitscenes import ARKitScenes
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta
from pipeline.worlds.indoor.samples.write import write_samples
from pipeline.worlds.world import Samples, World

INDOOR: Final = World(
    name="indoor",
    units="scans",
    facts=Scan,
    readers=(VsiMeta(), ScanNet(), ScanNetPP(), ARKitScenes()),
    config=ObserveConfig,
    observe=observe,
    samples=Samples(write_samples, ("scannet", "scannetpp", "arkitscenes")),
)
