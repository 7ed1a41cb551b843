"""The world of panoramas."""

from __future__ import annotations

from typing import Final

from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig
from pipeline.worlds.panorama.observe.panorama import observe_panorama
from pipeline.worlds.panorama.pictures import BULKY, UNITS, rendered, sight, top_down_map
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from pipeline.worlds.world import World

PANORAMA: Final = World(
    name="panorama",
    units=UNITS,
    facts=Panorama,
    readers=(Panoramas(),),
    config=PanoramaConfig,
    observe=observe_panorama,
    visibility=sight,
    quick=(Panoramas.name,),
    bulky=BULKY,
    top_down_map=top_down_map,
    pictures=rendered,
)
