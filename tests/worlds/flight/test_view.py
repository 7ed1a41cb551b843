"""A doubt refuses the stretch and the facts that it touches, and nothing else; a drawn film is to scale."""

import numpy as np
import pytest

from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.core.schema import Finding, Scene, Source
from pipeline.drawing.raster import INK
from pipeline.worlds.flight.bev_video import FOOT, FPS, GAUGE_X, PX_PER_M, WIDE, drawn, spatial, top_down_map
from pipeline.worlds.flight.facts import Flight, FlightMotion, FlightScene, Landmark, Sighting
from pipeline.worlds.flight.places import _EXACT, _SURE, LEAST_M, NamedLandmark, Places, _refined
from pipeline.worlds.flight.view import FlightView, doubted_stretches, overlaps_any, within_any, without
from tests.benchmarks.urbanvideo.flights import finding, flight, mark, motion, rows
from tests.drawing.reading import bounds

MOVES = [
    ("ascend", 6, 12),
    ("fly forward", 10, 60),
    ("turn left", 4, 90),
    ("fly forward", 8, 40),
    ("descend", 5, -8),
    ("hover", 6, 0),
]  # fmt: skip


def about(*stretches: tuple[float, float]) -> Finding:
    return finding("clocks_apart").model_copy(update={"stretches": stretches})


def asked(*findings: Finding, task: str = "Sequence Recall") -> set[str]:
    """What could be asked about but for the few answers that so short a flight gives as options."""
    found = rows(flight(motion(MOVES), findings=findings), task)
    few = {None, "too_few_answers", "answer_too_frequent"}
    return {row["operands"][0] for row in found if row["reason"] in few}


def test_the_movements_outside_a_doubted_stretch_are_asked_about() -> None:
    whole = asked()
    assert len(whole) == 5
    assert asked(finding("clocks_apart")) == set()  # about the whole flight
    some = asked(about((1.0, 2.0)))  # within the ascent
    assert some == whole - {"ascending"}
    assert asked(about((0.0, 38.0))) == set()


@pytest.mark.parametrize(("name", "task", "left"), [
    ("quantised", "Sequence Recall", True),  # movements below the step were never claimed
    ("quantised", "Proximity", False),
    ("damaged_bytes", "Sequence Recall", True),
    ("position_reset", "Sequence Recall", True),
    ("position_reset", "Proximity", False),
    ("pace", "Sequence Recall", False),
    ("gimbal_frame", "Sequence Recall", False),  # the film may tilt between two of them
])  # fmt: skip
def test_a_doubt_refuses_the_facts_that_it_touches(name: str, task: str, left: bool) -> None:
    places = [mark("Mill", 0, 80), mark("Barn", 300, 0)]
    found = rows(flight(motion(MOVES), places, findings=[finding(name)]), task)
    assert (name not in {row["reason"] for row in found}) == left


def test_angles_of_a_camera_that_does_not_tilt_are_in_no_doubt() -> None:
    scene = flight(motion(MOVES), findings=[finding("gimbal_frame")])
    assert scene.facts.camera is not None
    fixed = scene.with_facts(camera=scene.facts.camera.model_copy(update={"pitch_deg": -20.0}))
    drawn_film = scene.model_copy(update={"video": None})
    steps = frozenset({"steps"})
    found = [FlightView(one, UrbanRules()).doubt(steps) for one in (scene, fixed, drawn_film)]
    assert [one and one.reason for one in found] == ["gimbal_frame", None, None]


def test_a_mere_note_refuses_nothing() -> None:
    places = [mark("Mill", 0, 80), mark("Barn", 300, 0)]
    fine_steps = finding("quantised", severity="note")  # steps of a metre
    found = rows(flight(motion(MOVES), places, findings=[fine_steps]), "Proximity", "Sequence Recall")
    assert "quantised" not in {row["reason"] for row in found}
    counted = rows(flight(motion(MOVES), findings=[finding("step_clock", severity="note")]), "Duration")
    assert {row["reason"] for row in counted} == {"step_clock"}


def test_a_flight_without_a_video_gives_no_question() -> None:
    found = rows(flight(motion(MOVES), [mark("Mill", 0, 80)], goal="Mill", filmed=False))
    assert {row["reason"] for row in found} == {"missing_video"}
    assert {row["role"] for row in found} == {"scene"}  # one row for a task


