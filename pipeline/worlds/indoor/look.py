"""Stage `describe` for a scan: a model looks at each category in pictures of the video, and what it sees is held back.

Boxes say where things are, not whether people would call them so, nor what nobody annotated. A model is shown the
things of a category in crops, and whole pictures with and without them (`category_pictures`). Where it sees a thing
that is called otherwise, or one more that has no box, and says so again when the choices stand in the other order, the
category is in doubt, and nothing is asked that rests on it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.geometry.scans import SceneGeometry
from pipeline.llm.base import Image, Part, Reply, Request, Text, record, user
from pipeline.llm.failures import ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.worlds.indoor.category_pictures import (
    CategoryPicture,
    PictureCounts,
    drawn_pictures,
    pictures_of,
    shown_objects,
)
from pipeline.worlds.indoor.facts import CALLED_OTHERWISE, LOOKED_AT, OTHERS_IN_VIEW, SIGHT, IndoorScene, Scan
from pipeline.worlds.indoor.observe.visibility import ObserveConfig
from pipeline.worlds.world import DescribeSteps

PROMPT: Final = "look_category"
COUNTS: Final = PictureCounts(crops=6, marked=2, unmarked=3)  # about 3,500 tokens of a model that takes 300 a picture
YES, NO, UNCLEAR = "yes", "no", "unclear"
CALLS: Final = 2  # of each category, at most
UNANSWERED: Final = "look_"  # before the kind of a failure, in the name of a finding
_NOT_IN_DOUBT: Final = "none needed: categories in which nothing else was seen are asked about"

Ask = Callable[[Request], Reply]
Shown = Sequence[tuple[CategoryPicture, bytes]]


def look_at_scan(
    before: IndoorScene,
    observed: IndoorScene,
    geometry: SceneGeometry,
    config: ObserveConfig,
    picture_at: Callable[[float], npt.NDArray[np.uint8]],
    asks: Sequence[Ask],
    most: int,
) -> IndoorScene:
    """The observed scene with a doubt for each category of which a model sees something else than is annotated.

    Args:
        before: as it was before it was observed.
        observed: with the visibility of its objects.
        geometry: of which the pace of the delivered video is known.
        config: of stage `observe`.
        picture_at: the picture of the video at a second.
        asks: a model that takes pictures; no other is asked.
        most: categories that it is asked about, those shown largest.
    """
    fps = geometry.delivered_fps or (observed.video.fps if observed.video else None)
    chosen = _categories(observed)[:most] if fps else []
    if not fps or not chosen:
        return observed
    wanted = [one for name in chosen for one in pictures_of(observed, name, fps, COUNTS)]
    made: dict[CategoryPicture, bytes] = dict(
        drawn_pictures(observed, wanted, lambda frame: picture_at((frame + 0.5) / fps))
    )
    found, failures = list[Finding](), Counter[str]()
    for name in chosen:
        try:
            found += seen_in(name, [(one, made[one]) for one in wanted if one.category == name], fps, asks[0])
        except ModelError as failure:
            refuse_stopped(failure)
            failures[failure.kind] += 1
    answered = len(chosen) - failures.total()
    message = f"of {len(_categories(observed))} categories that the video shows a model looked at {answered}"
    found.append(note("categories_looked_at", "categories", message, _NOT_IN_DOUBT, answered, None, "categories"))
    for kind, n in sorted(failures.items()):
        message = f"of {n} categories the model gave no answer: these were not checked"
        found.append(note(f"{UNANSWERED}{kind}", "categories", message, "build again", n, 0, "failed calls"))
    return observed.model_copy(update={"findings": (*observed.findings, *found)})


def calls(scene: IndoorScene, most: int) -> int:
    """How often a model is asked at most about an observed scene."""
    return CALLS * min(most, len(_categories(scene)))


def is_whole(scene: IndoorScene) -> bool:
    """Whether every question had an answer."""
    return not any(finding.name.startswith(UNANSWERED) for finding in scene.findings)


def _categories(scene: IndoorScene) -> list[str]:
    """The categories to look at, those shown largest first; not those in doubt, nor those that people looked at."""
    settled = {f.subject for f in scene.findings if f.severity == "doubt" or f.name == LOOKED_AT}
    if SIGHT in settled:  # boxes would be drawn beside their things
        return []
    largest: dict[str, int] = {}
    for name in sorted({o.category for o in scene.facts.objects} - settled):
        shown = shown_objects(scene, name)
        if shown and shown[0].visibility:
            largest[name] = shown[0].visibility.largest_pixels
    return sorted(largest, key=lambda name: (-largest[name], name))


def seen_in(name: str, shown: Shown, fps: float, ask: Ask) -> list[Finding]:
    """What a model sees in the pictures of a category that its boxes do not say. Raises ModelError."""
    first = _answers(name, shown, ask, backwards=False)
    if not any(_differs(one, first[number]) for number, (one, _) in enumerate(shown)):
        return []
    again = _answers(name, shown, ask, backwards=True)
    odd = [one for i, (one, _) in enumerate(shown) if _differs(one, first[i]) and _differs(one, again[i])]
    wrong = [one for one in odd if one.instance is not None]
    others = [one for one in odd if one.instance is None]
    found = []
    if wrong:
        named = ", ".join(f"#{one.instance} ({one.frame / fps:.1f} s)" for one in wrong)
        looked = sum(one.instance is not None for one, _ in shown)
        message = f"a model would call {len(wrong)} of {looked} things otherwise than {name}: {named}"
        remedy = "look at these pictures: correct the category of what is none, or say in a fix that it is right"
        found.append(doubt(CALLED_OTHERWISE, name, message, remedy, len(wrong), 0, "objects"))
    if others:
        at = ", ".join(f"{one.frame / fps:.1f} s" for one in others)
        message = f"a model sees one more {name} than those with boxes, at {at}"
        remedy = "look at these pictures: add the box that is missing, or say in a fix that there is none"
        found.append(doubt(OTHERS_IN_VIEW, name, message, remedy, len(others), 0, "pictures"))
    return found


def _differs(one: CategoryPicture, answer: str) -> bool:
    """Whether an answer contradicts the boxes: no to what a thing is called, yes to whether there are others."""
    return answer == (YES if one.instance is None else NO)


def request(name: str, shown: Shown, backwards: bool) -> Request:
    """The question about a category; with the choices in the other order where ``backwards``."""
    choices = [*((NO, YES) if backwards else (YES, NO)), UNCLEAR]
    keys = [f"picture_{number}" for number in range(1, len(shown) + 1)]
    crops = sum(one.instance is not None for one, _ in shown)
    prompt = load_prompt(PROMPT)
    schema = record(**{key: {"enum": choices} for key in keys})
    parts: list[Part] = []
    for number, (_, jpeg) in enumerate(shown, start=1):
        parts += [Text(f"Picture {number}:"), Image(jpeg, "image/jpeg")]
    words = prompt.render(name=name, crops=crops, wholes=len(shown) - crops, choices=choices, pictures=keys)
    return Request((user(words, *parts),), schema, prompt=prompt.version)


def _answers(name: str, shown: Shown, ask: Ask, *, backwards: bool) -> list[str]:
    answers: Mapping[str, str] = structured(ask(request(name, shown, backwards)))
    return [answers[f"picture_{number}"] for number in range(1, len(shown) + 1)]


LOOKING: Final = DescribeSteps[Scan](look_at_scan, calls, is_whole)
