"""Stage `describe` for a panorama of which nobody marked what it shows: two models look at it (ERGeoBench, table 9).

The first proposes things in declared views and in views all around. The second, the independent checker, is shown the
same views without what the first one found in them: it is told the labels that there are anywhere in the panorama, and
looks for them itself. What both draw a box around, in one view and by one label, is known; what one of them alone sees
is kept in doubt: nothing is asked of it, and its label is not complete. Each model also says what the scene is like as
a whole (table 6); where they agree, it is a cue.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np
from PIL import Image as Pillow

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import note
from pipeline.core.templates import load_table
from pipeline.formats.images import jpeg_bytes
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import PinholeView, directions_of
from pipeline.llm.base import Image, Part, Reply, Request, Text, record, user
from pipeline.llm.failures import ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.reading.maps.areas import fit_name
from pipeline.reading.reader import PanoramaGeometry
from pipeline.worlds.panorama.facts import Panorama, PanoramaObject, PanoramaScene, Slot
from pipeline.worlds.panorama.pictures import QUALITY
from pipeline.worlds.world import DescribeSteps

PROMPTS: Final = ("look_view", "look_scene")
LEVEL: Final = tuple(PinholeView(yaw_deg=yaw) for yaw in range(-180, 180, 60))
TILTED: Final = tuple(
    PinholeView(yaw_deg=yaw, pitch_deg=pitch) for pitch in (40.0, -40.0) for yaw in range(-180, 180, 90)
)
OVERLAP_MIN: Final = 0.5  # of the boxes of two models, intersection over union: one thing
SAME_MIN: Final = 0.5  # of the smaller of two boxes of different views that lies in the other: one thing
PART_MIN: Final = 0.1  # the same, where an edge cuts one: of tilted views upright boxes are wide
EDGE: Final = 5  # thousandths of a view: what comes nearer to its edge may go on beyond it
MOST: Final = 15  # things of a view
UNANSWERED: Final = "look_"  # before the kind of a failure, in the name of a finding
UNCLEAR: Final = "unclear"
CALLS_OF_SCENE: Final = 1  # for the cues, beside one for each view

Ask = Callable[[Request], Reply]


@dataclass(frozen=True)
class _Seen:
    """A thing as one model sees it in a view: box (left, top, right, bottom) in thousandths of the picture."""

    label: str
    box: tuple[float, float, float, float]
    slot: Slot
    name: str
    kind: str
    colour: str
    whole: bool

    def __str__(self) -> str:
        more = ", ".join(word for word in (self.name and f'"{self.name}"', self.kind, self.colour) if word)
        return f"{self.label}{f' ({more})' if more else ''} at {', '.join(f'{edge:g}' for edge in self.box)}"


@dataclass(frozen=True)
class _Sighting:
    """A thing in a view with what each model says of it; None: it does not see it."""

    view: PinholeView
    first: _Seen | None
    second: _Seen | None
    overlap: float

    @property
    def seen(self) -> _Seen:
        found = self.first or self.second
        if found is None:
            raise ValueError("a thing that no model sees")
        return found

    @property
    def is_confirmed(self) -> bool:
        return self.first is not None and self.second is not None

    @property
    def is_cut(self) -> bool:
        return min(self.seen.box) <= EDGE or max(self.seen.box) >= 1000 - EDGE

    @property
    def doubt(self) -> str | None:
        """Why nothing is asked of it; None: all is well."""
        if self.first is None or self.second is None:
            return f"the {'first' if self.first else 'second'} of two models alone sees it"
        if self.is_cut:
            return "no view shows all of it"
        if not (self.first.whole and self.second.whole):
            return "it is hidden in part"
        kinds = self.first.kind, self.second.kind
        return None if kinds[0] == kinds[1] else f"two models differ in its kind: {kinds[0]!r} and {kinds[1]!r}"


def look_at_panorama(
    observed: PanoramaScene, geometry: PanoramaGeometry, asks: Sequence[Ask], most: int
) -> PanoramaScene:
    """The observed scene with the objects that two models see, and the cues on which they agree.

    Args:
        observed: as it was; one with known objects is not looked at.
        geometry: which gives its picture.
        asks: the model that proposes and the one that confirms, which take pictures.
        most: views that each is shown.
    """
    if not is_bare(observed):
        return observed
    if len(asks) < 2:
        message = "one model alone proposes objects, and nothing confirms them: none was asked"
        remedy = "name another model: describe.second"
        return observed.with_findings(note("nothing_confirms_objects", "objects", message, remedy, 1.0, 2.0, "models"))
    color = geometry.color()
    if color is None:
        return observed
    sphere = Sphere(Pillow.fromarray(color))
    views = views_of(observed)[:most]
    pictures = [jpeg_bytes(sphere.render(view), QUALITY) for view in views]
    try:
        found = list(_things(views, pictures, asks[0], None))
        labels = sorted({seen.label for own in found for seen in own})
        again = list(_things(views, pictures, asks[1], labels)) if labels else [[] for _ in views]
        cues = [_cues(pictures[-len(TILTED) - len(LEVEL) : -len(TILTED)] or pictures, ask) for ask in asks[:2]]
    except ModelError as failure:
        refuse_stopped(failure)
        message = "a model gave no answer about a view: nothing that was seen is used"
        name = f"{UNANSWERED}{failure.kind}"
        return observed.with_findings(note(name, "objects", message, "build again", 1.0, 0.0, "failed calls"))
    sightings = [one for view, a, b in zip(views, found, again, strict=True) for one in matched(view, a, b)]
    objects, complete = merged(sightings)
    agreed = {cue: value for cue, value in cues[0].items() if value == cues[1][cue] != UNCLEAR}
    facts = observed.facts
    source_tags = {f"cues.{cue}": "two models agree" for cue in agreed if cue not in facts.cues}
    scene = observed.with_facts(
        objects=objects,
        complete=complete,
        cues=agreed | facts.cues,
        source_tags=facts.source_tags | source_tags | {"objects": "two models that look at views"},
    )
    sure = sum(own.doubt is None for own in objects)
    message = f"two models agree on {sure} of {len(objects)} objects and on {len(agreed)} of {len(cues[0])} cues"
    remedy = "none needed: the others are not asked about"
    return scene.with_findings(note("objects_proposed", "objects", message, remedy, float(sure), None, "objects"))


def is_bare(scene: PanoramaScene) -> bool:
    """Whether nothing is known of what it shows, and all around can be seen."""
    return not scene.facts.objects and not scene.facts.complete and scene.facts.picture.crop is None


def views_of(scene: PanoramaScene) -> tuple[PinholeView, ...]:
    """The views that are looked at: declared ones by their names, then all around, level and tilted both ways."""
    views = sorted(scene.facts.views, key=lambda own: own.name)
    declared = (PinholeView(yaw_deg=own.yaw_deg, pitch_deg=own.pitch_deg, fov_deg=own.fov_deg) for own in views)
    return (*declared, *LEVEL, *TILTED)


def calls(scene: PanoramaScene, most: int) -> int:
    """How often each model is asked at most about an observed scene."""
    return min(most, len(views_of(scene))) + CALLS_OF_SCENE if is_bare(scene) else 0


def is_whole(scene: PanoramaScene) -> bool:
    """Whether every question had an answer."""
    return not any(finding.name.startswith(UNANSWERED) for finding in scene.findings)


def matched(view: PinholeView, first: Sequence[_Seen], second: Sequence[_Seen]) -> Iterator[_Sighting]:
    """What two models see in a view: pairs of one label whose boxes overlap most with each other, then the rest."""
    over = _overlaps(first, second)
    pairs: dict[int, int] = {}
    if over.size:
        best, back = over.argmax(1), over.argmax(0)
        pairs = {i: int(j) for i, j in enumerate(best) if back[j] == i and over[i, j] >= OVERLAP_MIN}
    for i, seen in enumerate(first):
        j = pairs.get(i)
        yield _Sighting(view, seen, None if j is None else second[j], 0.0 if j is None else float(over[i, j]))
    yield from (_Sighting(view, None, seen, 0.0) for j, seen in enumerate(second) if j not in pairs.values())


def _overlaps(first: Sequence[_Seen], second: Sequence[_Seen]) -> FloatArray:
    """Intersection over union (n, m) of boxes; 0 where the labels differ."""
    a, b = (np.array([seen.box for seen in own], dtype=np.float64).reshape(-1, 4) for own in (first, second))
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0.0, None).prod(-1)
    areas = [(own[:, 2:] - own[:, :2]).prod(-1) for own in (a, b)]
    same = np.array([[x.label == y.label for y in second] for x in first], dtype=bool).reshape(common.shape)
    return np.asarray(np.where(same, common / (areas[0][:, None] + areas[1][None, :] - common), 0.0))


def merged(sightings: Sequence[_Sighting]) -> tuple[tuple[PanoramaObject, ...], tuple[str, ...]]:
    """Objects by id, each thing once however many views show it; and the labels of which both models see all."""
    order = sorted(
        range(len(sightings)),
        key=lambda n: (sightings[n].doubt is not None, not sightings[n].is_confirmed, -sightings[n].overlap, n),
    )
    ranked = [sightings[n] for n in order]
    boxes = np.array([_angles(one) for one in ranked], dtype=np.float64).reshape(-1, 4)
    yaw, width, low, high = boxes.T
    apart = np.abs((yaw[:, None] - yaw[None, :] + 180.0) % 360.0 - 180.0)
    wide = np.clip(
        np.minimum((width[:, None] + width[None, :]) / 2 - apart, np.minimum(width[:, None], width)), 0, None
    )
    tall = np.clip(np.minimum(high[:, None], high) - np.maximum(low[:, None], low), 0, None)
    size = width * (high - low)
    common = wide * tall / np.minimum(size[:, None], size)
    kept: list[int] = []
    for n, one in enumerate(ranked):  # the surest first: what lies in one of these is that thing again
        least = PART_MIN if one.is_cut else SAME_MIN
        if not any(common[n, k] >= least and ranked[k].seen.label == one.seen.label for k in kept):
            kept.append(n)
    kept.sort(key=lambda n: (boxes[n].tolist(), ranked[n].seen.label))
    unsure = {ranked[n].seen.label for n in kept if not ranked[n].is_confirmed}
    objects = tuple(_object(f"seen {n:03}", ranked[k], boxes[k]) for n, k in enumerate(kept, start=1))
    return objects, tuple(sorted({own.label for own in objects} - unsure))


def _angles(one: _Sighting) -> tuple[float, float, float, float]:
    """Middle yaw, width, lowest and highest pitch of a thing's box, degrees."""
    left, top, right, bottom = np.array(one.seen.box) / 1000
    across = (np.array([left, (left + right) / 2, right] * 2 + [left, right]) * one.view.width) - 0.5
    down = (np.array([top] * 3 + [bottom] * 3 + [(top + bottom) / 2] * 2) * one.view.height) - 0.5
    yaw, pitch = directions_of(one.view, across, down)
    turn = (yaw - one.view.yaw_deg + 180.0) % 360.0 - 180.0
    middle = one.view.yaw_deg + (turn.max() + turn.min()) / 2
    return (middle + 180.0) % 360.0 - 180.0, float(np.ptp(turn)), float(pitch.min()), float(pitch.max())