def test_a_landmark_is_seen_from_when_the_drawn_map_has_it() -> None:
    """A house 300 m to the north is drawn whole where the drone is at 124 m; one is below the words at the map's foot.

    Whatever the log's camera saw then.
    """
    marks = [mark("red house", 60, 300, radius=3.0), mark("blue house", 60, -156), mark("far house", 400, 100)]
    scene = flight(motion([("fly forward", 26, 200)], views={1: [(0.0, 26.0)]}), marks, filmed=False)
    view = FlightView(scene, UrbanRules())
    first = {place.label: view.first_seen_s(row) for row, place in enumerate(view.places)}
    assert (first["blue house"], first["far house"]) == (None, None)
    at = int(np.flatnonzero(view.enu_m[:, 1] >= 124.0)[0])
    assert first["red house"] == view.t_s[at] > 10.0
    pictures = list(drawn(scene.with_facts(landmarks=tuple(marks[:1]))).frames())
    house = [int((pictures[round(s * FPS)][:, :WIDE] == INK["thing"]).all(2).sum()) for s in (1.0, view.t_s[at] + 0.2)]
    assert house[0] == 0 < house[1]
    maybe = {place.label: view.maybe_seen_by(row, 1.0) for row, place in enumerate(view.places)}
    assert maybe == {"red house": False, "blue house": True, "far house": False}


def test_stretches_in_the_time_of_the_video() -> None:
    note = about((0.0, 99.0)).model_copy(update={"severity": "note"})
    stretches = doubted_stretches([about((10.0, 12.0), (20.0, 21.0)), note, finding("pace")], 2.5)
    assert stretches.tolist() == [[7.5, 9.5], [17.5, 18.5]]
    assert within_any(np.array([7.4, 7.5, 9.5, 9.6, 18.0]), stretches).tolist() == [False, True, True, False, True]
    assert overlaps_any(9.0, 11.0, stretches)
    assert not overlaps_any(9.5, 17.5, stretches)
    spans = np.array([[0.0, 8.0], [9.0, 20.0]])
    assert without(spans, stretches).tolist() == [[0.0, 7.5], [9.5, 17.5], [18.5, 20.0]]
    assert without(spans, np.empty((0, 2))).tolist() == spans.tolist()


def drawn_flight(seconds: float = 4.0) -> FlightScene:
    """Due east at 5 m/s, climbing at 10 m/s; a square tower 40 m north of the start."""
    t = np.round(np.arange(0, seconds + 0.1, 0.2), 6)
    n = len(t)
    motion = FlightMotion(
        rate_hz=5.0,
        t_s=tuple(t.tolist()),
        enu_m=tuple((5 * s, 0.0, 10 * s) for s in t.tolist()),
        height_m=tuple((10 * t).tolist()),
        heading_deg=(90.0,) * n,
        course_deg=(90.0,) * n,
        pitch_deg=(0.0,) * n,
        part=(0,) * n,
        segments=(),
        views=None,
    )
    tower = Landmark(
        label="the red tower", center=(0.0, 40.0), radius_m=14.2, outline=((-10, 30), (10, 30), (10, 50), (-10, 50))
    )
    facts = Flight(log="gpx", origin=None, landmarks=(tower,), motion=motion)
    return Scene(
        id="flights/f", dataset="flights", name="f", facts=facts,
        source=Source(reader="flights", reader_version=1, files=(), sha256="0" * 64),
    )  # fmt: skip


def test_a_name_does_not_cover_another_landmark() -> None:
    """The tower's begins 7 pixels from its middle; the barn, 6 pixels wide, stands 40 pixels from that."""
    scene = drawn_flight()
    (tower,) = scene.facts.landmarks
    barn = mark("barn", 40, 40, radius=3)
    both = scene.facts.model_copy(update={"landmarks": (tower, barn)})
    picture = next(iter(drawn(scene.model_copy(update={"facts": both})).frames()))
    assert (picture[180 - 40, 240 + 40] == INK["thing"]).all()
    assert (picture[180 - 40, 240 + 12 : 240 + 36] == INK["text"]).all(1).any(), "letters left of it"


