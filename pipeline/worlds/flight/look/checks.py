"""Checks a model's descriptions of two pictures of a thing against the map and against the pixels.

A kind or proportions that the map rules out say that the model, the map or the pose is wrong: then nothing is believed.
Words on which the two pictures differ are left out. A colour must be that of the pixels where geometry has the walls
and the roof; a roof's shape must fill its outline as far as such a roof does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import shapely

from pipeline.core.schema import Evidence, Rejection
from pipeline.llm.base import Image, Reply, Request, record, user
from pipeline.llm.failures import ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.appearance import BUILT, COLOURED, TOWER, Appearance, may_be
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.look.survey import NAMES, ROOF_LIGHT, WALL_LIGHT, LandmarkCrop, MeasuredColour, fits

Ask = Callable[[Request], Reply]
Answer = dict[str, str]

PROMPT: Final = "look_crop"
UNCLEAR: Final = "unclear"
ELSE: Final = "something else"
TALL, EVEN, WIDE = "taller than wide", "about as tall as wide", "wider than tall"
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "kind": (*sorted(COLOURED), ELSE),
    "proportions": (TALL, EVEN, WIDE),
    "walls": NAMES,
    "roof": NAMES,
    "roof_shape": ("flat", "pitched", "pointed", "domed", "rounded"),
}
UNANSWERED: Final = "look_"  # before the kind of a failure, in the reason of a refusal


class UnansweredError(Exception):
    """There is no answer, and why."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.reason)


def request(jpeg: bytes, backwards: bool) -> Request:
    """The question about a picture; with the choices in the other order where ``backwards``."""
    # The words to choose from, and last that nobody can tell.
    offered = {name: [*(reversed(words) if backwards else words), UNCLEAR] for name, words in CHOICES.items()}
    prompt = load_prompt(PROMPT)
    schema = record(**{name: {"enum": words} for name, words in offered.items()})
    return Request((user(prompt.render(choices=offered), Image(jpeg, "image/jpeg")),), schema, prompt=prompt.version)


def answer(ask: Ask, jpeg: bytes, backwards: bool) -> Answer:
    """A model's reply about a picture. Raises UnansweredError, or StoreError where the build was stopped."""
    try:
        return dict(structured(ask(request(jpeg, backwards))))
    except ModelError as failure:
        refuse_stopped(failure)
        reason = f"{UNANSWERED}{failure.kind}"
        raise UnansweredError(Rejection(reason=reason, measured=1, limit=0, unit="failed calls")) from None


PIXELS_MIN: Final = 60  # of walls or roof in a picture, by which their colour is known
SHARE_MIN: Final = 0.5  # of them that may be called by the word: windows, signs and shadows are the rest
FLAT_MIN: Final = 0.8  # of the outline's upper part that has the thing's colour: a flat roof leaves no corner free
NOT_FLAT_MAX: Final = 0.5  # the same of any other roof
# Height over width beyond which nobody would say so, and within which anybody may.
PROPORTIONS: Final = {TALL: (0.8, np.inf), EVEN: (0.5, 2.0), WIDE: (0.0, 1.25)}
# What has no roof to speak of: its colour is that of its walls.
ROOFLESS: Final = frozenset({TOWER, "lighthouse", "chimney", "obelisk", "monument", "windmill", "storage tank"})
FLAT: Final = "flat"
_DECIMALS: Final = 3


@dataclass
class CheckedLook:
    """The accepted words of a reply.

    Attributes:
        words: fact of the look -> the word.
        changes: of the `Appearance`.
        evidence: numbers that bear the words out.
        refused: why other words are not believed.
    """

    words: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)

    def holds(self, measures: Sequence[Measure]) -> bool:
        """Whether all of some rules hold; notes the numbers of those that do, and the first that does not."""
        for measure in measures:
            if not measure.holds:
                self.refused.append(measure.rejection())
                return False
        rows = [row for measure in measures if (row := measure.evidence())]
        self.evidence += [Evidence.model_validate(row) for row in rows]
        return True


def believed(
    mark: Landmark, look: Appearance, crops: Sequence[LandmarkCrop], answers: Sequence[Answer], margin: float
) -> CheckedLook:
    """The accepted part of the answers about the crops of a thing.

    Args:
        mark: with its outline.
        look: by its map.
        crops: at least two.
        answers: one for each.
        margin: CIELAB; by which a colour must be nearer to its word than to any other.
    """
    found = CheckedLook()
    gates = [_kind(look, one) for one in answers]
    if mark.top_m is not None:
        gates += [_proportions(mark, one) for one in answers]
    elif look.noun not in ROOFLESS:  # which pixels are roof, and which are walls, is not known
        two = sum(one["walls"] != one["roof"] for one in answers)
        gates.append(rule("surfaces_not_told_apart", two, "<=", 0, "pictures"))
    if not found.holds(gates):
        return found
    for part in ("walls", "roof"):
        if getattr(look, part) is None:
            light = ROOF_LIGHT if part == "roof" and mark.top_m is not None else WALL_LIGHT
            _colour(found, part, look, crops, answers, margin, light)
    if look.roof_shape is None and look.noun in BUILT - ROOFLESS:
        _shape(found, look, crops, answers)
    return found


