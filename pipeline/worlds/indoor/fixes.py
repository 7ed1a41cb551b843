"""Corrections of a scan: counts, boxes, categories, objects, the room, the turn of the video."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat, model_validator

from pipeline.core.findings import Findings, doubt, note
from pipeline.core.fixes import SCENE, Fix, UnexpectedError, expected
from pipeline.core.schema import Finding, Mat3, Model, Name, OrientedBox, Vec3
from pipeline.reading.checks import THIN_M, check_box, check_name, check_repeats
from pipeline.worlds.indoor.facts import (
    CALLED_OTHERWISE,
    LOOKED_AT,
    OTHERS_IN_VIEW,
    TWO_BOXES_OF_ONE,
    IndoorScene,
    SceneObject,
    count_doubts,
)

NEAR: Final = 0.01  # metres, or parts of a unit axis: an expected number may be rounded to this
STRAIGHT: Final[Mat3] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))  # axes of a box along those of the scan
AREA_MAX_M2: Final = 10_000.0
OF_A_COUNT: Final = frozenset({"doubtful_label", "unlisted_label", "object_without_box"})  # settled by counting
OF_A_BOX: Final = frozenset({"count_differs_from_boxes", "doubled_box", "thin_box"})  # told by counts and boxes alone

Turn = Literal[0, 90, 180, 270]


def _category(name: str) -> str:
    findings = Findings()
    if not check_name(name, findings):
        raise ValueError(findings.items[0].message)
    return name


Category = Annotated[Name, AfterValidator(_category)]


class BoxPart(Model):
    """A box, or some of its values: metres in the scan's own frame, one unit axis per row."""

    center_m: Vec3 | None = None
    lengths_m: tuple[FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    axes: Mat3 | None = None

    @model_validator(mode="after")
    def _sound(self) -> BoxPart:
        if not self.given:
            raise ValueError("give center_m, lengths_m or axes")
        raw = {
            "centroid": list(self.center_m or (0.0, 0.0, 0.0)),
            "axesLengths": list(self.lengths_m or (1.0, 1.0, 1.0)),
            "normalizedAxes": [v for row in self.axes or STRAIGHT for v in row],
        }
        findings = Findings()
        check_box(raw, "the box", "box", findings)
        if findings.faults:
            raise ValueError("; ".join(f"{fault.message} ({fault.remedy})" for fault in findings.faults))
        return self

    @property
    def given(self) -> tuple[str, ...]:
        """The values that are given."""
        return tuple(name for name in BoxPart.model_fields if getattr(self, name) is not None)

    def fits(self, box: OrientedBox) -> bool:
        """Whether a box has these values, to `NEAR`."""
        own = {"center_m": box.center, "lengths_m": box.lengths, "axes": box.axes}
        return all(_nearly_equal(getattr(self, name), own[name]) for name in self.given)

    def put_into(self, box: OrientedBox) -> OrientedBox:
        """A box with these values in place of its own."""
        names = {"center_m": "center", "lengths_m": "lengths", "axes": "axes"}
        return box.model_copy(update={names[name]: getattr(self, name) for name in self.given})


class ScanFix(Fix):
    """A correction of a scan."""

    world = "indoor"


class CountFix(ScanFix):
    """How many objects of a category there are. Where there are other boxes, only the count is asked about."""

    path_parts = ("count", "{0.of}")
    subject_parts = ("{0.of}",)
    change_text = "count of {0.of} {0.expect} -> {0.set}"
    target: Literal["count"]
    of: Category
    expect: int = Field(ge=0, strict=True)
    set: int = Field(ge=0, le=10_000, strict=True)

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        expected(f"count of {self.of}", self.expect, scene.facts.counts.get(self.of, 0))


class ObjectFix(ScanFix):
    """A correction of one object."""

    path_parts: ClassVar[tuple[str, ...]] = ("object", "{0.of}", "{0.number}")
    subject_parts: ClassVar[tuple[str, ...]] = ("{0.of}",)
    of: Category
    instance: int | None = Field(
        default=None, ge=0, strict=True, description="which of its category, as the metadata number them from 0"
    )
    expect: BoxPart

    @property
    def number(self) -> int:
        """Which of its category it is."""
        return self.instance or 0

    @property
    def name(self) -> str:
        """The object in words."""
        return self.of if self.instance is None else f"{self.of} #{self.instance}"

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        there = {o.instance: o for o in scene.facts.objects if o.category == self.of}
        if self.instance is None and len(there) > 1:
            raise UnexpectedError(f"there are {len(there)} objects {self.of}: say which with instance")
        item = there.get(self.number)
        if item is None:
            raise UnexpectedError(f"there is no {self.name}; the scene has {len(there)} of this category")
        if not self.expect.fits(item.box):
            box = item.box
            now = f"center_m {_rounded(box.center)}, lengths_m {_rounded(box.lengths)}"
            expected_text = ", ".join(f"{name} {_rounded(getattr(self.expect, name))}" for name in self.expect.given)
            raise UnexpectedError(f"box of {self.name}: expected {expected_text}, found {now}")


class BoxFix(ObjectFix):
    """Where an object is, and how large."""

    path_parts = (*ObjectFix.path_parts, "box")
    target: Literal["box"]
    set: BoxPart

    @model_validator(mode="after")
    def _the_same_values(self) -> BoxFix:
        if self.expect.given != self.set.given:
            raise ValueError(f"expect gives {', '.join(self.expect.given)}, set gives {', '.join(self.set.given)}")
        return self

    @property
    def change(self) -> str:
        """See `Fix.change`."""
        parts = [f"{n} {_rounded(getattr(self.expect, n))} -> {_rounded(getattr(self.set, n))}" for n in self.set.given]
        return f"box of {self.name}: {', '.join(parts)}"


class CategoryFix(ObjectFix):
    """The category of an object."""

    path_parts = (*ObjectFix.path_parts, "category")
    subject_parts = ("{0.of}", "{0.set}")
    change_text = "{0.name} is a {0.set}"
    target: Literal["category"]
    set: Category


class DropObject(ObjectFix):
    """An object that is none. The count of its category goes with it, where it was that of the boxes."""

    change_text = "{0.name} left out"
    target: Literal["drop_object"]
    set: None


class AddObject(ScanFix):
    """An object without a box in the source. The count of its category goes with it, where it was that of the boxes."""

    path_parts = ("added", "{0.id}")
    subject_parts = ("{0.of}",)
    change_text = "one more {0.of}"
    target: Literal["add_object"]
    of: Category
    expect: int = Field(ge=0, strict=True, description="boxes of it in the source")
    set: BoxPart

    @model_validator(mode="after")
    def _check_complete(self) -> AddObject:
        if self.set.center_m is None or self.set.lengths_m is None:
            raise ValueError("set needs center_m and lengths_m")
        return self

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        _expect_boxes(scene, self.of, self.expect)


def _expect_boxes(scene: IndoorScene, category: str, count: int) -> None:
    expected(f"boxes of {category}", count, sum(o.category == category for o in scene.facts.objects))


class RenameFix(ScanFix):
    """The name of a whole category of a scene."""

    path_parts = ("name", "{0.expect}")
    subject_parts = ("{0.expect}", "{0.set}")
    change_text = "{0.expect} renamed {0.set}"
    target: Literal["rename"]
    expect: Category
    set: Category

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        known = sorted({*scene.facts.counts, *(o.category for o in scene.facts.objects)})
        if self.expect not in known:
            raise UnexpectedError(f"expected a category {self.expect}, found {', '.join(known) or 'none'}")


class RoomAreaFix(ScanFix):
    """The area of the room."""

    path_parts = ("room",)
    subject_parts = (SCENE, "room")  # limits of all questions depend on the room's size
    target: Literal["room_area"]
    expect: FiniteFloat | None = Field(description="m2; null: not measured")
    set: Annotated[FiniteFloat, Field(gt=0, le=AREA_MAX_M2)] | None

    @property
    def change(self) -> str:
        """See `Fix.change`."""
        return f"area of the room {_area(self.expect)} -> {_area(self.set)}"

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        area_m2 = scene.facts.room.area_m2
        off = abs((self.expect or 0.0) - (area_m2 or 0.0))
        if (area_m2 is None) != (self.expect is None) or off > max(NEAR, _half_of_last_decimal(self.expect)):
            raise UnexpectedError(f"area of the room: expected {_area(self.expect)}, found {_area(area_m2)}")


class RotationFix(ScanFix):
    """The turn that makes the video upright, degrees clockwise."""

    path_parts = ("rotation",)
    change_text = "video turned by {0.set} degrees, not {0.expect}"
    target: Literal["rotation"]
    expect: Turn
    set: Turn

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        if scene.video is None:
            raise UnexpectedError(f"turn of the video: expected {self.expect}, found no video")
        expected("turn of the video", self.expect, scene.video.turn_deg)


class SeenFix(ScanFix):
    """The result of a look at all that is annotated as one category, in pictures of the video."""

    path_parts = ("seen", "{0.of}")
    subject_parts = ("{0.of}",)
    change_text = "{0.of}, looked at in the video: {0.set}"
    target: Literal["seen"]
    of: Category = Field(description="as it is called once the other fixes are applied")
    expect: int = Field(ge=0, strict=True, description="boxes of it in the source")
    set: Literal["right", "called_otherwise", "others_in_view", "two_boxes_of_one"]

    def check(self, scene: IndoorScene) -> None:
        """Raises `UnexpectedError`."""
        _expect_boxes(scene, self.of, self.expect)

    @property
    def finding(self) -> Finding:
        """What follows for the category: a doubt, or that no model need look at it."""
        message = f"{self.who} looked at {self.of} in pictures of the video"
        if self.set == "right":
            return note(LOOKED_AT, self.of, f"{message}: each is one, and none is missing", "none needed")
        remedy = "correct the boxes or their names in a fix, then delete this one"
        found = SEEN[self.set]
        return doubt(self.set, self.of, f"{message}: {found}", remedy, 1, 0, "objects")


SEEN: Final = {
    CALLED_OTHERWISE: "something else is among them",
    OTHERS_IN_VIEW: "one more is there without a box",
    TWO_BOXES_OF_ONE: "two boxes are around one thing",
}
FIXES: Final[tuple[type[Fix], ...]] = (
    CountFix,
    BoxFix,
    CategoryFix,
    DropObject,
    AddObject,
    RenameFix,
    RoomAreaFix,
    RotationFix,
    SeenFix,
)


def fix_scan(scene: IndoorScene, fixes: Sequence[ScanFix]) -> IndoorScene:
    """The scene with all corrections; what its counts and boxes were doubted for is looked at again."""
    facts, video, room = scene.facts, scene.video, scene.facts.room
    renamed = {fix.expect: fix.set for fix in fixes if isinstance(fix, RenameFix)}
    objects = {(o.category, o.instance): _with_category(o, renamed.get(o.category, o.category)) for o in facts.objects}
    for fix in fixes:
        at = (fix.of, fix.number) if isinstance(fix, ObjectFix) else ("", 0)
        if isinstance(fix, BoxFix):
            objects[at] = objects[at].model_copy(update={"box": fix.set.put_into(objects[at].box)})
        elif isinstance(fix, CategoryFix):
            objects[at] = _with_category(objects[at], fix.set)
        elif isinstance(fix, DropObject):
            del objects[at]
        elif isinstance(fix, RoomAreaFix):
            room = room.model_copy(update={"area_m2": fix.set, "area_method": f"fix {fix.id}", "area_failure": None})
        elif isinstance(fix, RotationFix) and video is not None:
            video = video.model_copy(update={"turn_deg": fix.set})
    for fix in sorted((fix for fix in fixes if isinstance(fix, AddObject)), key=lambda fix: fix.id):
        box = fix.set.put_into(OrientedBox(center=(0, 0, 0), lengths=(0, 0, 0), axes=STRAIGHT))
        objects[fix.id, 0] = SceneObject(category=renamed.get(fix.of, fix.of), instance=0, box=box)
    touched = {subject for fix in fixes for subject in fix.subjects}
    settled = scene.model_copy(update={"findings": _findings(scene, fixes, touched, renamed), "video": video})
    counts = _counts(scene, fixes, renamed)
    fixed = settled.with_facts(objects=_numbered(objects.values()), counts=counts, room=room)
    counted = {renamed.get(fix.of, fix.of) for fix in fixes if isinstance(fix, CountFix)}
    known = {*counts, *(o.category for o in fixed.facts.objects)}
    again = _looked_at_again(fixed, {renamed.get(c, c) for c in touched} & known, counted)
    seen = [fix.finding for fix in sorted(fixes, key=lambda fix: fix.id) if isinstance(fix, SeenFix)]
    return fixed.model_copy(update={"findings": (*fixed.findings, *again, *seen)})


def _with_category(item: SceneObject, category: str) -> SceneObject:
    return item if item.category == category else item.model_copy(update={"category": category})


def _counts(scene: IndoorScene, fixes: Sequence[ScanFix], renamed: Mapping[str, str]) -> dict[str, int]:
    """The counts: where one was that of the boxes it goes with them, and else it stays as it is stated."""
    stated, boxed = scene.facts.counts, Counter(o.category for o in scene.facts.objects)
    counts: Counter[str] = Counter()
    for category, n in stated.items():
        counts[renamed.get(category, category)] += n
    for fix in fixes:
        if isinstance(fix, (DropObject, CategoryFix)) and stated.get(fix.of) == boxed[fix.of]:
            counts[renamed.get(fix.of, fix.of)] -= 1
        if isinstance(fix, CategoryFix) and stated.get(fix.set, 0) == boxed[fix.set]:
            counts[fix.set] += 1
        if isinstance(fix, AddObject) and stated.get(fix.of, 0) == boxed[fix.of]:
            counts[renamed.get(fix.of, fix.of)] += 1
    for fix in fixes:
        if isinstance(fix, CountFix):
            counts[renamed.get(fix.of, fix.of)] = fix.set
    return {category: n for category, n in sorted(counts.items()) if n or category in stated}


def _findings(
    scene: IndoorScene, fixes: Sequence[ScanFix], touched: set[str], renamed: dict[str, str]
) -> tuple[Finding, ...]:
    """The findings that stay: none of those that corrected values were the reason of."""
    gone = {(name, category) for name in OF_A_BOX for category in touched}
    boxes = Counter(o.category for o in scene.facts.objects)
    gone |= {(name, f.of) for name in OF_A_COUNT for f in fixes if isinstance(f, CountFix)}
    gone |= {("box_misses_mesh", f.of) for f in fixes if isinstance(f, (BoxFix, DropObject)) and boxes[f.of] == 1}
    measured = any(isinstance(fix, RoomAreaFix) for fix in fixes)
    return tuple(
        f.model_copy(update={"subject": renamed.get(f.subject, f.subject)})
        for f in scene.findings
        if (f.name, f.subject) not in gone and not (measured and f.subject == "room")
    )


def _looked_at_again(scene: IndoorScene, categories: set[str], counted: set[str]) -> list[Finding]:
    """The remaining doubts about counts and boxes of corrected categories; counts made by people are not doubted."""
    findings = Findings()
    findings.add(*count_doubts(scene.facts.counts, scene.facts.objects, categories - counted))
    repeats = Findings()
    check_repeats([(o.category, o.box) for o in scene.facts.objects], repeats)
    findings.add(*(one for one in repeats.items if one.subject in categories))
    for category in sorted(categories):
        boxes = [o.box for o in scene.facts.objects if o.category == category]
        thin = min((min(box.lengths) for box in boxes), default=THIN_M)
        if thin < THIN_M:
            message = f"a side of a {category} is {thin:g} m"
            findings.add(doubt("thin_box", category, message, "check the annotation", thin, THIN_M, "m"))
    return findings.items


def _numbered(objects: Iterable[SceneObject]) -> tuple[SceneObject, ...]:
    """The objects in order of category, numbered within it."""
    seen: Counter[str] = Counter()
    numbered = []
    for item in sorted(objects, key=lambda o: o.category):  # stable
        numbered.append(item.model_copy(update={"instance": seen[item.category]}))
        seen[item.category] += 1
    return tuple(numbered)


def _nearly_equal(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_nearly_equal, one, other))
    return isinstance(one, int | float) and isinstance(other, int | float) and abs(one - other) <= NEAR


