"""Corrections of a flight: landmarks of its map, its goal, the time of its video, its headings."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from pipeline.core.findings import printable
from pipeline.core.fixes import Fix, UnexpectedError, expected
from pipeline.core.schema import Model, Name
from pipeline.worlds.flight.facts import FlightScene, Landmark

NEAR_M: Final = 0.1  # an expected position may be rounded to this
NEAR_S: Final = 0.01
NEAR_DEG: Final = 0.01
FAR_M: Final = 100_000.0
LONG_S: Final = 86_400.0


def _printable(name: str) -> str:
    if printable(name) != name:
        raise ValueError("the name has control characters")
    return name


Said = Annotated[Name, AfterValidator(_printable)]
East = Annotated[FiniteFloat, Field(ge=-FAR_M, le=FAR_M)]
Degrees = Annotated[FiniteFloat, Field(ge=-180, le=180)]
Seconds = Annotated[FiniteFloat, Field(ge=-LONG_S, le=LONG_S)]


class PlaceFix(Model):
    """Where a landmark lies: east and north of the flight's origin, metres."""

    center_m: tuple[East, East]


class FlightFix(Fix):
    """A correction of a flight. What it changes can be said of, or seen from, anywhere: all questions rest on it."""

    world = "flight"
    path_parts: ClassVar[tuple[str, ...]] = ("{0.target}",)


class LandmarkFix(FlightFix):
    """A correction of one landmark."""

    path_parts: ClassVar[tuple[str, ...]] = ("landmark", "{0.of}", "{0.number}")
    of: Said = Field(description="its name in the map")
    instance: int | None = Field(default=None, ge=0, strict=True, description="which of this name, in the map's order")

    @property
    def number(self) -> int:
        """Which of its name it is."""
        return self.instance or 0

    @property
    def name(self) -> str:
        """The landmark in words."""
        return self.of if self.instance is None else f"{self.of} #{self.instance}"

    def index(self, scene: FlightScene) -> int:
        """Which landmark of the flight it is. Raises `UnexpectedError`."""
        found = [i for i, mark in enumerate(scene.facts.landmarks) if mark.name == self.of]
        if self.instance is None and len(found) > 1:
            raise UnexpectedError(f"there are {len(found)} landmarks {self.of}: say which with instance")
        if self.number >= len(found):
            raise UnexpectedError(f"there is no landmark {self.name}; {len(found)} have this name")
        return found[self.number]


class _PlacedFix(LandmarkFix):
    """A correction of a landmark that is known by where it lies."""

    expect: PlaceFix

    def check(self, scene: FlightScene) -> None:
        """Raises `UnexpectedError` where the landmark lies elsewhere."""
        center = scene.facts.landmarks[self.index(scene)].center
        if max(abs(a - b) for a, b in zip(center, self.expect.center_m, strict=True)) > NEAR_M:
            now = [round(v, 1) + 0.0 for v in center]
            raise UnexpectedError(f"landmark {self.name}: expected center_m {list(self.expect.center_m)}, found {now}")


class DropLandmark(_PlacedFix):
    """A landmark that is not there."""

    change_text = "landmark {0.name} left out"
    target: Literal["drop_landmark"]
    set: None


class LandmarkPlaceFix(_PlacedFix):
    """Where a landmark lies; its outline moves with it."""

    path_parts = (*LandmarkFix.path_parts, "position")
    target: Literal["landmark_position"]
    set: PlaceFix

    @property
    def change(self) -> str:
        """See `Fix.change`."""
        return f"landmark {self.name} moved from {list(self.expect.center_m)} to {list(self.set.center_m)} m"

    def moved(self, mark: Landmark) -> Landmark:
        """The landmark in its new place."""
        east, north = (new - old for new, old in zip(self.set.center_m, mark.center, strict=True))
        outline = mark.outline and tuple((x + east, y + north) for x, y in mark.outline)
        return mark.model_copy(update={"center": self.set.center_m, "outline": outline})


