"""UrbanVideo-Bench."""

from typing import Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.urbanvideo.audit import AUDIT
from pipeline.benchmarks.urbanvideo.authoring.author import UrbanAuthor
from pipeline.benchmarks.urbanvideo.columns import ASKING, CARD, COLUMNS
from pipeline.benchmarks.urbanvideo.drawings import DRAWINGS
from pipeline.benchmarks.urbanvideo.legends import LEGENDS, map_pictures
from pipeline.benchmarks.urbanvideo.rules import PROFILES, UrbanRules, UrbanView
from pipeline.benchmarks.urbanvideo.score import HARNESS, SCORE
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.video_spec import VideoSpec
from pipeline.worlds.flight.view import FlightView
from pipeline.worlds.flight.world import FLIGHT

URBANVIDEO: Final = Benchmark[UrbanView, UrbanRules](
    name="urbanvideo",
    title="UrbanVideo-Bench",
    worlds=(FLIGHT,),
    tasks=tuple(URBAN_TASKS.values()),
    profiles=PROFILES,
    view=FlightView,
    columns=COLUMNS,
    card=CARD,
    video=VideoSpec(size=(1280, 720), bars=False, enlarged=False, clips=True),
    pictures=map_pictures,
    scene_pictures=LEGENDS,
    drawings=DRAWINGS,
    harness=HARNESS,
    author=UrbanAuthor(),
    audit=AUDIT,
    score=SCORE,
    asking=ASKING,
    # 200 questions in the shares of the released file.
    tiny={
        name: max(1, round(200 * task.share / sum(t.share for t in URBAN_TASKS.values())))
        for name, task in URBAN_TASKS.items()
    },
    # The track answers nearly every question, and where landmarks lie those about what is near or next.
    map_before=dict.fromkeys(("Trajectory Captioning", "Duration", "Action Generation"), ("things",)),
)
