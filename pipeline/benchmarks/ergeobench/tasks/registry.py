"""The tasks of ERGeoBench, in the order of tables 2 and 3."""

from typing import Final

from pipeline.benchmarks.ergeobench.rules import GEO, SLOTS
from pipeline.benchmarks.ergeobench.tasks.common_sense import DualView, DualViewOpen, NeedCrossView, SingleView
from pipeline.benchmarks.ergeobench.tasks.geo import GeoLocalization
from pipeline.benchmarks.ergeobench.tasks.landmarks import NearestLandmark, StreetSide
from pipeline.benchmarks.ergeobench.tasks.perception import Perception
from pipeline.benchmarks.ergeobench.tasks.spatial import (
    CrossView,
    DepthTask,
    Distance,
    FrontBack,
    LeftRight,
    Positioning,
    YawEstimation,
)
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.questions.cases import CaseTask

ERGEO_TASKS: Final[dict[str, CaseTask[ErgeoView]]] = {
    task.name: task
    for task in (
        *(GeoLocalization(name, shows) for name, shows in zip(GEO, ("view", "panorama", "embodied"), strict=True)),
        *map(Perception, SLOTS),
        YawEstimation(),
        Positioning(),
        DepthTask(),
        Distance(),
        LeftRight(),
        FrontBack(),
        CrossView(),
        SingleView(),
        DualView(),
        DualViewOpen(),
        NeedCrossView(),
        NearestLandmark(),
        StreetSide(),
    )
}
