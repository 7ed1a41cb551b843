"""Every rule on both sides of its limit."""

from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.authoring.check import measures, relative
from pipeline.benchmarks.urbanvideo.authoring.meaning import Asks
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem, Extract
from tests.benchmarks.urbanvideo.authoring.made import GOOD, SEGMENTS, VIEWS, facts, motion

FACTS = facts()
KNOWN = Extract(tuple(s.actions for s in SEGMENTS), (*FACTS.names, "red brick building"))
WRONG = GOOD["wrong"]


def item(**changes: Any) -> DraftItem:
    raw = {k: v for k, v in (GOOD | changes).items() if k != "proof"}
    return DraftItem(**(raw | {"wrong": tuple(raw["wrong"]), "objects": tuple(raw["objects"])}))


def refusal(
    item: DraftItem, facts: Any = FACTS, known: Extract = KNOWN, asks: Asks = "why"
) -> tuple[str, float, float, str] | None:
    broken = next((m for m in measures(item, facts, known, asks) if not m.holds), None)
    return broken and (broken.name, broken.value, broken.limit, broken.unit)


def test_a_good_question_passes_with_every_rule_measured() -> None:
    passed = list(measures(item(), FACTS, KNOWN))
    assert all(m.holds for m in passed)
    assert len({m.name for m in passed}) == len(passed) >= 15


CASES: list[tuple[dict[str, Any], tuple[str, float, float, str] | None]] = [
    ({"wrong": WRONG[:3]}, ("choices_too_few", 4, 5, "options")),
    ({"wrong": []}, ("choices_too_few", 1, 5, "options")),
    ({"wrong": [*WRONG, "It was late"]}, ("choices_too_many", 6, 5, "options")),
    ({"wrong": [*WRONG[:3], "  "]}, ("choices_empty", 1, 0, "options")),
    ({"wrong": [*WRONG[:3], "None of the above"]}, ("choices_not_one_right", 1, 0, "options")),
    (
        {"wrong": [*WRONG[:3], "the way straight on is closed by Blue Tower!"]},
        ("choices_right_among_wrong", 1, 0, "options"),
    ),
    (
        {"wrong": [*WRONG[:2], "It turned to the left twice", "Turns left twice."]},
        ("choices_same_meaning", 1, 0, "pairs of options"),
    ),
    (
        {"wrong": [*WRONG[:2], "It was late", "It was late and the wind blew"]},
        ("choices_include_each_other", 1, 0, "pairs of options"),
    ),
    ({"answer": "The wxzrtkplq closed the way"}, ("choices_nonsense", 1, 0, "options")),
    ({"answer": "A green bridge closed the way"}, ("hallucination_unknown_object", 1, 0, "objects")),
    ({"answer": "A red brick building closed the way"}, None),
    ({"answer": "A blue building closed the way"}, ("hallucination_unknown_object", 1, 0, "objects")),
    (
        {"question": "Why did the drone turn left at the Golden Fork?"},
        ("hallucination_unknown_object", 2, 0, "objects"),
    ),
    ({"objects": ["flock of sheep"]}, ("hallucination_unknown_object", 1, 0, "objects")),
    ({"wrong": [*WRONG[:3], "A bridge that nobody saw"]}, None),  # a wrong option may be made up
    ({"wrong": [*WRONG[:3], "It went north"]}, ("direction_absolute", 1, 0, "directions")),
    ({"question": "Why does the drone turn left at the West Gate Mall?", "objects": []}, None),
    ({"question": "Why did the drone descend after the turn?"}, None),
    (
        {"question": "Why did the drone turn right and fly backwards?"},
        ("invalid_or_ambiguous_movement_not_made", 2, 0, "movements"),
    ),
    (
        {"question": "If the drone had turned right, would it still arrive?", "answer": "Yes, it turns right twice"},
        None,
    ),
    ({"answer": "It turned left and then flew forward"}, None),
    ({"answer": "It descended while flying forward"}, None),
    ({"answer": "It flew forward and then turned left"}, None),
    ({"answer": "It turned left after it had ascended"}, None),
    ({"answer": "It turned left and then ascended"}, ("choices_contradict_movements", 1, 0, "movements")),
    (
        {"answer": "It turned right, then right again, turning right"},
        ("choices_contradict_movements", 2, 0, "movements"),
    ),
    ({"answer": "Otherwise it would turn right"}, None),
    ({"answer": "It tilts the camera down"}, None),  # the log has no gimbal: nothing speaks against it
    ({"answer": "The tower was ahead of the drone", "time_s": 20}, None),
    (
        {"answer": "The tower was to the left of the drone", "time_s": 20},
        ("direction_contradicts_pose", 45, 15, "deg"),
    ),
    ({"answer": "It was to the right of the drone", "time_s": 40}, None),
    ({"answer": "It was behind the drone"}, ("direction_contradicts_pose", 135, 15, "deg")),  # whenever it was in view
    ({"answer": "The Old Mill came into the field of view"}, ("hallucination_never_in_view", 1, 0, "landmarks")),
    ({"answer": "The Old Mill was seen"}, ("hallucination_never_in_view", 1, 0, "landmarks")),
    ({"answer": "The Old Mill was not visible"}, None),
    ({"answer": "B", "wrong": ["A", "C", "D", "E"]}, ("choices_letter", 5, 0, "options")),
    ({"answer": "Option (c)."}, ("choices_letter", 1, 0, "options")),
    ({"answer": "B. It was late"}, ("choices_letter", 1, 0, "options")),
    ({"answer": "Because it was late"}, None),
    (
        {"question": "Why, since the way straight on is closed by the Blue Tower, did it turn left?"},
        ("invalid_or_ambiguous_answer_in_question", 1, 0, "answers"),
    ),
    (
        {
            "question": "Was it late, or was it early, when the drone turned left?",
            "answer": "It was late",
            "wrong": ["It was early", *WRONG[:3]],
        },
        None,
    ),
    (
        {"question": "Why did it turn left? A. It was late B. It was early"},
        ("invalid_or_ambiguous_options_in_question", 1, 0, "lists of options"),
    ),
    ({"question": "Say why the drone turned left"}, ("invalid_or_ambiguous_no_question", 0, 1, "question marks")),
    ({"question": "why " * 150}, ("invalid_or_ambiguous_no_question", 0, 1, "question marks")),
    ({"question": "Why turn left?"}, ("invalid_or_ambiguous_too_short", 3, 4, "words")),
    ({"question": "Why turn left there?"}, None),
    ({"question": "why? " * 151}, ("invalid_or_ambiguous_too_long", 151, 150, "words")),
    ({"wrong": [*WRONG[:3], "late " * 41]}, ("choices_too_long", 41, 40, "words")),
    ({"answer": "late " * 16}, ("choices_right_stands_out", 16, 1.5 * 8 + 3, "words")),
    ({"answer": "late " * 15}, None),
]