class LandmarkNameFix(LandmarkFix):
    """The name of a landmark; null: it has none."""

    path_parts = (*LandmarkFix.path_parts, "name")
    target: Literal["landmark_name"]
    expect: Said
    set: Said | None

    @property
    def change(self) -> str:
        """See `Fix.change`."""
        return f"landmark {self.name} " + ("has no name" if self.set is None else f"renamed {self.set}")

    def check(self, scene: FlightScene) -> None:
        """Raises `UnexpectedError`."""
        expected("name of the landmark", self.expect, scene.facts.landmarks[self.index(scene)].name)


class GoalFix(FlightFix):
    """Where the pilot was sent."""

    target: Literal["goal"]
    expect: Said | None
    set: Said | None

    @property
    def change(self) -> str:
        """See `Fix.change`."""
        return f"goal {self.expect or 'not known'} -> {self.set or 'not known'}"

    def check(self, scene: FlightScene) -> None:
        """Raises `UnexpectedError`."""
        expected("goal", self.expect, scene.facts.goal)


class NumberFix(FlightFix):
    """A correction of one number of the flight, that which the target names."""

    near: ClassVar[float]  # an expected value may be off by this

    def check(self, scene: FlightScene) -> None:
        """Raises `UnexpectedError`."""
        found, wanted = getattr(scene.facts, self.target), self.model_dump()["expect"]
        if abs(found - wanted) > self.near:
            raise UnexpectedError(f"{self.target}: expected {wanted:g}, found {found:g}")


class OffsetFix(NumberFix):
    """Time of the log at the start of the video, seconds."""

    change_text = "the video begins at {0.set:g} s of the log, not {0.expect:g}"
    near = NEAR_S
    target: Literal["video_offset_s"]
    expect: Seconds
    set: Seconds


class HeadingFix(NumberFix):
    """By how much every heading of the log is off: a compass near metal, or true north for magnetic. Clockwise."""

    change_text = "{0.set:g} degrees are added to the log's headings, not {0.expect:g}"
    near = NEAR_DEG
    target: Literal["heading_offset_deg"]
    expect: Degrees
    set: Degrees


FIXES: Final[tuple[type[Fix], ...]] = (DropLandmark, LandmarkPlaceFix, LandmarkNameFix, GoalFix, OffsetFix, HeadingFix)


def fix_flight(scene: FlightScene, fixes: Sequence[FlightFix]) -> FlightScene:
    """The flight with all corrections."""
    marks: list[Landmark | None] = list(scene.facts.landmarks)
    changes: dict[str, object] = {}
    for fix in fixes:
        if isinstance(fix, LandmarkFix):
            index = fix.index(scene)
            mark = marks[index]
            if mark is None or isinstance(fix, DropLandmark):
                marks[index] = None
            elif isinstance(fix, LandmarkPlaceFix):
                marks[index] = fix.moved(mark)
            elif isinstance(fix, LandmarkNameFix):
                marks[index] = mark.model_copy(update={"name": fix.set})
        elif isinstance(fix, GoalFix | OffsetFix | HeadingFix):
            changes[fix.target] = fix.set
    return scene.with_facts(landmarks=tuple(mark for mark in marks if mark is not None), **changes)


def drafts(scene: FlightScene, operands: Sequence[str]) -> list[dict[str, Any]]:
    """Landmarks that a question names, the goal, the time of the video and the headings, as they are."""
    flight = scene.facts
    values: dict[str, Any] = {
        "video_offset_s": flight.video_offset_s,
        "heading_offset_deg": flight.heading_offset_deg,
        **({"goal": flight.goal} if flight.goal else {}),
    }
    found = [{"target": target, "expect": value, "set": value} for target, value in values.items()]
    for name in dict.fromkeys(operands):
        own = [mark for mark in flight.landmarks if mark.name == name]
        for instance, mark in enumerate(own):
            at = {"of": name} | ({"instance": instance} if len(own) > 1 else {})
            place = {"center_m": [round(v, 1) + 0.0 for v in mark.center]}
            found.append({"target": "drop_landmark", **at, "expect": place, "set": None})
            found.append({"target": "landmark_position", **at, "expect": place, "set": dict(place)})
    return found