def test_a_line_leads_from_a_name_to_what_it_names() -> None:
    """A park bent about its own middle, 40 m north: the line begins at its outline, 4 m from there."""
    scene = drawn_flight()
    bent = ((-30, 10), (30, 10), (30, 30), (-4, 30), (-4, 50), (30, 50), (30, 70), (-30, 70))
    park = Landmark(label="the park", center=(0.0, 40.0), radius_m=45.0, outline=bent)
    picture = next(iter(drawn(scene.with_facts(landmarks=(park,))).frames()))
    assert (picture[180 - 40, 240 - 4 : 240 + 3] == INK["text"]).all(), "the dot, and the line to the name"
    assert not (picture[180 - 35, 240 - 3 : 240 + 3] == INK["text"]).all(1).any()


def test_landmarks_and_height_are_drawn_to_scale() -> None:
    footage = drawn(drawn_flight())
    pictures = list(footage.frames())
    assert len(pictures) == 4 * FPS + 1
    for second in (0, 2, 4):
        picture = pictures[second * FPS]
        assert (picture[310, WIDE : WIDE + 75] == INK["text"]).all(1).sum() == 50 * PX_PER_M
        y, x = np.argwhere((picture[:, :WIDE] == INK["thing"]).all(2)).mean(0)
        assert abs(x - (WIDE / 2 - 5 * second * PX_PER_M)) < 1.5
        assert abs(y - (picture.shape[0] / 2 - 40 * PX_PER_M)) < 1.5
        gauge = np.argwhere((picture[:, int(GAUGE_X) + 7 :] == INK["own"]).all(2))
        assert abs(gauge[:, 0].mean() - (FOOT - 10 * second * 240 / 150)) < 1


def test_a_picture_by_hand() -> None:
    """A pixel a metre about (240, 180), north up: a tower of 20 by 20 m; paler, a well of no size and a pond of 20 m.

    At first, and after 2 s, 10 m to the east and 20 m higher, of which the gauge shows 150 m on 240 pixels.
    """
    scene = drawn_flight()
    well = Landmark(name="well", center=(60.0, 0.0), radius_m=0.0)
    pond = Landmark(name="pond", center=(0.0, -60.0), radius_m=10.0)
    pictures = list(drawn(scene.with_facts(landmarks=(*scene.facts.landmarks, well, pond))).frames())
    for second, east, up in ((0, 0, 0), (2, 10, 32)):
        picture = pictures[second * FPS]
        assert bounds(picture, INK["own"], (0, 0, WIDE - 1, 330)) == (240 - 4, 180 - 4, 240 + 18, 180 + 4), "heading"
        left = 240 - east
        assert bounds(picture, INK["thing"], (150, 100, 330, 170)) == (left - 9, 140 - 9, left + 9, 140 + 9)
        assert bounds(picture, INK["road"], (270, 160, 330, 200)) == (left + 60 - 3, 180 - 3, left + 60 + 3, 180 + 3)
        assert bounds(picture, INK["road"], (150, 215, 330, 260)) == (left - 9, 240 - 9, left + 9, 240 + 9)
        assert bounds(picture, INK["own"], (WIDE, 0, 639, 330)) == (508, 260 - up - 5, 518, 260 - up + 5)
        assert bounds(picture, INK["text"], (498, 15, 507, 270)) == (500, 20, 506, 260)
        strokes = [y for y in range(15, 270) if tuple(picture[y, 504]) == INK["text"]]
        assert strokes == list(range(20, 261, 16)), "each 10 m"
        numbers = [bounds(picture, INK["text"], (522, y - 10, 639, y + 10)) for y in (260, 180, 100)]
        assert numbers == [(525, 255, 543, 263), (524, 175, 550, 183), (525, 95, 557, 103)], "0 m, 50 m, 100 m"
        assert [x for x in range(60) if tuple(picture[3, x]) == INK["grid"]] == [east, east + 20, east + 40]
        assert [y for y in range(60) if tuple(picture[y, 3 + east]) == INK["grid"]] == [0, 20, 40], "each 20 m"
        assert bounds(picture, INK["text"], (WIDE, 0, 639, 14)) == (501, 5, 619, 14), "height above take-off"
        assert bounds(picture, INK["text"], (490, 316, 639, 340)) == (501, 325, 548, 337), "north up"
        assert bounds(picture, INK["text"], (490, 300, 552, 315)) == (500, 309, 549, 311), "50 m"


