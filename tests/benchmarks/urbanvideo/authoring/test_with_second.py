"""Rules and a second model together, on items that no rule was made for.

``items_unseen.jsonl`` has 40 good and 40 bad items, written before any rule was looked at, each bad one with what
somebody says of it who has seen the flight (``second``: which option they pick, which others are right too, whether
the question holds). The rules alone let 8 of the bad pass and refused 5 of the good; of these 5 three were mended then
(aims are reasons; counts and metres belong to their own part of a sentence), so that 2 are left.

How well the second model sees is its own property, and no test's: here it answers from the planted facts, or errs in a
share of its replies. An honest one leaves none of the bad. Its errors cost good ones, since two replies with the video
stand behind each that is kept: 2 more of 40 where one reply in 20 is wrong.

``items_judged.jsonl`` was made over the flights of `made.FLIGHTS`, in eight batches; ``bad`` says what is wrong with an
item. The rules have seen all of them: of each new batch 16 to 35% of the bad passed and 0 to 20% of the good failed at
first (of the last four 9 of 40, 6 of 20, 7 of 20 and 5 of 20; and 1 of 35). Four more batches were written before any
rule was looked at: of the first 11 of 40 passed, of the second 10 of 40 before and after rules were made for the first,
of the third 7 of 24 before and after rules were made for the second, of the fourth 7 of 20 (no rule is made for it).
So a quarter to a third is what to expect of items that nobody has seen, however many rules there are: what words cannot
tell (two ways to say the same, a second right option) is for a second model.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.urbanvideo.authoring.check import measures, relative
from pipeline.benchmarks.urbanvideo.authoring.writing import DraftItem
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.identity import rng_for
from pipeline.core.tables import CANDIDATES
from pipeline.llm.base import Image, Reply, Request, Text
from pipeline.llm.session import Session
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.model_authoring import LETTERS, SecondModel, answered
from tests.benchmarks.urbanvideo.authoring.made import (
    FLIGHTS,
    GOOD,
    LISTS,
    PASSAGES,
    MadeTask,
    author,
    question,
    questions,
    view,
)
from tests.llm.asking import KEY, hosted
from tests.llm.fake_server import running

JUDGED = [json.loads(line) for line in Path(__file__).with_name("items_judged.jsonl").read_text().splitlines()]
MISTAKEN_SHARE_MAX = 0.1  # either way: 4 of 40


def refusal(raw: dict[str, Any]) -> str | None:
    facts, known = FLIGHTS[raw["flight"]]
    written = DraftItem(raw["question"], raw["answer"], tuple(raw["wrong"]), tuple(raw["objects"]), raw["time_s"])
    rules = measures(relative(written, facts), facts, known, URBAN_TASKS[raw["task"]].question_form)
    broken = next((rule for rule in rules if not rule.holds), None)
    return f"{broken.name}: {broken.value:g} {broken.relation} {broken.limit}" if broken else None


def judged(good: bool) -> Iterator[tuple[dict[str, Any], str | None]]:
    return ((raw, refusal(raw)) for raw in JUDGED if raw["good"] is good)


def test_bad_items_are_refused_and_good_ones_are_not() -> None:
    bad, good = list(judged(good=False)), list(judged(good=True))
    passed = [f"{raw['bad']}: {raw['question']}" for raw, why in bad if why is None]
    failed = [f"{why}: {raw['question']}" for raw, why in good if why is not None]
    assert min(len(bad), len(good)) >= 40
    assert len(passed) <= MISTAKEN_SHARE_MAX * len(bad), passed
    assert len(failed) <= MISTAKEN_SHARE_MAX * len(good), failed


ITEMS = [json.loads(line) for line in Path(__file__).with_name("items_unseen.jsonl").read_text().splitlines()]
RULED = {raw["question"]: refusal(raw) for raw in ITEMS}
MISTAKES_MAX = 4  # of 40, either way
SEEN = VisualInputs((Text("Second 1.0:"), Image(b"jpeg", "image/jpeg")), 1)
# What stands before the question where the model sees nothing, where it sees the flight, and where it examines.
BLIND, SEES, EXAMINES = "likely all the same.", "each after its second.", "that the video does not show."


def written(raw: dict[str, Any]) -> DraftItem:
    return DraftItem(raw["question"], raw["answer"], tuple(raw["wrong"]), (), raw["time_s"])


def honest(raw: dict[str, Any]) -> dict[str, str]:
    """What somebody replies who knows the flight, by what the prompt holds; without the video, the last option."""
    options, said = [raw["answer"], *raw["wrong"]], raw.get("second", {"picks": 0, "also": [], "holds": True})
    order = rng_for(raw["flight"], raw["question"], "second").permutation(len(options)).tolist()
    right = [LETTERS[order.index(n)] for n in sorted({said["picks"], *said["also"]})]
    examined = json.dumps({"right": right, "holds": said["holds"]})
    texts = {BLIND: options[-1], SEES: options[said["picks"]], EXAMINES: examined}
    return {f"{before}\n\n{raw['question']}\n": text for before, text in texts.items()}


def passed(ask: Callable[[Request], Reply], rules: bool = True) -> tuple[list[str], list[str]]:
    """The bad items that pass, and the good ones that fail."""
    bad, good = [], []
    for raw in ITEMS:
        why = RULED[raw["question"]] if rules else None
        measures = () if why else answered(written(raw), raw["flight"], SecondModel(ask, SEEN))
        why = why or next((measure.name for measure in measures if not measure.holds), None)
        if raw["good"] and why:
            good.append(f"{why}: {raw['question']}")
        elif not raw["good"] and not why:
            bad.append(f"{raw['bad']}: {raw['question']}")
    return bad, good


def test_rules_alone_let_a_fifth_of_unseen_bad_items_pass() -> None:
    """So it is no goal of theirs; that they do not get worse is."""
    bad, good = [raw for raw in ITEMS if not raw["good"]], [raw for raw in ITEMS if raw["good"]]
    assert (len(bad), len(good)) == (40, 40)
    assert sum(RULED[raw["question"]] is None for raw in bad) <= 8
    assert sum(RULED[raw["question"]] is not None for raw in good) <= 2


@pytest.mark.slow
def test_with_an_honest_second_model_hardly_any_bad_item_passes_and_hardly_any_good_one_fails(tmp_path: Path) -> None:
    replies: dict[str, str] = {}
    for raw in ITEMS:
        replies |= honest(raw)
    with running(replies=replies) as server:
        spec = hosted(server.address, attempts=1, inputs=("text", "image"))
        with Session([spec], tmp_path / "c", {"PLANTED_KEY": KEY}) as session:
            bad, good = passed(lambda request: session.ask(spec.name, request))
        sent = len(server.records())
    assert len(bad) <= MISTAKES_MAX, bad
    assert len(good) <= MISTAKES_MAX, good
    assert bad == [], "what the rules let pass is what somebody sees who has seen the flight"
    assert sent == 3 * (38 + 8), "only what passed the rules is asked about"


@pytest.mark.parametrize(
    ("errs", "bad_most", "good_most"),
    [(0.0, 0, 2), (0.02, 1, 4), (0.05, 1, 6), (0.1, 2, 10)],
)
def test_what_a_second_model_costs_that_errs(errs: float, bad_most: int, good_most: int) -> None:
    """It errs at random, in the same replies every time; and may err in either of two replies about an item."""
    told = {part: text for raw in ITEMS for part, text in honest(raw).items()}
    wrong = {raw["question"]: raw["wrong"][-1] for raw in ITEMS}

    def ask(request: Request) -> Reply:
        text = request.messages[0].text
        part = next(part for part in told if part in text)
        question = part.partition("\n\n")[2].strip()
        if rng_for("second errs", part).random() >= errs:
            return Reply(told[part])
        if not request.schema:
            return Reply(wrong[question])
        said = json.loads(told[part])
        return Reply(json.dumps(said | {"right": [], "holds": not said["holds"]}))

    bad, good = passed(ask)
    assert len(bad) <= bad_most, bad
    assert len(good) <= good_most, good


def test_the_second_model_alone_does_not_see_what_only_form_tells() -> None:
    """Trivial questions, markup and other tongues are answered right: these are for the rules."""
    told = {part: text for raw in ITEMS for part, text in honest(raw).items()}
    bad, good = passed(lambda r: Reply(next(t for part, t in told.items() if part in r.messages[0].text)), rules=False)
    assert good == []
    assert {line.partition(":")[0] for line in bad} == {"trivial", "other language", "markup", "nonsense", "other task"}


# What each prompt says, and the answer to it.
STEPS = {
    "experienced drone pilot": json.dumps(PASSAGES),
    "two lists": json.dumps(LISTS),
    "You write the examination": questions(GOOD, question(question="Why did the drone descend before it ascended?")),
}
EXPECTED = [None, "invalid_or_ambiguous_order"]
# How models dress up a JSON text, and what becomes of the flight.
DRESSED = {
    "bare": ("{}", EXPECTED),
    "fenced": ("```json\n{}\n```", EXPECTED),
    "fenced_without_a_name": ("```\n{}\n```\n", EXPECTED),
    "never_closed": ("```json\n{}", EXPECTED),
    "with_words_around": ("Sure! Here it is:\n\n```json\n{}\n```\nLet me know if I can help.", EXPECTED),
    "after_thoughts": ('<think>\nMaybe {{"questions": []}}? No.\n</think>\n\n{}', EXPECTED),
    "fenced_after_thoughts": ("It is a flight, so…\n</think>\n```JSON\n{}\n```", EXPECTED),
    "cut": ("```json\n{:.60}", ["narrate_malformed"] * 2),
    "nothing_but_words": ("I cannot see the video.", ["narrate_malformed"] * 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("dressed", DRESSED)
def test_dressed_json_is_read_or_refused_with_its_reason(provider: str, dressed: str, tmp_path: Path) -> None:
    frame, expected = DRESSED[dressed]
    replies = {part: frame.format(text) for part, text in STEPS.items()}
    with running(replies=replies) as server:
        spec = hosted(server.address, provider, attempts=1)
        with Session([spec], tmp_path / "c", {"PLANTED_KEY": KEY}) as session:
            table = author(view(), CANDIDATES.empty_table(), lambda r: session.ask(spec.name, r), [MadeTask()], None, 2)
        sent = len(server.records())
    assert table["reason"].to_pylist() == expected
    assert sent == (2 if expected == EXPECTED else 1)
