"""Hand-made flights: movements of stated length, landmarks at stated places."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import EvenTask
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.schema import Finding, Source, Video
from pipeline.core.templates import load_template
from pipeline.worlds.flight.facts import Flight, FlightCamera, FlightMotion, FlightScene, Landmark, Segment, Sighting
from pipeline.worlds.flight.view import FlightView
from tests.tables import candidates

RATE_HZ = 5
# Movement, seconds, metres or degrees: ("fly forward", 10, 100), ("turn left", 5, 90), ("hover", 4, 0). A movement of
# two actions has two amounts: ("fly forward+descend", 10, (50, 20)). "gap" is a stretch without a movement.
Move = tuple[str, float, Any]
_TOWARDS = {"fly forward": 0.0, "fly right": 90.0, "fly backward": 180.0, "fly left": -90.0}


def mark(label: str, east: float, north: float, radius: float = 5.0, top: float | None = None, **more: Any) -> Landmark:
    given = {"name": label, "label": label, "center": (east, north), "radius_m": radius, "base_m": 0.0, "top_m": top}
    return Landmark.model_validate(given | more)


def motion(
    moves: Sequence[Move],
    start: tuple[float, float, float] = (0.0, 0.0, 30.0),
    heading: float | None = 0.0,
    pitch: float | None = 0.0,
    margin: float = 2.0,
    views: Mapping[int, Sequence[tuple[float, float]]] | None = None,
) -> FlightMotion:
    """Movements flown one after another from ``start``, at even speed."""
    t, position, nose, tilt = 0.0, list(start), heading or 0.0, pitch or 0.0
    times, places, noses, tilts, segments = [0.0], [tuple(position)], [nose], [tilt], []
    for name, seconds, amounts in moves:
        actions = () if name == "gap" else tuple(name.split("+"))
        sizes = amounts if isinstance(amounts, tuple) else (amounts,)
        steps = round(seconds * RATE_HZ)
        before = position[2]
        for _ in range(steps):
            for action, size in zip(actions, sizes, strict=False):
                part = size / steps
                if action in _TOWARDS:
                    way = math.radians(nose + _TOWARDS[action])
                    position[0] += part * math.sin(way)
                    position[1] += part * math.cos(way)
                elif action in {"ascend", "descend"}:
                    position[2] += part if action == "ascend" else -part
                elif action in {"turn left", "turn right"}:
                    nose = (nose + (part if action == "turn right" else -part)) % 360.0
                elif action in {"gimbal up", "gimbal down"}:
                    tilt += part if action == "gimbal up" else -part
            times.append(len(times) / RATE_HZ)
            places.append(tuple(position))
            noses.append(nose)
            tilts.append(tilt)
        if actions:
            turned = sum(
                size if a == "turn right" else -size
                for a, size in zip(actions, sizes, strict=False)
                if a.startswith("turn")
            )
            segments.append(
                Segment.model_validate(
                    {
                        "start_s": t,
                        "end_s": t + seconds,
                        "actions": actions,
                        "distance_m": 0.0,
                        "climb_m": position[2] - before,
                        "turn_deg": None if heading is None else turned,
                        "gimbal_deg": None if pitch is None else 0.0,
                        "margin": margin,
                    }
                )
            )
        t += seconds
    n = len(times)
    return FlightMotion(
        rate_hz=RATE_HZ,
        t_s=tuple(times),
        enu_m=tuple((x, y, z) for x, y, z in places),
        height_m=tuple(z for _, _, z in places),
        heading_deg=(None,) * n if heading is None else tuple(noses),
        course_deg=(None,) * n,
        pitch_deg=(None,) * n if pitch is None else tuple(tilts),
        part=(0,) * n,
        segments=tuple(segments),
        views=None
        if views is None
        else tuple(Sighting(landmark=i, intervals=tuple(v), possible=tuple(v)) for i, v in views.items()),
    )


def flight(
    moved: FlightMotion | None,
    landmarks: Sequence[Landmark] = (),
    goal: str | None = None,
    route: Sequence[str] = (),
    findings: Sequence[Finding] = (),
    video_s: float | None = None,
    name: str = "one",
    filmed: bool = True,
    sight: bool = True,
) -> FlightScene:
    """A flight on which all landmarks are in view all the time; without ``sight``, as ``moved`` has it."""
    if sight and moved and moved.views is None and moved.t_s:
        all_s = ((moved.t_s[0], moved.t_s[-1]),)
        always = tuple(Sighting(landmark=i, intervals=all_s, possible=all_s) for i in range(len(landmarks)))
        moved = moved.model_copy(update={"views": always})
    if video_s is None:  # as long as the track
        video_s = moved.t_s[-1] if moved and moved.t_s else 1.0
    return FlightScene(
        id=f"made/{name}",
        dataset="made",
        name=name,
        source=Source(reader="made", reader_version=1, files=("log.bin",), sha256="0" * 64),
        video=Video(path="video.mp4", fps=10.0, frames=max(1, round(10 * video_s))) if filmed else None,
        facts=Flight(
            log="made",
            origin=None,
            camera=FlightCamera(horizontal_fov_deg=90.0, width=1280, height=720),
            goal=goal,
            route=tuple(route),
            landmarks=tuple(landmarks),
            complete=None,
            motion=moved,
        ),
        findings=tuple(findings),
    )


def finding(name: str, subject: str = "log", severity: str = "doubt") -> Finding:
    given = {"name": name, "severity": severity, "subject": subject, "message": "", "remedy": "", "measured": 1.0}
    return Finding.model_validate(given | {"limit": 0.0, "unit": "s"})


_TOLD_BY_ROUTES = frozenset(("Trajectory Captioning", "Sequence Recall"))


def rules(task: str, **limits: Any) -> UrbanRules:
    """The default rules but for ``limits``; clips begin with the flight, and lots fall so that the task is asked."""
    lots = {"routes_told": float(task not in _TOLD_BY_ROUTES), "captioned": float(task != "Sequence Recall")}
    return UrbanRules(**({"clip_share": None} | lots | limits))


def rows(scene: FlightScene, *tasks: str, **limits: Any) -> list[dict[str, Any]]:
    """Candidates of the tasks (all if none is named), under `rules`."""
    views = {name: FlightView(scene, rules(name, **limits)) for name in tasks or URBAN_TASKS}
    return [r for name, view in views.items() for r in candidates(view, [URBAN_TASKS[name]]).to_pylist()]


def judged(scene: FlightScene, task: str, **limits: Any) -> list[dict[str, Any]]:
    """Candidates of a task as each would be if it alone were asked, whatever answers the others have."""
    of = type(URBAN_TASKS[task])
    alone: dict[str, Any] = {"ask_once": lambda self, view, cases: None}
    if issubclass(of, EvenTask):
        alone["cases"] = lambda self, view: self.judged(view)
    chosen = type("Alone", (of,), alone)()
    return candidates(FlightView(scene, rules(task, **limits)), [chosen]).to_pylist()


def row(scene: FlightScene, task: str, *operands: str, **limits: Any) -> dict[str, Any]:
    """The candidate whose operands begin with these, which must be there once, as `judged`."""
    found = judged(scene, task, **limits)
    chosen = [r for r in found if r["operands"][: len(operands)] == list(operands)]
    assert len(chosen) == 1, [r["operands"] for r in found]
    return chosen[0]


def words_of(found: Mapping[str, Any]) -> dict[str, str]:
    """What the words of a candidate's question ask about: its text, read again; and when it ends."""
    task = URBAN_TASKS[found["task"]]
    template = load_template(task.template)
    fields = template.parse(template.render(task.fields(tuple(found["operands"]), None)))
    until = found["until_s"]
    return {name: str(value) for name, value in fields.items()} | {"until": "" if until is None else str(until)}