def test_what_there_is_on_a_map_of_a_flight() -> None:
    """From the start of the video on; a landmark by its label or its name, seen from when the log says."""
    scene = drawn_flight()
    motion = scene.facts.motion
    views = (
        Sighting(landmark=0, intervals=((2.0, 3.0), (1.0, 1.5)), possible=()),
        Sighting(landmark=1, intervals=(), possible=()),
    )
    moved = motion.model_copy(update={"t_s": tuple(t - 1 for t in motion.t_s), "views": views})
    well = Landmark(name="well", center=(60.123, 0.0), radius_m=0.0)
    found = top_down_map(scene.with_facts(landmarks=(*scene.facts.landmarks, well), motion=moved))
    assert [(thing.label, thing.seen_s) for thing in found.things] == [("the red tower", 1.0), ("well", None)]
    assert found.things[1].outline == ((60.12, 0.0),)
    assert found.path[0] == (0.0, 5.0, 0.0)
    assert found.path[-1] == (3.0, 20.0, 0.0)
    bare = top_down_map(scene.with_facts(motion=None))
    assert (bare.path, bare.things[0].seen_s) == ((), None)
    many = FlightMotion(**{name: value * 100 for name, value in vars(motion).items() if isinstance(value, tuple)},
                        rate_hz=5.0, views=None)  # fmt: skip
    assert len(many.t_s) == 2100
    path = top_down_map(scene.with_facts(motion=many)).path
    assert (len(path), path[-1]) == (351, (4.0, 20.0, 0.0)), "every sixth, and the last"


def test_no_picture_knows_what_comes_later_and_gaps_are_said() -> None:
    whole, part = drawn(drawn_flight()), drawn(drawn_flight(2.0))
    shown = list(whole.frames())
    assert all((a == b).all() for a, b in zip(shown, part.frames(), strict=False))
    scene = drawn_flight()
    motion = scene.facts.motion
    kept = [n for n in range(len(motion.t_s)) if not 1.0 < motion.t_s[n] < 3.0]
    lists = ("t_s", "enu_m", "height_m", "heading_deg", "course_deg", "pitch_deg", "part")
    gap = motion.model_copy(update={name: tuple(getattr(motion, name)[n] for n in kept) for name in lists})
    broken = drawn(scene.model_copy(update={"facts": scene.facts.model_copy(update={"motion": gap})}))
    pictures = list(broken.frames())
    assert (pictures[5] == shown[5]).all()
    assert not (pictures[20][:, :WIDE] == INK["thing"]).all(2).any(), "where it was then nobody knows"
    left, top, right, bottom = bounds(pictures[20], INK["text"], (2, 2, WIDE - 2, 330))
    assert ((left + right) / 2, (top + bottom) / 2) == (pytest.approx(WIDE / 2, abs=12), pytest.approx(180, abs=12))


def test_a_flight_that_was_not_observed_is_not_drawn() -> None:
    scene = drawn_flight()
    assert drawn(scene.model_copy(update={"facts": scene.facts.model_copy(update={"motion": None})})) is None


def test_outlines_of_landmarks_are_closed_at_foot_and_top() -> None:
    found = spatial(drawn_flight(), None)
    assert found.boxes.labels == ("the red tower",)
    assert (found.boxes.centers.tolist(), found.boxes.lengths.tolist()) == ([[0, 40, 0]], [[20, 20, 0]])
    ring = [[-10, 30, 0], [10, 30, 0], [10, 50, 0], [-10, 50, 0], [-10, 30, 0]]
    assert [line.tolist() for line in found.lines] == [ring, ring]
    assert found.path[0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("distance_m", "unspoken_m", "found"),
    [
        ([6.0, 2.0, 5.0], [], (1, 2.0, 2.5)),
        ([6.0, 2.0, 5.0], [3.0], (1, 2.0, 1.5)),  # no words tell it, and it is seen
        ([0.25, 3.0], [], (0, 0.25, 3.0)),  # there: a metre
        ([4.0], [], (0, 4.0, np.inf)),
    ],
)
def test_how_much_nearer_the_nearest_is(
    distance_m: list[float], unspoken_m: list[float], found: tuple[int, float, float]
) -> None:
    assert Places(()).nearest(np.array(distance_m), unspoken_m) == found


