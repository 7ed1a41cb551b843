"""The world of indoor scans."""

from collections.abc import Iterator
from typing import Any, Final

from pipeline.worlds.indoor.facts import Scan, examined_frames, known_in, sight
from pipeline.worlds.indoor.fixes import FIXES, drafts, fix_scan
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.indoor.quality_checks import examine
from pipeline.worlds.indoor.readers.arkitscenes import ARKitScenes
from pipeline.worlds.indoor.readers.revsi_meta import RevsiMeta
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.scene_folders import SceneFolders
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from pipeline.worlds.indoor.top_down_map import spatial, top_down_map
from pipeline.worlds.world import CategoryShown, DescribeSteps, SceneDescriber, World


def _categories(*terms: Any) -> Iterator[CategoryShown]:
    from pipeline.worlds.indoor.category_pictures import shown_categories  # pictures, which few commands need

    return shown_categories(*terms)


def _looking() -> DescribeSteps[Scan]:
    from pipeline.worlds.indoor.look import LOOKING

    return LOOKING


INDOOR: Final = World(
    name="indoor",
    units="scans",
    facts=Scan,
    readers=(
        VsiMeta(),
        RevsiMeta(),
        ScanNet(),
        ScanNetPP(),
        ARKitScenes(),
        SceneFolders(),
    ),
    config=ObserveConfig,
    observe=observe,
    known=known_in,
    visibility=sight,
    read_written=read_written_routes,
    examine=examine,
    fixes=FIXES,
    fix=fix_scan,
    quick=(VsiMeta.name, RevsiMeta.name),
    bulky=(
        "objects",
        "routes",
        "room.floor",
        "room.seen_floor",
        "observation.camera_path",
        "observation.cameras",
        "observation.sweep",
    ),
    drafts=drafts,
    top_down_map=top_down_map,
    spatial=spatial,
    looker=SceneDescriber("pipeline.worlds.indoor.look", ("look_category",), _looking),
    examined_frames=examined_frames,
    categories=_categories,
)
