"""Screens of a review that are no question: one for each category of a scene with a video, or for each whole scene.

They are items like questions, so that all that is kept, compared and settled of verdicts holds for them. Their truth is
that all is right; what reviewers agree on becomes a fix (`fix_of`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pipeline.core.identity import digest_of, question_ids
from pipeline.review.review_bundle import CATEGORY_CHECK, SCENE_CHECK, ReviewItem
from pipeline.review.verdicts import ReviewVerdict, consensus_of
from pipeline.worlds.world import CategoryShown, SceneCheck

RIGHT: Final = "A"
_NO_PART: Final[Mapping[str, None]] = {"proof": None, "from_s": None, "until_s": None}
# What a fix of kind "seen" says, by letter.
FOUND: Final[Mapping[str, str]] = {
    RIGHT: "right",
    "B": "called_otherwise",
    "C": "others_in_view",
    "D": "two_boxes_of_one",
}


def check_row(scene: str, shown: CategoryShown) -> dict[str, Any]:
    """The screen of a category as a row of `tables.QUESTIONS`, as far as the review looks at it."""
    name = shown.category
    (number,) = question_ids(scene, CATEGORY_CHECK, shown.digest, [(name,)])
    parts = [
        (len(shown.crops), f"a box around one thing that is annotated as “{name}”"),
        (len(shown.marked), f"all boxes of “{name}”, also of what is hidden there"),
        (len(shown.unmarked), f"no “{name}” at all, by the annotation"),
    ]
    findings, first = [], 1
    for count, words in parts:
        if count:
            pictures = f"Picture {first} has" if count == 1 else f"Pictures {first} to {first + count - 1} have"
            findings.append(f"{pictures} {words}.")
            first += count
    more = f" ({len(shown.crops)} of {shown.boxes} are shown alone)" if len(shown.crops) < shown.boxes else ""
    return {
        "id": number,
        "scene": scene,
        "task": CATEGORY_CHECK,
        "operands": [name],
        "text": f"Is everything right that is annotated as “{name}”{more}? {' '.join(findings)}",
        "options": [
            f"A. Each of them is a “{name}”, and none is missing",
            f"B. One of them people would call otherwise than “{name}”",
            f"C. One more “{name}” is there without a box",
            "D. Two boxes are around one and the same thing",
        ],
        "ground_truth": RIGHT,
        "evidence": [_number("boxes", name, float(shown.boxes), "objects")],
        **_NO_PART,
    }


def _number(name: str, subject: str, value: float, unit: str) -> dict[str, Any]:
    return {"name": name, "subject": subject, "value": value, "relation": None, "limit": None, "unit": unit}


def scene_row(scene: str, check: SceneCheck, picture: bytes) -> dict[str, Any]:
    """The screen of a whole scene, bound to its picture, as `check_row` has that of a category."""
    (number,) = question_ids(scene, SCENE_CHECK, digest_of(picture), [()])
    row = {"text": check.question, "options": list(check.options), "ground_truth": RIGHT, "evidence": []}
    return {"id": number, "scene": scene, "task": SCENE_CHECK, "operands": [], **row, **_NO_PART}


def fix_of(
    item: ReviewItem, draft: Callable[[str], dict[str, Any]], verdicts: Sequence[ReviewVerdict]
) -> dict[str, Any] | None:
    """What reviewers decided by a screen, as an entry of a file of fixes; None where they have not.

    On a whole scene one person decides as long as no second one has judged it.

    Args:
        item: the screen.
        draft: target, expect and set of the fix that an option makes, by its letter.
        verdicts: all on this item.
    """
    standing = consensus_of(verdicts, item.content)
    own = [one for one in verdicts if one.content == item.content and one.label]
    letter = {"accepted": RIGHT, "corrected": standing.answer}.get(standing.state)
    if letter is None and item.task == SCENE_CHECK and standing.state in {"waiting", "answered"} and len(own) == 1:
        letter = own[0].correction or (RIGHT if own[0].decision == "accept" else None)
    if letter is None:
        return None
    people = len({one.reviewer for one in own})
    return {
        "id": f"review-{item.id}",
        "scene": item.scene.partition("/")[2],
        **draft(letter),
        "why": "said on the review page, by pictures",
        "who": f"{people} reviewers" if people > 1 else "a reviewer",  # names stay in the build
        "date": max(one.at for one in own)[:10],
    }


def category_fix(category: str, boxes: int, letter: str) -> dict[str, Any]:
    """The fix that an option about a category makes; ``boxes`` of it are in the source, before other fixes."""
    return {"target": "seen", "of": category, "expect": boxes, "set": FOUND[letter]}