@pytest.mark.parametrize(("farther_m", "more"), [(0.99, 1), (1.01, 0)])
def test_distances_are_exact_as_far_as_the_nearest_may_be(farther_m: float, more: int) -> None:
    """Those of the first few are; then of who may be nearer than so many times the nearest, which is a metre off."""
    bounds_m = np.array([*np.linspace(0.1, 0.9, _EXACT), _SURE * LEAST_M * farther_m, 1e6])
    asked: list[int] = []

    def exact_m(index: int) -> float:
        asked.append(index)
        return 7.0 if index else LEAST_M / 2

    found = _refined(bounds_m, exact_m)
    assert asked == list(range(_EXACT + more))
    assert found.tolist() == [LEAST_M / 2, *[7.0] * (_EXACT - 1 + more), *bounds_m[_EXACT + more :].tolist()]


def test_what_is_known_when_by_hand() -> None:
    """Ten seconds north and ten of a turn to the right, at 5 Hz; of 4 to 6 s nothing is known, the video ends at 22."""
    moved = motion([("fly forward", 10, 100), ("turn right", 10, 90)], views={0: [(3.0, 4.0), (1.0, 2.0), (8.0, 30.0)]})
    marks = [mark("mill", 0, 80), mark("mill beside the pond", 9, 80), mark("the pond", 20, 80), mark("barn", 0, 300)]
    seen = (*moved.views, Sighting(landmark=2, intervals=((5.5, 12.0),), possible=((5.0, 13.0),)))
    parted = moved.model_copy(update={"part": (0,) * 45 + (1,) * 56})
    scene = flight(
        parted.model_copy(update={"views": (*seen, Sighting(landmark=1, intervals=((2.5, 9.0),), possible=()))}),
        marks, findings=[about((4.0, 6.0))], video_s=22.0,
    )  # fmt: skip
    view = FlightView(scene, UrbanRules())
    assert (view.end_s, len(view.t_s), view.doubted.tolist()) == (22.0, 101 - 11, [[4.0, 6.0]])
    at = {second: view.index(second) for second in (0.0, 3.8, 4.0, 4.1, 5.0, 6.2, 20.2, 20.3, 22.0)}
    assert at == {0.0: 0, 3.8: 19, 4.0: 19, 4.1: None, 5.0: None, 6.2: 20, 20.2: 89, 20.3: None, 22.0: None}
    assert [second for second, _ in view.moments] == [1, 2, 3, 4, *range(6, 21)]
    assert dict(view.moments)[7] == 24
    assert view.heading_swing_deg(24) == 0.0
    assert view.heading_swing_deg(89 - 25) == pytest.approx(9.0), "at 15 s, of 9 degrees a second"
    assert view.heading_swing_deg(89 - 53) == pytest.approx(3.6), "at 9.4 s"
    assert view.untracked_s == pytest.approx(2.4 + 2.0)
    assert view.untracked_until_s(6.2) == pytest.approx(2.4)
    assert view.untracked_until_s(5.0) == pytest.approx(1.2)
    assert view.untracked_until_s(3.0) == 0.0
    assert [(s.start_s, s.part) for s in view.steps] == [(10.0, 1)], "the way north lies in the doubt"
    assert [view.beyond_s(view.steps[0].__class__(**vars(view.steps[0]) | span)) for span in (
        {"start_s": -1.5}, {"end_s": 24.0}, {"start_s": 0.0, "end_s": 22.0},
    )] == [1.5, 2.0, 0.0]  # fmt: skip
    row = {place.label: i for i, place in enumerate(view.places)}
    mill, beside, pond, barn = (row[m.label] for m in marks)
    assert [view.first_seen_s(i) for i in (mill, beside, pond, barn)] == [1.0, 6.0, 6.0, None], "beside: not before it"
    since = {since_s: view.first_seen_s(mill, since_s) for since_s in (1.0, 1.1, 3.0, 3.1, 9.0, 21.0, 21.1)}
    assert since == {1.0: 1.0, 1.1: 3.0, 3.0: 3.0, 3.1: 8.0, 9.0: 9.0, 21.0: 21.0, 21.1: None}
    assert [view.times_in_view(i) for i in (mill, beside, pond, barn)] == [3, 2, 1, 0]
    assert [view.seen_by(mill, t) for t in (0.9, 1.0)] == [False, True]
    assert [view.seen_by(mill, 8.5, since) for since in (0.0, 8.2, 8.6)] == [True, True, False]
    assert [round(view.in_view_s(mill, t), 6) for t in (0.0, 1.4, 2.2, 3.25, 9.0, 21.5)] == [
        -1,
        0.4,
        -0.2,
        0.25,
        1,
        0.5,
    ]
    assert view.in_view_s(barn, 5.0) == -np.inf
    assert [view.out_of_view_s(pond, t) for t in (3.0, 5.5, 13.5)] == [1.0, -0.5, 0.5], "4 to 6 s are in doubt"
    assert view.out_of_view_s(barn, 5.0) == np.inf
    assert [view.maybe_seen_by(pond, *times) for times in ((3.9,), (4.0,), (20.0, 13.0), (20.0, 13.1))] == [
        False, True, True, False,
    ]  # fmt: skip
    assert view.pool == [mill, beside, pond]
    assert [view.named(i, 1.0).mark for i in (mill, beside, pond)] == ["mill", "mill beside the pond", ""]
    assert view.ground_m == 0.0
    assert view.distance_m[:, 0].tolist() == pytest.approx([75.0, np.hypot(9, 80) - 5, np.hypot(20, 80) - 5], abs=0.1)


