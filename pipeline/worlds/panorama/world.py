"""The world of panoramas."""

from __future__ import annotations

from typing import Any, Final

from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig, PanoramaScene
from pipeline.worlds.panorama.fixes import CHECK, FIXES, drafts, fix_panorama
from pipeline.worlds.panorama.observe.panorama import observe_panorama
from pipeline.worlds.panorama.pictures import BULKY, UNITS, rendered, sight, top_down_map
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from pipeline.worlds.world import Looker, World


def _look(
    before: Any, observed: Any, geometry: Any, config: Any, picture_at: Any, asks: Any, most: int
) -> PanoramaScene:
    from pipeline.worlds.panorama.look import look_at_panorama  # pictures and prompts, which few builds need

    return look_at_panorama(observed, geometry, asks, most)


def _calls(scene: PanoramaScene, most: int) -> int:
    from pipeline.worlds.panorama.look import calls

    return calls(scene, most)


def _is_whole(scene: PanoramaScene) -> bool:
    from pipeline.worlds.panorama.look import is_whole

    return is_whole(scene)


PANORAMA: Final = World(
    name="panorama",
    units=UNITS,
    facts=Panorama,
    readers=(Panoramas(),),
    config=PanoramaConfig,
    observe=observe_panorama,
    visibility=sight,
    fixes=FIXES,
    fix=fix_panorama,
    drafts=drafts,
    quick=(Panoramas.name,),
    bulky=BULKY,
    top_down_map=top_down_map,
    pictures=rendered,
    scene_check=CHECK,
    looker=Looker("pipeline.worlds.panorama.look", ("look_view", "look_scene"), _look, _calls, _is_whole, filmed=False),
)
