"""The world of indoor scans."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pipeline.core.errors import require_extra
from pipeline.worlds.indoor.facts import BULKY, UNITS, Scan, sight
from pipeline.worlds.indoor.fixes import FIXES, drafts, fix_scan
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.indoor.quality_checks import examine
from pipeline.worlds.indoor.readers.arkitscenes import ARKitScenes
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from pipeline.worlds.indoor.top_down_map import sketch, spatial
from pipeline.worlds.world import Samples, World


def _write_samples(folder: Path) -> None:
    require_extra("scans", "writing sample scans")  # they are drawn with Open3D
    from pipeline.worlds.indoor.samples.metadata import write_sample_metadata
    from pipeline.worlds.indoor.samples.write import write_samples  # with Open3D: seconds

    write_samples(folder)
    write_sample_metadata(folder / VsiMeta.name)


INDOOR: Final = World(
    name="indoor",
    units=UNITS,
    facts=Scan,
    readers=(
        VsiMeta(),
        ScanNet(),
        ScanNetPP(),
        ARKitScenes(),
    ),
    config=ObserveConfig,
    observe=observe,
    samples=Samples(_write_samples, ("scannet", "scannetpp", "arkitscenes")),
    visibility=sight,
    read_written=read_written_routes,
    examine=examine,
    fixes=FIXES,
    fix=fix_scan,
    quick=(VsiMeta.name,),
    bulky=BULKY,
    drafts=drafts,
    sketch=sketch,
    spatial=spatial,
)
