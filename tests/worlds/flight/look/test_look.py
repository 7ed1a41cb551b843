"""A sample flight whose map declares no looks: what a model says is found, and lies are not; the stage in a build."""

import hashlib
import json
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest

from flows.orchestration.forecast import describe_forecast, forecast_of
from pipeline.benchmarks.urbanvideo.rules import PROFILES
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Rejection
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.manifest import Outcome
from pipeline.formats.videos import VideoPictures
from pipeline.geometry.colours import margins
from pipeline.geometry.tracks import FlightGeometry
from pipeline.llm.base import Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.llm.session import Session
from pipeline.questions.model_authoring import ANSWERED
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.appearance import Appearance, may_be
from pipeline.samples.flight.city import Block, Form, blocks
from pipeline.samples.flight.pilot import FlightPlan, PilotMove
from pipeline.samples.flight.write import DATASET, FPS, FlightTruth, write_flights
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.flight.facts import DescribedLandmark, FlightCamera, FlightScene, Landmark
from pipeline.worlds.flight.look.look import (
    CHOICES,
    TALL,
    UNCLEAR,
    WIDE,
    Answer,
    PicturedThings,
    _crops,
    _look_findings,
    answered,
    believed,
    calls,
    is_complete,
    look_at_flight,
    obstacle,
    pictured,
    ratio_of,
)
from pipeline.worlds.flight.look.survey import APART_MIN_S, NAMES, SHOWN_MIN, SIZE_MIN, Glimpse, chosen
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.view import FlightView
from pipeline.worlds.registry import READERS
from tests.builds import UNASKED, results_of, whys
from tests.llm.asking import KEY, hosted
from tests.llm.fake_server import running

# ---- sample flights without what their maps declare of looks, and what the sample city draws


DECLARED: Final = ("colour", "roof_shape")
CONFIG: Final = MotionConfig()
MOST: Final = 40
_SHAPES: Final[dict[Form, str]] = {
    "box": "flat", "domed": "domed", "pitched": "pitched", "church": "pitched", "rounded": "rounded",
}  # fmt: skip


@dataclass
class Bare:
    """A flight: as read, as observed by its map alone, what its video shows, and what was planted."""

    before: FlightScene
    geometry: FlightGeometry
    observed: FlightScene
    shown: PicturedThings
    truth: FlightTruth

    def drawn(self, mark: Landmark) -> Block:
        """The block of the city that a landmark is."""
        away = [np.hypot(*np.subtract(solid.center, mark.center)) for solid in self.truth.buildings]
        return [block for block in blocks() if block.form != "park"][int(np.argmin(away))]

    def honest(self, mark: Landmark) -> Answer:
        """What anybody says who sees it."""
        block, look = self.drawn(mark), mark.appearance
        low, high = ratio_of(mark)
        size = TALL if low >= 1 else WIDE if high <= 1 else UNCLEAR
        shape = _SHAPES.get(block.form, UNCLEAR)
        said = {"kind": look.noun if look else UNCLEAR, "proportions": size, "roof_shape": shape}
        return said | dict.fromkeys(("walls", "roof"), word_of(block.color))


def word_of(colour: tuple[int, int, int]) -> str:
    """The word for a colour as it is drawn."""
    found = margins(np.array([colour], dtype=np.float64))
    return max(found, key=lambda word: float(found[word][0]))


def stripped(flights: Path, names: tuple[str, ...], into: Path) -> Path:
    """A root of some sample flights whose maps declare no colour and no roof."""
    for name in names:
        shutil.copytree(flights / name, into / name)
        for path in (into / name).glob("*.geojson"):
            found = json.loads(path.read_text())
            for feature in found["features"]:
                for key in DECLARED:
                    feature["properties"].pop(key, None)
            path.write_text(json.dumps(found))
    return into


def bare(flights: Path, name: str, into: Path) -> Bare:
    """One of the sample flights."""
    root, reader = stripped(flights, (name,), into), READERS["flights"]
    (ref,) = reader.scenes(root).scenes
    files = SceneFiles(root, ref)
    before = reader.read(files)
    geometry = reader.geometry(files, before)
    observed = observe_flight(before, geometry, CONFIG)
    video = VideoPictures(root / name / "video.mp4")

    def picture_at(second: float) -> np.ndarray:
        found = video(int(second * FPS))
        assert found is not None
        return found

    shown = pictured(observed, geometry, picture_at, MOST)
    return Bare(
        before,
        geometry,
        observed,
        shown,
        FlightTruth.model_validate_json((flights / "truth" / f"{name}.json").read_bytes()),
    )