def _object(name: str, one: _Sighting, box: FloatArray) -> PanoramaObject:
    """A thing with what both models say of it."""
    yaw, width, low, high = box.round(2).tolist()
    first, second = one.first or one.second, one.second or one.first
    if first is None or second is None:
        raise ValueError("a thing that no model sees")
    attributes = {"colour": first.colour} if first.colour and first.colour == second.colour else {}
    where = f"in the view at yaw {one.view.yaw_deg:g}, pitch {one.view.pitch_deg:g}"
    return PanoramaObject(
        id=name,
        label=first.label,
        slot=first.slot if first.slot == second.slot else None,
        name=first.name if first.name and first.name.casefold() == second.name.casefold() else None,
        kind=first.kind or second.kind or None,
        attributes=attributes,
        yaw_deg=(yaw + 180.0) % 360.0 - 180.0,
        width_deg=width,
        pitch_low_deg=low,
        pitch_high_deg=high,
        agreement=round(one.overlap, 3),
        doubt=one.doubt,
        source_tags={
            "proposed": f"{one.first} {where}" if one.first else "not seen by the model that proposes",
            "confirmed": f"{one.second} {where}" if one.second else "not seen by the model that confirms",
        },
    )


def _things(
    views: Sequence[PinholeView], pictures: Sequence[bytes], ask: Ask, labels: Sequence[str] | None
) -> Iterator[list[_Seen]]:
    """What a model sees in each view; of given labels alone where there are any. Raises ModelError."""
    prompt, slots, colours = load_prompt(PROMPTS[0]), get_args(Slot), _table()["colours"]
    text = {"type": "string", "maxLength": 80}
    schema = {
        "label": {"enum": list(labels)} if labels else {"type": "string", "minLength": 1, "maxLength": 80},
        "box": {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
        "slot": {"enum": list(slots)},
        "name": text,
        "kind": text,
        "colour": {"enum": [*colours, ""]},
        "whole": {"type": "boolean"},
    }
    things = record(things={"type": "array", "items": record(**schema)})
    for view, picture in zip(views, pictures, strict=True):
        tilt = "level" if view.pitch_deg == 0 else f"tilted {'up' if view.pitch_deg > 0 else 'down'}"
        words = prompt.render(where=tilt, labels=labels, slots=slots, colours=colours, most=MOST)
        request = Request((user(words, Image(picture, "image/jpeg")),), things, prompt=prompt.version)
        entries = structured(ask(request))["things"]
        yield [seen for raw in entries[: 4 * MOST] if (seen := _read(raw)) is not None]


def _read(raw: Mapping[str, Any]) -> _Seen | None:
    """A thing as it is said; None where a word cannot stand in a question or the box is none."""
    words = {key: " ".join(raw[key].split()) for key in ("label", "name", "kind", "colour")}
    words |= {"label": words["label"].casefold(), "kind": words["kind"].casefold()}
    left, top, right, bottom = raw["box"]
    if not (
        0 <= left < right <= 1000
        and 0 <= top < bottom <= 1000
        and all(fit_name(word or "-") for word in words.values())
    ):
        return None
    return _Seen(**words, slot=raw["slot"], box=(left, top, right, bottom), whole=raw["whole"])


def _cues(pictures: Sequence[bytes], ask: Ask) -> dict[str, str]:
    """The value of each cue that a model sees, or "unclear". Raises ModelError."""
    prompt, cues = load_prompt(PROMPTS[1]), _table()["cues"]
    schema = record(**{name: {"enum": [*cue["values"], UNCLEAR]} for name, cue in cues.items()})
    parts: list[Part] = []
    for number, picture in enumerate(pictures, start=1):
        parts += [Text(f"Picture {number}:"), Image(picture, "image/jpeg")]
    words = prompt.render(pictures=len(pictures), cues=cues)
    return dict(structured(ask(Request((user(words, *parts),), schema, prompt=prompt.version))))


def _table() -> Any:
    return load_table("panorama/cues")


LOOKING: Final = DescribeSteps[Panorama](
    lambda before, observed, geometry, config, picture_at, asks, most: look_at_panorama(observed, geometry, asks, most),
    calls,
    is_whole,
)
