"""The world of panoramas."""

from typing import Final

from pipeline.worlds.panorama.facts import Panorama, PanoramaConfig
from pipeline.worlds.panorama.fixes import CHECK, FIXES, drafts, fix_panorama
from pipeline.worlds.panorama.observe.panorama import observe_panorama
from pipeline.worlds.panorama.pictures import known_in, rendered, sight, top_down_map
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from pipeline.worlds.world import DescribeSteps, SceneDescriber, World


def _looking() -> DescribeSteps[Panorama]:
    from pipeline.worlds.panorama.look import LOOKING

    return LOOKING


PANORAMA: Final = World(
    name="panorama",
    units="panoramas",
    facts=Panorama,
    readers=(Panoramas(),),
    config=PanoramaConfig,
    observe=observe_panorama,
    known=known_in,
    visibility=sight,
    fixes=FIXES,
    fix=fix_panorama,
    drafts=drafts,
    quick=(Panoramas.name,),
    bulky=("objects",),
    top_down_map=top_down_map,
    pictures=rendered,
    scene_check=CHECK,
    looker=SceneDescriber("pipeline.worlds.panorama.look", ("look_view", "look_scene"), _looking, filmed=False),
)