MARGIN = CONFIG.describe.colour_margin


@pytest.fixture(scope="module")
def flight(flights: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    return bare(flights, "old_quarter", tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def seen(flight: Bare, tmp_path_factory: pytest.TempPathFactory) -> FlightScene:
    """The flight as an honest model sees it, over the real protocol."""
    pictures = {}
    for index, crops in asked(flight):
        for one in crops:
            answer = json.dumps(flight.honest(flight.before.facts.landmarks[index]))
            pictures[hashlib.sha256(one.jpeg).hexdigest()] = f"```json\n{answer}\n```"
    with running(pictures=pictures) as server:
        spec = hosted(server.address, inputs=("text", "image"), attempts=1)
        with Session([spec], tmp_path_factory.mktemp("look") / "replies", {"PLANTED_KEY": KEY}) as session:
            found = answered(flight.before, flight.geometry, CONFIG, flight.shown, lambda r: session.ask(spec.name, r))
        assert len(server.records()) == 2 * len(flight.shown.crops) <= calls(flight.observed, MOST)
    return found


def asked(flight: Bare) -> list[tuple[int, tuple]]:
    """Landmarks by their indices with their crops."""
    return [(flight.shown.things.landmarks[thing], crops) for thing, crops in flight.shown.crops]


@pytest.mark.slow
def test_pictures_are_large_unhidden_and_apart(flight: Bare) -> None:
    assert len(flight.shown.crops) >= 12
    for _, (first, second) in flight.shown.crops:
        assert abs(first.second - second.second) >= APART_MIN_S
        assert min(first.size, second.size) >= SIZE_MIN
        assert min(first.shown, second.shown) >= SHOWN_MIN


@pytest.mark.slow
def test_the_words_found_are_what_the_city_draws(flight: Bare, seen: FlightScene) -> None:
    words = {i: mark.pictured.words for i, mark in enumerate(seen.facts.landmarks) if mark.pictured}
    assert set(words) == {index for index, _ in asked(flight)}
    for index, found in words.items():
        drawn = flight.honest(flight.before.facts.landmarks[index])
        assert found.items() <= drawn.items()
    told = Counter(fact for found in words.values() for fact in found)
    assert told["walls"] >= 10
    assert min(told["roof"], told["roof_shape"]) >= 8
    assert is_complete(seen)


@pytest.mark.slow
def test_labels_tell_what_the_map_did_not_and_fit_nothing_else_that_is_drawn(flight: Bare, seen: FlightScene) -> None:
    def coloured(scene: FlightScene) -> dict[int, str]:
        marks = enumerate(scene.facts.landmarks)
        return {i: m.label for i, m in marks if m.label and any(f" {word} " in f" {m.label} " for word in NAMES)}

    assert coloured(flight.observed) == {}
    labels = coloured(seen)
    assert {"the purple building"} < set(labels.values())
    assert seen.facts.goal == "the purple building"
    shown = {flight.shown.things.landmarks[thing] for thing in flight.shown.seen.glimpses}
    for index, label in labels.items():
        mark = seen.facts.landmarks[index]
        assert mark.pictured is not None
        assert "said by a model of the video at" in mark.appearance.source_tags["walls"]
        assert {"colour_not_in_picture", "colour_doubtful"} <= {e.name for e in mark.proof}
        (word,) = (word for word in NAMES if f" {word} " in f" {label.partition(' beside ')[0]} ")
        plain = label == f"the {word} {mark.appearance.noun}"
        alike = [i for i in shown - {index} if _is_drawn(flight, seen.facts.landmarks[i], word, mark.appearance.noun)]
        assert not (plain and alike), label


def _is_drawn(flight: Bare, mark: Landmark, word: str, noun: str) -> bool:
    return bool(mark.appearance and mark.appearance.noun in may_be(noun) and flight.honest(mark)["walls"] == word)


@pytest.mark.slow
def test_questions_say_that_they_rest_on_what_a_model_saw(flight: Bare, seen: FlightScene) -> None:
    rules = PROFILES["strict"]
    task = URBAN_TASKS["Landmark Position"]
    for scene, flag in ((flight.observed, False), (seen, True)):
        assert ("look_from_pictures" in (task.flags(FlightView(scene, rules)) or [])) == flag
    assert "look_from_pictures" not in (URBAN_TASKS["Duration"].flags(FlightView(seen, rules)) or [])


@pytest.mark.slow
def test_lies_about_colours_and_roofs_are_caught(flight: Bare) -> None:
    """Of a model that says the same wrong word of both pictures, in whatever order its choices stand."""
    count: Counter[str] = Counter()
    for index, crops in asked(flight):
        mark = flight.before.facts.landmarks[index]
        assert mark.appearance is not None
        honest = flight.honest(mark)
        for fact, said in (
            *((("walls", "roof"), w) for w in NAMES),
            *((("roof_shape",), w) for w in CHOICES["roof_shape"]),
        ):
            lied = [name for name in fact if honest[name] not in (said, UNCLEAR)]
            answer = honest | dict.fromkeys(lied, said)
            found = believed(mark, mark.appearance, crops, (answer, answer), MARGIN)
            count["lies"] += len(lied)
            count["believed"] += len(found.words.keys() & set(lied))
    assert count["lies"] >= 400
    assert count["believed"] <= 0.03 * count["lies"], (
        "grey and white in shade, and which of the roofs that are not flat"
    )


@pytest.mark.slow
def test_who_always_chooses_the_first_word_is_believed_nothing(flight: Bare) -> None:
    def first(request: Request) -> Reply:
        return Reply(json.dumps({name: one["enum"][0] for name, one in request.schema["properties"].items()}))

    found = answered(flight.before, flight.geometry, CONFIG, flight.shown, first)
    pictured = [mark.pictured for mark in found.facts.landmarks if mark.pictured]
    assert pictured
    assert all(one.words == {} and one.refused for one in pictured)


@pytest.mark.slow
def test_a_call_without_an_answer_is_told_and_made_again(flight: Bare) -> None:
    def refuse(request: Request) -> Reply:
        raise ModelError("quota", "no more today")

    found = answered(flight.before, flight.geometry, CONFIG, flight.shown, refuse)
    assert not is_complete(found)
    (finding,) = (f for f in found.findings if f.name == "look_quota")
    assert (finding.measured, finding.limit, finding.unit) == (1, 0, "failed calls")
    assert found.facts.goal == flight.before.facts.goal, "a name, since nothing is known of its looks"


def test_without_heading_or_camera_nobody_is_asked(flight: Bare) -> None:
    blind = flight.observed.with_facts(camera=None)
    assert obstacle(blind) == "the camera's field of view is not known"
    assert calls(blind, MOST) == 0

    def never(*_: object) -> Reply:
        raise AssertionError

    found = look_at_flight(flight.before, blind, flight.geometry, MotionConfig(), never, (never,), MOST)
    (finding,) = (f for f in found.findings if f.name == "pictures_not_looked_at")
    assert finding.severity == "note"
    assert found.facts.landmarks == blind.facts.landmarks


CAMERA = FlightCamera(horizontal_fov_deg=60, width=384, height=216, pitch_deg=-20)
PLAN = FlightPlan(
    "museum",
    "px4",
    (-45.0, 120.0),
    90.0,
    (PilotMove(0.5), PilotMove(3.0, up=9.0, step="take off"), PilotMove(3.5)),
    "Museum 't Hof",
    CAMERA,
)
# A model that calls everything an orange building: only the museum is one.
ORANGE = {"kind": "building", "proportions": UNCLEAR, "walls": "orange", "roof": "orange", "roof_shape": UNCLEAR}
ASKED = "cut out of a video"
SOME = {name: STAGES[name] for name in ("unify", "fix", "video", "observe", "describe", "generate")}


def model_at(address: str) -> dict[str, Any]:
    model = {"provider": "openai", "model": "plain", "base_url": f"{address}/v1", "key_env": "PLANTED_KEY"}
    return model | {"inputs": ["text", "image"], "attempts": 1}


def config(root: Path, address: str, **sections: Any) -> BuildConfig:
    look = {"model": model_at(address)} | sections.pop("describe", {})
    own = {"build": "urbanvideo", "benchmark": "urbanvideo", "roots": {"flights": root}, "author": {"model": None}}
    return build_config(own | {"describe": look} | UNASKED | sections)


def build(made: BuildConfig, out: Path) -> Outcome:
    return Builder(made, out, keys={"PLANTED_KEY": KEY}, stages=SOME).build()


def scene(out: Path, outcome: Outcome) -> FlightScene:
    return FlightScene.model_validate_json(results_of(out, outcome)["describe", f"{DATASET}/museum"])


@pytest.mark.slow
def test_a_build_asks_once_and_only_what_it_has_no_answer_to(tmp_path: Path) -> None:
    write_flights(tmp_path / "flights", (PLAN,))
    root, out = stripped(tmp_path / "flights", (PLAN.id,), tmp_path / "bare"), tmp_path / "out"
    with running(replies={ASKED: "I see a house."}) as server:
        failed = build(config(root, server.address), out)
        assert {f.name for f in scene(out, failed).findings} >= {"look_malformed"}
        assert [f.requests for f in describe_forecast(config(root, server.address), out, [f"{DATASET}/museum"])] != [0]
    with running(replies={ASKED: json.dumps(ORANGE)}) as server:
        outcome = build(config(root, server.address), out)
        found, sent = scene(out, outcome), len(server.records())
        assert whys(outcome)["observe"] == {"reused"}
        fewer = build(config(root, server.address, describe={"things": 1}), out)
        assert whys(fewer)["describe"] == {"config"}
        assert len(server.records()) == sent, "what was answered is not asked again"
        assert sum(mark.pictured is not None for mark in scene(out, fewer).facts.landmarks) == 1
    told = {mark.name: mark.pictured for mark in found.facts.landmarks if mark.pictured}
    assert len(told) * 2 == sent >= 4
    museum = told.pop(PLAN.goal)
    assert museum.words["walls"] == "orange"
    assert all(one is not None and one.words == {} and one.refused for one in told.values())
    assert found.facts.goal == 'the building with orange walls with the sign "MUSEUM"'
    hosted = model_at(server.address)
    written = config(root, server.address, author={"model": hosted | {"name": "writer"}, "second": hosted})
    author, second = forecast_of(written, out, [f"{DATASET}/museum"]) or ()
    assert second.requests == ANSWERED * 2 * (author.requests - 2) > 0, "three calls of each of two questions"
    without = build(config(root, "http://127.0.0.1:1", video=False), out)
    assert "describe" not in whys(without)
    assert whys(without)["generate"] == {"input"}


def test_a_model_that_takes_no_pictures_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="it is shown pictures: set inputs"):
        config(tmp_path, "http://127.0.0.1:1", describe={"model": {"provider": "openai", "model": "m"}})


def test_crops_are_the_largest_at_the_limits_of_size_outline_and_time() -> None:
    hidden, small = Glimpse(0, 0.5, 0.59), Glimpse(1, 0.0039, 1.0)
    least, near, apart, smaller = Glimpse(2, 0.004, 0.6), Glimpse(3, 0.3, 0.8), Glimpse(4, 0.2, 0.8), Glimpse(5, 0.1, 1)
    seconds = [0.0, 0.0, 9.0, 1.0, 3.0, 6.0]
    assert chosen([hidden, small, least], seconds) == [least]
    assert chosen([hidden, least, near, apart, smaller], seconds) == [near, apart]
    assert chosen([near, apart, smaller], [0.0, 0.0, 0.0, 1.0, 2.99, 6.0]) == [near, smaller]


def test_only_things_of_whose_looks_something_is_missing_are_cut_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four: one of unknown kind, one of known walls, roof and shape, one seen once, one of unknown walls."""
    monkeypatch.setattr("pipeline.worlds.flight.look.look.crop", lambda *args: (args[-2].moment, args[-1]))
    whole = Appearance(noun="house", walls=(200, 0, 0), roof=(9, 9, 9), roof_shape="flat")
    looks = (None, whole, Appearance(noun="house"), whole.model_copy(update={"walls": None}))
    flight = SimpleNamespace(landmarks=[SimpleNamespace(appearance=look) for look in looks])
    twice = [Glimpse(0, 0.3, 1.0), Glimpse(1, 0.2, 1.0)]
    seen = SimpleNamespace(glimpses={0: twice, 1: twice, 2: twice[:1], 3: twice}, t_s=np.array([1.0, 9.0]), eyes=[0, 1])
    things = SimpleNamespace(landmarks=[0, 1, 2, 3], prisms=None)
    assert _crops(flight, things, seen, lambda second: None, 5) == ((3, ((0, 1.0), (1, 9.0))),)


def test_of_words_that_were_not_believed_the_nearest_to_its_limit_is_told() -> None:
    refused = [Rejection(reason="not_that_colour", measured=m, limit=0.5, unit="share") for m in (0.2, 0.4, None)]
    pictured = DescribedLandmark(seconds=(1.0,), words={}, evidence=(), refused=tuple(refused))
    looked, unbelieved = _look_findings([SimpleNamespace(pictured=pictured), SimpleNamespace(pictured=None)], 2)
    assert (looked.name, looked.measured) == ("looked_at", 1)
    assert (unbelieved.name, unbelieved.measured, unbelieved.limit) == ("not_that_colour", 0.4, 0.5)
    assert unbelieved.message == "3 words of the model about 1 things were not believed"