@pytest.mark.parametrize(("over_m", "told"), [(10.0, False), (7.1, True), (7.2, False)])
def test_what_goes_up_by_5_m_in_4_s_more_steeply_than_a_road_does_fly(over_m: float, told: bool) -> None:
    """5 m up over 7.14 m of ground are 0.7."""
    rises = motion([("fly forward+ascend", 4, (over_m, 5.0)), ("fly forward", 10, 100)])
    scene = flight(rises, findings=[finding("height_from_first_fix", severity="note")])
    for log, known in (("gpx", told), ("made", True)):
        view = FlightView(scene.with_facts(log=log), UrbanRules())
        assert (view.carried is None) == known
    lower = motion([("fly forward+ascend", 4, (1.0, 4.9)), ("fly forward", 10, 100)])
    refused = FlightView(scene.with_facts(log="gpx", motion=lower), UrbanRules()).carried
    assert (refused.reason, refused.measured, refused.limit) == ("not_known_to_fly", 0.0, 0.7)
    assert FlightView(scene.with_facts(log="gpx", motion=lower, nose_first=True), UrbanRules()).carried is None


def test_a_flight_of_no_length_is_not_drawn() -> None:
    moved = motion([("hover", 1, 0)])
    for t_s, drawable in (((), False), ((0.0,), False), ((0.0, 0.2), True)):
        assert flight(moved.model_copy(update={"t_s": t_s}), sight=False, video_s=1.0).facts.drawable is drawable


def test_places_on_the_drawn_map_by_hand() -> None:
    """East at 10 m/s: 236 m and 244 m east are where a mark 300 m off comes surely, and maybe, onto the map."""
    scene = flight(motion([("fly right", 20, 200)]), [mark("pond", 300, 0, radius=6.0)], filmed=False)
    view = FlightView(scene, UrbanRules())
    assert view.first_seen_s(0) == pytest.approx(6.4)
    assert view.out_of_view_s(0, 0.0) == pytest.approx(5.0), "6 m and 4 m before the edge"
    assert view.in_view_s(0, 10.0) == pytest.approx(3.6)


ELL = [(0, 0), (20, 0), (20, 5), (5, 5), (5, 20), (0, 20)]


@pytest.mark.parametrize("corners", [ELL, ELL[::-1]])
def test_distance_over_ground_to_a_footprint_by_hand(corners: list[tuple[float, float]]) -> None:
    ell = NamedLandmark(0, "the ell", None, np.array([7.5, 7.5]), 20.0, np.array(corners, dtype=float), 0.0, 9.0)
    points = np.array([(2.0, 15, 40), (15, 2, 0), (10, 12, 0), (-3, -4, 0), (5, 20.5, 0), (20, 5, 0), (np.nan, 0, 0)])
    np.testing.assert_allclose(ell.distance_m(points), [0, 0, 5, 5, 0.5, 0, np.nan], atol=1e-12)