def refusal(found: Mapping[str, Any]) -> tuple[str | None, float | None, float | None]:
    return found["reason"], found["measured"], found["limit"]


_NAMES = (
    "the yellow building with a dome",
    "the red church",
    "the blue tower",
    "the park",
    "the tallest building",
    "the white stadium",
    'the grey building with the sign "Café Müller"',
    'the grey building with the sign "北京路"',
)
_KINDS: tuple[tuple[str, float, float], ...] = (
    ("fly forward", 30, 90),
    ("fly forward+descend", 30, 60),
    ("fly forward+ascend", 30, 60),
    ("fly left", 20, 50),
    ("fly right", 20, 50),
    ("fly backward", 20, 50),
    ("turn left", 40, 150),
    ("turn right", 40, 150),
    ("ascend", 5, 30),
    ("descend", 5, 15),
    ("hover", 0, 0),
    ("gimbal down", 10, 30),
)
_ROUTE = {"fly forward": "Fly forward to the next stop", "turn left": "Turn left", "turn right": "Rotate to the right"}


def random_flight(seed: int) -> FlightScene:
    """A flight of 4 to 9 movements among 8 landmarks, with goal and route. No number lies on a limit by chance."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(_KINDS))
    chosen = [order[0]]
    for i in (*order[1 : int(rng.integers(4, 8))], *order[: int(rng.integers(0, 3))]):
        chosen += [i] if i != chosen[-1] else []
    moves: list[Move] = []
    for i in chosen:
        name, low, high = _KINDS[i]
        sizes = tuple(float(rng.uniform(low, high)) / (1 + 2 * k) for k in range(name.count("+") + 1))
        moves.append((name, round(float(rng.uniform(3, 20)), 1) // 0.2 * 0.2, sizes))
    start = (float(rng.uniform(-50, 50)), float(rng.uniform(-50, 50)), float(rng.uniform(40, 80)))
    moved = motion(moves, start, float(rng.uniform(0, 360)), float(rng.uniform(-40, 0)))
    path = np.array(moved.enu_m)
    marks = []
    for name in _NAMES:
        near = path[int(rng.integers(len(path)))] + rng.normal(0, 60, 3)
        top = float(rng.uniform(5, 100)) if rng.random() < 0.7 else None
        marks.append(mark(name, float(near[0]), float(near[1]), float(rng.uniform(2, 12)), top))
    views = {i: _in_view(moved, landmark) for i, landmark in enumerate(marks)}
    route = [_ROUTE.get(name, name.replace("+", " while ")) for name, _, _ in moves]
    moved = moved.model_copy(
        update={"views": tuple(Sighting(landmark=i, intervals=tuple(v), possible=tuple(v)) for i, v in views.items())}
    )
    return flight(moved, marks, goal=_NAMES[seed % len(_NAMES)], route=route, name=f"random{seed}")


def _in_view(moved: FlightMotion, landmark: Landmark) -> list[tuple[float, float]]:
    """When a level camera of 90 degrees would have its middle in the picture, nothing standing before it."""
    shown = []
    for (x, y, _), nose in zip(moved.enu_m, moved.heading_deg, strict=True):
        bearing = math.degrees(math.atan2(landmark.center[0] - x, landmark.center[1] - y)) - (nose or 0.0)
        shown.append(abs((bearing + 180) % 360 - 180) < 45)
    edges = np.flatnonzero(np.diff([False, *shown, False]))
    return [(float(a) / RATE_HZ, float(b - 1) / RATE_HZ) for a, b in zip(edges[::2], edges[1::2], strict=True)]