def _kind(look: Appearance, said: Answer) -> Measure:
    """Somebody who sees the one thing might call it the other, or the reverse."""
    kind = said["kind"]
    same = kind == UNCLEAR or (kind != ELSE and (kind in may_be(look.noun) or look.noun in may_be(kind)))
    return rule("kind_unlike_map", int(not same), "<=", 0, "pictures", look.noun)


def _proportions(mark: Landmark, said: Answer) -> Measure:
    """Height over width, across the broadest and the narrowest side, lies where the word is used."""
    low, high = ratio_of(mark)
    least, most = PROPORTIONS.get(said["proportions"], (0.0, np.inf))
    if high < least:
        return rule("proportions_unlike_map", high, ">=", least, "ratio", said["proportions"])
    return rule("proportions_unlike_map", low, "<=", min(most, 1e6), "ratio", said["proportions"])


def ratio_of(mark: Landmark) -> tuple[float, float]:
    """Height over width of a thing with an outline, across its broadest and across its narrowest side."""
    box = shapely.minimum_rotated_rectangle(shapely.MultiPoint(np.array(mark.outline)))
    corners = np.array(box.exterior.coords)
    narrow = float(np.hypot(*(corners[1:3] - corners[:2]).T).min())
    rise = float((mark.top_m or 0.0) - (mark.base_m or 0.0))
    return rise / max(2 * mark.radius_m, 1e-6), rise / max(narrow, 1e-6)


def _agreed(found: CheckedLook, fact: str, answers: Sequence[Answer]) -> str | None:
    """The word that all pictures have for a fact; None where one tells none, or another."""
    words = {one[fact] for one in answers}
    if UNCLEAR in words:
        return None
    return next(iter(words)) if found.holds([rule("pictures_differ", len(words), "<=", 1, "words", fact)]) else None


def _colour(
    found: CheckedLook,
    part: str,
    look: Appearance,
    crops: Sequence[LandmarkCrop],
    answers: Sequence[Answer],
    margin: float,
    light: tuple[float, ...],
) -> None:
    told_of = part  # of what has no roof to speak of, by its walls
    if part == "roof" and look.noun in ROOFLESS:
        told_of, light = "walls", WALL_LIGHT
    word = _agreed(found, told_of, answers)
    if word is None:
        return
    seen = [one.walls if told_of == "walls" else one.roof for one in crops]
    large = [pixels for pixels in seen if len(pixels) >= PIXELS_MIN]
    if not found.holds([rule("surface_too_small", len(large), ">=", 1, "pictures", f"{word} {part}")]):
        return
    measured = [fits(word, pixels, light) for pixels in large]
    share = min(one.share for one in measured)
    fit = min((one.margin for one in measured if one.rgb), default=0.0)
    measures = [rule("colour_not_in_picture", round(share, _DECIMALS), ">=", SHARE_MIN, "share", f"{word} {part}")]
    measures.append(rule("colour_doubtful", round(fit, _DECIMALS), ">=", margin, "Lab", f"{word} {part}"))
    if found.holds(measures):
        best: MeasuredColour = max(measured, key=lambda one: one.share)
        found.words[part], found.changes[part] = word, best.rgb


def _shape(found: CheckedLook, look: Appearance, crops: Sequence[LandmarkCrop], answers: Sequence[Answer]) -> None:
    word = _agreed(found, "roof_shape", answers)
    if word is None:
        return
    colour = found.words.get("walls")
    seen = [one.upper for one in crops if len(one.upper) >= PIXELS_MIN]
    known = colour is not None and look.sign is None  # a sign stands before the walls
    if not found.holds([rule("roof_shape_unproven", len(seen) if known else 0, ">=", len(crops), "pictures", word)]):
        return
    shares = [fits(str(colour), pixels).share for pixels in seen]
    flat = rule("roof_leaves_corners", round(min(shares), _DECIMALS), ">=", FLAT_MIN, "share", word)
    other = rule("roof_fills_corners", round(max(shares), _DECIMALS), "<=", NOT_FLAT_MAX, "share", word)
    if found.holds([flat if word == FLAT else other]):
        found.words["roof_shape"] = found.changes["roof_shape"] = word
