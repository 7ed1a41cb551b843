"""Writes all sample scenes in the three raw layouts, and the truth that was planted in them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipeline.core.files import write_atomically
from pipeline.samples.indoor import arkitscenes, scannet, scannetpp
from pipeline.samples.indoor.rooms import PLANS, RoomPlan
from pipeline.samples.indoor.truth import PlantedTruth, SceneTruth

_FORMATS = {"scannet": scannet, "scannetpp": scannetpp, "arkitscenes": arkitscenes}
_THREADS = 2  # scenes at a time; rays, video and images are cast and packed outside of Python's lock


def write_samples(folder: Path, plans: tuple[RoomPlan, ...] = PLANS) -> PlantedTruth:
    """Writes ``<folder>/scannet``, ``scannetpp``, ``arkitscenes`` and ``truth.json``; the same bytes every time.

    ``truth.json`` comes last: where it is, the samples are whole. Files of an earlier writing are replaced.
    """

    def write(plan: RoomPlan) -> SceneTruth:
        return _FORMATS[plan.dataset].write_scan(folder / plan.dataset, plan)

    with ThreadPoolExecutor(_THREADS) as pool:
        scenes = list(pool.map(write, plans))
    for dataset, layout in _FORMATS.items():
        layout.write_tables(folder / dataset, tuple(plan for plan in plans if plan.dataset == dataset))
    truth = PlantedTruth(scenes={scene.id: scene for scene in scenes})
    write_atomically(folder / "truth.json", truth.model_dump_json().encode())
    return truth
