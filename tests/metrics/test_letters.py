import pytest

from pipeline.metrics.letters import find_letter
from tests.environment import fastest_s, pace

FOUND = {
    # alone
    "B": "B",
    "b": "B",
    " C\n": "C",
    "B.": "B",
    "B)": "B",
    "(D)": "D",
    "[c]": "C",
    "**D**": "D",
    "_B_": "B",
    "__B__": "B",
    "`A`": "A",
    '"B"': "B",
    "$B$": "B",
    "A": "A",
    # full width
    "Ｂ": "B",
    "（Ｂ）": "B",
    "答案：Ｂ": "B",
    "Answer： Ｃ": "C",
    # stated
    "The answer is B.": "B",
    "The answer is b": "B",
    "the answer is a": "A",
    "**Answer:** C": "C",
    "__Answer:__ C, since A is far away": "C",
    "Answer - b": "B",
    "Answer: A because it is near": "A",
    "The correct answer would be option (D), not A": "D",
    "The final answer is $B$": "B",
    r"So it is $\boxed{C}$, and A is wrong": "C",
    r"\boxed{\text{B}}": "B",
    "<answer>B</answer>": "B",
    "<think>A or B? It is C.</think> D": "D",
    "A is too far and B is too near. The answer is C.": "C",
    "The answer is not B but C": "C",
    # options, as they are written
    "Option is C": "C",
    "option c": "C",
    "I choose (B), although A is close.": "B",
    "B. chair": "B",
    "B: the chair": "B",
    "(B) chair": "B",
    "B. chair. Option A is too far.": "B",
    "B\n\nExplanation: A is too far": "B",
    "A. chair B. table C. lamp D. door Answer: C": "C",
    # anywhere
    "It must be (D)": "D",
    "I think B": "B",
    "My answer: I would say B": "B",
    "A is closest": "A",
    "A and B are near, so B": "B",
    "Option B is near, so the table by A is far": "B",
    "not (A), so it must be (D)": "D",
    # JSON, with text behind it
    '{"answer": "B"} I chose it as A is far': "B",
    '{"reason": "A is wrong", "answer": "D"}': "D",
    '```json\n{"Answer": "C. lamp"}\n```': "C",
    # other languages
    "答案是B。": "B",
    "正确答案为 Ｃ": "C",
    "我选择C": "C",
    "正解はCです": "C",
    "Die Antwort ist C": "C",
    "La respuesta es la B.": "B",
    "D'accord, la réponse est D": "D",
    "Ответ: B": "B",
}
NOT_FOUND = {
    "": "empty",
    " \n ": "empty",
    "<think>A or B": "empty",  # cut off in its thoughts
    # prose
    "I cannot answer this question without the video.": "no_letter",
    "I'm sorry, as an AI I can't see a video.": "no_letter",
    "A chair is the closest to the sofa": "no_letter",
    "The answer is a chair.": "no_letter",
    "None of the above": "no_letter",
    "N/A": "no_letter",
    "none": "no_letter",
    "...": "no_letter",
    "AB": "no_letter",
    "The T-shirt on the 3D scan": "no_letter",
    "The answer isn't B": "no_letter",
    '{"answer": null}': "no_letter",
    # another language
    "左边": "no_letter",
    "À droite": "no_letter",
    "C'est la chaise": "no_letter",
    "Ответ: В": "no_letter",  # the Cyrillic letter, third of that alphabet
    # several
    "A, B": "several_letters",
    "A or B": "several_letters",
    "both A and C": "several_letters",
    "The answer is B or C": "several_letters",
    "The answer is A or B, so B": "several_letters",
    "A. chair\nB. table\nC. lamp\nD. door": "several_letters",
    "The answer is A. No, wait: the answer is B.": "several_letters",
    "B or E": "several_letters",
    # beyond the options
    "E": "out_of_range",
    "z": "out_of_range",
    "The answer is E": "out_of_range",
    "(F)": "out_of_range",
}


@pytest.mark.parametrize(("reply", "letter"), FOUND.items())
def test_the_letter_is_found(reply: str, letter: str) -> None:
    assert find_letter(reply) == (letter, None)


@pytest.mark.parametrize(("reply", "reason"), NOT_FOUND.items())
def test_no_letter_is_found_and_the_reason_is_named(reply: str, reason: str) -> None:
    assert find_letter(reply) == (None, reason)


def test_the_range_is_that_of_the_options() -> None:
    assert find_letter("E", options=5) == ("E", None)
    assert find_letter("C", options=2) == (None, "out_of_range")


@pytest.mark.parametrize("unit", ["answer ", "option ", "A ", "not ", "(", "<", "{", '{"a":', "\\", " ", "A, ", "b) "])
def test_long_replies_take_no_long_time(unit: str) -> None:
    assert fastest_s(lambda: find_letter(unit * (100_000 // len(unit)))) < 5 * pace()
