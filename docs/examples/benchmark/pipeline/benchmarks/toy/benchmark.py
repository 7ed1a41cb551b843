"""The toy benchmark."""

from typing import Final

from pipeline.benchmarks.benchmark import Benchmark, Card
from pipeline.benchmarks.toy.columns import COLUMNS
from pipeline.benchmarks.toy.rules import PROFILES, RoomView, Rules
from pipeline.benchmarks.toy.tasks.higher import Higher
from pipeline.benchmarks.toy.tasks.most_common import MostCommon
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.indoor.world import INDOOR

TOY: Final = Benchmark[RoomView, Rules](
    name="toy",
    title="Toy",
    worlds=(INDOOR,),
    tasks=(Higher(), MostCommon()),
    profiles=PROFILES,
    view=IndoorView,
    columns=COLUMNS,
    card=Card(
        module=__name__,
        about="Two types of questions about indoor scans, as an example.",
        media="`scene_name` names them",
    ),
)
