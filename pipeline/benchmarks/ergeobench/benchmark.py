"""ERGeoBench."""

from typing import Final

from pipeline.benchmarks.benchmark import Benchmark, SceneViews
from pipeline.benchmarks.ergeobench import images
from pipeline.benchmarks.ergeobench.agent import ASKING, source_lines
from pipeline.benchmarks.ergeobench.author import GeoAuthor, declared
from pipeline.benchmarks.ergeobench.columns import CARD, COLUMNS
from pipeline.benchmarks.ergeobench.rules import PROFILES, ErgeoRules
from pipeline.benchmarks.ergeobench.score import HARNESS, SCORE
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView, marks_of
from pipeline.worlds.panorama.world import PANORAMA

ERGEOBENCH: Final = Benchmark[ErgeoView, ErgeoRules](
    name="ergeobench",
    title="ERGeoBench",
    worlds=(PANORAMA,),
    tasks=tuple(ERGEO_TASKS.values()),
    profiles=PROFILES,
    view=ErgeoView,
    columns=COLUMNS,
    card=CARD,
    pictures=source_lines,
    harness=HARNESS,
    views=SceneViews(images.__name__, images.pictures_of, declared, marks_of),
    author=GeoAuthor(),
    score=SCORE,
    asking=ASKING,
)
