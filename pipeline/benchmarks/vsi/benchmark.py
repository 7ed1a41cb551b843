"""VSI-Bench."""

from typing import Final

from pipeline.benchmarks.benchmark import Audit, Benchmark, FromMetadata, RouteWriting
from pipeline.benchmarks.vsi.audit import contradictions, coverage, examine
from pipeline.benchmarks.vsi.card import ASKING, CARD, COLUMNS, REVSI_COLUMNS, scene_records
from pipeline.benchmarks.vsi.drawings import DRAWINGS
from pipeline.benchmarks.vsi.rules import PROFILES, Rules, ScanView
from pipeline.benchmarks.vsi.score import DIRECTION, FAMILIES, HARNESS, LEVELS, SCORE
from pipeline.benchmarks.vsi.tasks.measures import RoomSize
from pipeline.benchmarks.vsi.tasks.registry import ASKED, TASKS
from pipeline.benchmarks.vsi.tasks.route import RoutePlanning, route_names
from pipeline.core.video_spec import VideoSpec
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.indoor.world import INDOOR

_METADATA: Final = FromMetadata(
    readers=("revsi_meta", "vsi_meta"),
    published_files=("test.jsonl", "test-00000-of-00001.parquet", "questions.jsonl"),
    cover=coverage,
    doubts=contradictions,
)
VSI: Final = Benchmark[ScanView, Rules](
    name="vsi",
    title="VSI-Bench",
    worlds=(INDOOR,),
    tasks=tuple(TASKS.values()),
    profiles=PROFILES,
    view=IndoorView,
    columns=COLUMNS,
    card=CARD,
    video=VideoSpec(size=(640, 480)),  # appendix B.1
    sampled=True,
    drawings=DRAWINGS,
    harness=HARNESS,
    score=SCORE,
    asking=ASKING,
    audit=Audit(examine, _METADATA),
    released="official",
    profile_caps=ASKED,
    families={task: family for family, tasks in {**FAMILIES, DIRECTION: LEVELS}.items() for task in tasks}
    | dict.fromkeys(FAMILIES[DIRECTION], DIRECTION),
    further_columns={"revsi": REVSI_COLUMNS},
    scene_records=scene_records,
    routes=RouteWriting(route_names, RoutePlanning().refusals),
    # Where the camera went helps to find one's way in the video; any box would tell sizes, counts, distances or
    # directions. The map has no scale before the answer, yet the size of a room is told by its outline.
    map_before={name: ("ground", "path") for name, task in TASKS.items() if not isinstance(task, RoomSize)},
)
