"""The world of indoor scans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.worlds.indoor.facts import IndoorScene, Scan
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.indoor.readers.arkitscenes import ARKitScenes
from pipeline.worlds.indoor.readers.scannet import ScanNet
from pipeline.worlds.indoor.readers.scannetpp import ScanNetPP
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from pipeline.worlds.indoor.samples.metadata import write_sample_metadata
from pipeline.worlds.indoor.samples.write import write_samples
from pipeline.worlds.world import Samples, World


def _write_samples(folder: Path) -> None:
    write_samples(folder)
    write_sample_metadata(folder / VsiMeta.name)


def _sight(scenes: Sequence[IndoorScene]) -> list[str]:
    examined = sum(scene.facts.observation is not None for scene in scenes)
    return [
        f"- The video of {examined} of {len(scenes)} scans was examined for what it shows; in the others answers",
        "  come from annotated boxes alone, whether the video shows them or not.",
    ]


INDOOR: Final = World(
    name="indoor",
    units="scans",
    facts=Scan,
    readers=(VsiMeta(), ScanNet(), ScanNetPP(), ARKitScenes()),
    config=ObserveConfig,
    observe=observe,
    samples=Samples(_write_samples, ("scannet", "scannetpp", "arkitscenes")),
    sight=_sight,
    read_written=read_written_routes,
)