@pytest.mark.parametrize(("changes", "expected"), CASES)
def test_each_rule_with_its_measure(changes: dict[str, Any], expected: tuple[str, float, float, str] | None) -> None:
    forms: dict[str, Asks] = {"If": "if", "Was": "what"}
    found = refusal(item(**changes), asks=forms.get(str(changes.get("question")).split()[0], "why"))
    if expected is None:
        assert found is None
    else:
        assert (found[0], found[2:]) == (expected[0], expected[2:])
        assert found[1] == pytest.approx(expected[1], abs=0.01)


def test_the_first_rule_that_is_broken_is_the_reason() -> None:
    everything = item(question="Why north?", answer="B", wrong=["A", "A", "north", "E"])
    assert (refusal(everything) or ("",))[0] == "choices_same_meaning"


def test_nothing_speaks_against_a_question_where_nothing_was_observed() -> None:
    unobserved = facts(motion=None, landmarks=())
    said = item(answer="It turned right, the Blue Tower to the left of the drone", time_s=20)
    assert refusal(said, unobserved, Extract((), unobserved.names)) is None
    assert (refusal(said) or ("",))[0] == "choices_contradict_movements"
    unseen = facts(motion=motion(views=None))
    assert refusal(item(answer="The Old Mill was seen"), unseen) is None


@pytest.mark.parametrize(
    ("time_s", "text", "rewritten"),
    [
        (20, "It is to the east of the drone.", "It is ahead of the drone."),  # the nose points east
        (20, "It lies north of the UAV", "It lies to the left of the drone"),
        (20, "It is in the south, and stays", "It is to the right of the drone, and stays"),
        (20, "It flew west.", "It flew backward."),
        (20, "It is moving towards the North", "It is moving left"),
        (40, "It flew northwards.", "It flew forward."),  # and after the turn north
        (40, "It flies along West Gate Mall", None),
        (20, "It is north of the mall", None),  # from a landmark, not from the drone
        (20, "the northern part of town", None),
        (20, "It turned to the north.", None),
        (20, "It lies to the northeast.", None),  # between two sides
        (32, "It lies to the east.", None),  # while it turns
        (None, "It lies to the east.", None),
        (99, "It lies to the east.", None),
    ],
)
def test_compass_points_become_sides_where_the_heading_tells_them(
    time_s: float | None, text: str, rewritten: str | None
) -> None:
    written = item(question=text, answer=text, wrong=[text], time_s=time_s)
    expected = rewritten or text
    mended = relative(written, FACTS)
    assert (mended.question, mended.answer, mended.wrong) == (expected, expected, (expected,))


def test_no_heading_no_rewriting() -> None:
    blind = facts(motion=motion(heading_deg=(None,) * len(motion().t_s)))
    written = item(answer="It flew west.", time_s=20)
    assert relative(written, blind) == written
    assert (refusal(written, blind) or ("",))[0] == "direction_absolute"


def test_views_are_those_of_the_flight() -> None:
    seen = facts(motion=motion(views=(*VIEWS[:2], VIEWS[2].model_copy(update={"intervals": ((1.0, 2.0),)}))))
    assert refusal(item(answer="The Old Mill was seen"), seen) is None


def test_a_name_that_sounds_like_a_movement_is_none() -> None:
    named = Extract(KNOWN.movements, (*KNOWN.objects, "Rising Sun right turn"))
    assert refusal(item(answer="It passed the Rising Sun right turn"), known=named) is None
    assert (refusal(item(answer="It made a right turn"), known=named) or ("",))[0] == "choices_contradict_movements"