def _half_of_last_decimal(value: float | None) -> float:
    """Half a unit of the last decimal that is written: an area may be known from a page that rounds it."""
    return 0.0 if value is None else 0.5 * 10.0 ** -len(repr(value).partition(".")[2])


def _rounded(value: object) -> object:
    """Nested numbers to three decimals, as lists."""
    if isinstance(value, tuple):
        return [_rounded(part) for part in value]
    return round(float(value), 3) + 0.0 if isinstance(value, int | float) else value


def _area(value: float | None) -> str:
    return "not measured" if value is None else f"{value:g} m2"


def drafts(scene: IndoorScene, operands: Sequence[str]) -> list[dict[str, Any]]:
    """Counts and boxes of what a question names, or the room, as they are: corrections that change nothing yet."""
    found: list[dict[str, Any]] = []
    for category in operands:
        own = [item for item in scene.facts.objects if item.category == category]
        if own or category in scene.facts.counts:
            count = scene.facts.counts.get(category, 0)
            found.append({"target": "count", "of": category, "expect": count, "set": count})
        for item in own:
            box = {"center_m": _rounded(item.box.center), "lengths_m": _rounded(item.box.lengths)}
            at = {"of": category} | ({"instance": item.instance} if len(own) > 1 else {})
            found.append({"target": "drop_object", **at, "expect": box, "set": None})
    if not found and scene.facts.room.area_m2 is not None:
        area_m2 = round(scene.facts.room.area_m2, 2)
        found.append({"target": "room_area", "expect": area_m2, "set": area_m2})
    return found
