"""A small flight and what a model may write about it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.urbanvideo.authoring.author import UrbanAuthor
from pipeline.benchmarks.urbanvideo.authoring.observed import ObservedFacts
from pipeline.benchmarks.urbanvideo.authoring.writing import Extract
from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanRules, UrbanView
from pipeline.core.schema import Source, Video
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.model_authoring import Ask
from pipeline.worlds.flight.facts import Flight, FlightMotion, FlightScene, Landmark, Segment, Sighting
from pipeline.worlds.flight.view import FlightView

# 10 s up, 20 s east at 5 m/s, a turn to the left (the nose now to the north), 10 s north while sinking.
SEGMENTS = (
    Segment(start_s=0, end_s=10, actions=("ascend",), distance_m=0, climb_m=20, turn_deg=0, gimbal_deg=None, margin=4),
    Segment(
        start_s=10, end_s=30, actions=("fly forward",), distance_m=100, climb_m=0, turn_deg=0, gimbal_deg=None, margin=9
    ),
    Segment(
        start_s=30, end_s=34, actions=("turn left",), distance_m=0, climb_m=0, turn_deg=-90, gimbal_deg=None, margin=3
    ),
    Segment(
        start_s=34,
        end_s=44,
        actions=("fly forward", "descend"),
        distance_m=50,
        climb_m=-10,
        turn_deg=0,
        gimbal_deg=None,
        margin=2,
    ),
)
CORNERS = ([0, 10, 30, 34, 44], [0, 0, 100, 100, 100], [0, 0, 0, 0, 50], [0, 20, 20, 20, 10])
# Beyond the end of the first leg; to the left of it; far behind, never seen.
LANDMARKS = (
    Landmark(name="Blue Tower", kind="tower", label="Blue Tower", center=(200.0, 0.0), radius_m=10),
    Landmark(name="West Gate Mall", kind="mall", label="West Gate Mall", center=(50.0, 60.0), radius_m=20),
    Landmark(name="Old Mill", kind=None, label="Old Mill", center=(-400.0, 0.0), radius_m=5),
)
VIEWS = tuple(Sighting(landmark=i, intervals=v, possible=v) for i, v in enumerate((((0, 30),), ((0, 8),), ())))


def motion(**changes: Any) -> FlightMotion:
    t_s = np.arange(0, 44.1, 0.5)
    east, north, up = (np.interp(t_s, CORNERS[0], c) for c in CORNERS[1:])
    heading = np.interp(t_s, [0, 30, 34], [90, 90, 0])
    values: dict[str, Any] = {
        "rate_hz": 2.0,
        "t_s": tuple(t_s.tolist()),
        "enu_m": tuple(zip(east.tolist(), north.tolist(), up.tolist(), strict=True)),
        "height_m": tuple(up.tolist()),
        "heading_deg": tuple(heading.tolist()),
        "course_deg": (None,) * len(t_s),
        "pitch_deg": (None,) * len(t_s),
        "part": (0,) * len(t_s),
        "segments": SEGMENTS,
        "views": VIEWS,
    }
    return FlightMotion(**(values | changes))


def flight_scene(name: str = "f1", **changes: Any) -> FlightScene:
    flight: dict[str, Any] = {
        "log": "airsim",
        "origin": None,
        "goal": "Blue Tower",
        "landmarks": LANDMARKS,
        "motion": motion(),
    }
    source = Source(reader="made", reader_version=1, files=("log.csv",), sha256="0" * 64)
    return FlightScene(
        id=f"made/{name}",
        dataset="made",
        name=name,
        source=source,
        video=Video(path="video.mp4"),
        facts=Flight(**(flight | changes)),
    )


def view(name: str = "f1", **changes: Any) -> UrbanView:
    return FlightView(flight_scene(name, **changes), UrbanRules())


def facts(**changes: Any) -> ObservedFacts:
    return ObservedFacts(view(**changes))


@dataclass(frozen=True)
class MadeTask(UrbanTask):
    """An authored task with a template that is there already."""

    name: str = "Causal"
    template: str = "vsi/questions/object_counting"
    question_form: Literal["what", "why", "if"] = "why"
    model_assisted: bool = True
    definition: str = "Why the drone made a movement."
    example: str = "Why did the drone climb? Right: to pass over it. Wrong: to land."


def author(
    view: UrbanView,
    candidates: pa.Table,
    ask: Ask,
    tasks: Sequence[UrbanTask],
    shown: VisualInputs | None = None,
    questions_per_task: int = 2,
    second: tuple[Ask, VisualInputs | None] | None = None,
    *,
    again: bool = False,
) -> pa.Table:
    """What a model writes of some tasks, once or ``again`` where it was refused, and a second one leaves."""
    known = {task.name: task for task in tasks}

    class Made(UrbanAuthor):
        tasks = known
        rewrites = again

    asks, shows = zip((ask, shown), *([second] if second else []), strict=True)
    return Made().write(view, candidates, asks, [*known], shows, questions_per_task)


PASSAGES = {"passages": [{"start_s": 0, "end_s": 44, "text": "It ascends, with a red brick building on the left."}]}
LISTS = {"movements": ["ascend", "fly forward"], "objects": ["red brick building", "golden dome"]}
GOOD: dict[str, Any] = {
    "proof": "It turned left at 30 s and has the tower behind it then.",
    "question": "Why did the drone turn left after it had come close to the Blue Tower?",
    "answer": "The way straight on was closed by the Blue Tower",
    "wrong": [
        "It had lost sight of the shopping centre",
        "It was about to land on a roof",
        "It went round a crane that stood there",
        "It followed the course of a river",
    ],
    "objects": ["Blue Tower"],
    "time_s": None,
}


def question(**changes: Any) -> dict[str, Any]:
    return GOOD | changes


def questions(*written: dict[str, Any]) -> str:
    return json.dumps({"questions": list(written)})


class Scripted:
    """A model that answers each step with a given text, or fails."""

    def __init__(self, **texts: str | ModelError | Callable[[Request], str]) -> None:
        self.texts = {"narrate": json.dumps(PASSAGES), "extract": json.dumps(LISTS)} | texts
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        text = self.texts[request.prompt.partition("@")[0].removeprefix("author_")]
        if isinstance(text, ModelError):
            raise text
        return Reply(text if isinstance(text, str) else text(request))


Row = tuple[float, float, str, float, float, float, float | None]


def _segments(rows: list[Row]) -> tuple[Segment, ...]:
    """Rows of start, end, movements, metres over ground, climb, turn and tilt."""
    return tuple(
        Segment(
            start_s=start, end_s=end, actions=tuple(what.split(" + ")), distance_m=way, climb_m=climb, turn_deg=turn,
            gimbal_deg=tilt, margin=3,
        )  # type: ignore[arg-type]
        for start, end, what, way, climb, turn, tilt in rows
    )  # fmt: skip


def _flown(corners: list[tuple[float, float, float, float, float]], rows: list[Row], views: list[Any]) -> Any:
    """The motion through corners of time, east, north, up and heading."""
    at, *columns = (np.array(column, dtype=float) for column in zip(*corners, strict=True))
    t_s = np.arange(0, at[-1] + 0.1, 0.5)
    east, north, up, heading = (np.interp(t_s, at, column) for column in columns)
    return motion(
        t_s=tuple(t_s.tolist()),
        enu_m=tuple(zip(east.tolist(), north.tolist(), up.tolist(), strict=True)),
        height_m=tuple(up.tolist()),
        heading_deg=tuple(heading.tolist()),
        course_deg=(None,) * len(t_s),
        pitch_deg=(None,) * len(t_s),
        part=(0,) * len(t_s),
        segments=_segments(rows),
        views=tuple(Sighting(landmark=n, intervals=seen, possible=seen) for n, seen in enumerate(views)),
    )


def _mark(name: str, kind: str, center: tuple[float, float], radius_m: float, top_m: float) -> Landmark:
    return Landmark(name=name, kind=kind, label=name, center=center, radius_m=radius_m, base_m=0.0, top_m=top_m)


# Up, a look down, north past the church, right to the park, right again towards the bridge, down.
_RIVER = facts(
    goal="Long Bridge",
    landmarks=(
        _mark("Saint Anna Church", "church", (-40.0, 60.0), 12, 35),
        _mark("City Park", "park", (90.0, 120.0), 25, 10),
        _mark("Long Bridge", "bridge", (90.0, 20.0), 15, 15),
        _mark("Post Office", "office", (-300.0, -300.0), 10, 12),
    ),
    motion=_flown(
        [
            (0, 0, 0, 0, 0), (12, 0, 0, 40, 0), (15, 0, 0, 40, 0), (35, 0, 120, 40, 0), (39, 0, 120, 40, 90),
            (55, 60, 120, 40, 90), (59, 60, 120, 40, 180), (69, 60, 120, 20, 180), (75, 60, 120, 20, 180),
        ],
        [
            (0, 12, "ascend", 0, 40, 0, 0), (12, 15, "gimbal down", 0, 0, 0, -40),
            (15, 35, "fly forward", 120, 0, 0, 0), (35, 39, "turn right", 0, 0, 90, 0),
            (39, 55, "fly forward", 60, 0, 0, 0), (55, 59, "turn right", 0, 0, 90, 0),
            (59, 69, "descend", 0, -20, 0, 0), (69, 75, "hover", 0, 0, 0, 0),
        ],
        [((5, 28),), ((38, 55),), ((57, 75),), ()],
    ),
)  # fmt: skip
# West towards the lighthouse, down, left to the market, forward and up, sideways to the left.
_HARBOUR = facts(
    goal="Fish Market",
    landmarks=(
        _mark("Lighthouse", "lighthouse", (-220.0, 10.0), 6, 60),
        _mark("Ferry Terminal", "ferry terminal", (-40.0, -70.0), 20, 15),
        _mark("Fish Market", "market", (-150.0, -130.0), 15, 8),
    ),
    motion=_flown(
        [
            (0, 0, 0, 50, 270), (20, -150, 0, 50, 270), (28, -150, 0, 20, 270), (32, -150, 0, 20, 180),
            (44, -150, -80, 45, 180), (52, -110, -80, 45, 180),
        ],
        [
            (0, 20, "fly forward", 150, 0, 0, None), (20, 28, "descend", 0, -30, 0, None),
            (28, 32, "turn left", 0, 0, -90, None), (32, 44, "fly forward + ascend", 80, 25, 0, None),
            (44, 52, "fly left", 40, 0, 0, None),
        ],
        [((0, 24),), ((0, 8),), ((31, 44),)],
    ),
)  # fmt: skip


def _seen(of: ObservedFacts, *objects: str) -> tuple[ObservedFacts, Extract]:
    return of, Extract(tuple(s.actions for s in of.segments), (*of.names, *objects))


FLIGHTS: dict[str, tuple[ObservedFacts, Extract]] = {
    "east": _seen(facts()),
    "river": _seen(_RIVER, "lower houses", "streets", "river"),
    "harbour": _seen(_HARBOUR, "red harbour crane", "three sailing boats", "pier"),
}
