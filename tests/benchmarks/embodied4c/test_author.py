"""Material properties and environmental effects that a model writes: what the log refuses, and what models say."""

import json
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.author import ASSISTED, ExamAuthor, Moment, measures, moments
from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C, exam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.columns import COLUMNS
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.schema import AnyScene, Video
from pipeline.core.tables import CANDIDATES, selected_questions
from pipeline.llm.base import Image, Reply, Request, Text
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.model_authoring import MODEL_ASSISTED
from pipeline.questions.open_items import OpenItem, item_of
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.argoverse2 import write_log
from pipeline.samples.drive.plan import PLANS
from pipeline.samples.registry import SAMPLES
from pipeline.worlds.drive.facts import DriveScene
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.registry import READERS
from tests.benchmarks.authoring import Model, agreeing, assert_told_apart, items_of, models_of, written_twice
from tests.benchmarks.embodied4c.test_oracles import scene as flown

ITEMS = Path(__file__).with_name("items.txt")
NO_VEHICLES = frozenset({"bus", "tram", "van", "truck", "bicycle", "cyclist"})
MOMENTS: Final = {
    "driving": Moment(4.0, (), NO_VEHICLES, {"standing": False, "moving": True}),
    "stopped": Moment(4.0, (), NO_VEHICLES - {"tram"}, {"standing": True, "moving": False}),
    "air": Moment(
        4.0,
        (),
        frozenset({"stadium", "windmill", "tower"}),
        {"standing": False, "moving": True, "climbing": True, "sinking": False},
    ),
    "arm": Moment(4.0, (), frozenset({"bottle", "ball", "drawer"}), {"open": False, "closed": True}),
}

GOOD: Final[dict[str, Any]] = {
    "proof": "Dark grey and even.", "second": 4.0, "question": "What is the road made of?", "answer": "asphalt",
    "accepted": ["tarmac"], "wrong": ["gravel", "sand", "cobblestones"],
}  # fmt: skip


def refusal(sub: str, moment: str, item: OpenItem, off_s: float = 0.0) -> str | None:
    return next((one.name for one in measures(item, sub, MOMENTS[moment], off_s) if not one.holds), None)


def test_bad_items_are_refused_and_good_ones_are_not() -> None:
    """Of the first 45 bad items 4 passed and of 43 good ones 9 failed when no rule had seen them.

    Of the second 13 and 13 5 and 1, before rules were made for them. What is left is for the second model.
    """
    assert_told_apart([(refusal(sub, moment, item), item, bad) for (sub, moment), item, bad in items_of(ITEMS)])


@pytest.mark.parametrize(
    ("changes", "moment", "reason"),
    [
        ({}, "driving", None),
        ({"question": "What is the road by the bus made of?"}, "driving", "speaks_of_what_is_not_there"),
        ({"question": "What is the road made of where we stand?"}, "driving", "contradicts_the_log"),
        ({"question": "What is the road made of where we stand?"}, "stopped", None),
        ({"question": "What is the road made of where we are driving?"}, "stopped", "contradicts_the_log"),
        ({"question": "What is the roof made of as the drone sinks?"}, "air", "contradicts_the_log"),
        ({"question": "What is the cube made of below the open gripper?"}, "arm", "contradicts_the_log"),
        ({"question": "What is the road made of in 3 seconds?"}, "driving", "names_a_time"),
        ({"question": "What will the surface soon be?"}, "driving", "speaks_of_later"),
        ({"question": "Which way does the road bear?", "answer": "left", "accepted": []}, "driving",
         "not_of_the_sub_capability"),
        ({"question": "Is it made of asphalt or not?"}, "driving", "not_an_open_question"),
    ],
)  # fmt: skip
def test_each_rule_says_what_is_wrong(changes: dict[str, Any], moment: str, reason: str | None) -> None:
    assert refusal("M/P", moment, item_of(GOOD | changes)) == reason
    assert refusal("M/P", moment, item_of(GOOD | changes), off_s=0.6) == "moment_unknown"


# What logs say, and what models make of it.

FILM: Final = Video(path="film", fps=10.0, frames=80, width=64, height=36)
SECONDS: Final = (1.0, 3.0, 5.0, 7.0)
PICTURES: Final = VisualInputs(
    tuple(p for s in SECONDS for p in (Text(f"Second {s:.1f}:"), Image(bytes([int(s)]), "image/jpeg"))), len(SECONDS)
)


@cache
def drive() -> DriveScene:
    """A sample drive."""
    root = Path(mkdtemp())
    write_log(root, PLANS["braking"])
    reader = Argoverse2()
    (ref,) = reader.scenes(root).scenes
    return reader.read(SceneFiles(root, ref))


@cache
def arm() -> AnyScene:
    """A sample episode."""
    root = Path(mkdtemp())
    SAMPLES["arm"].write(root)
    reader = READERS["lerobot"]
    return reader.read(SceneFiles(root / "lerobot", reader.scenes(root / "lerobot").scenes[0]))


def view(scene: AnyScene | None = None, video: Video | None = FILM) -> Exam:
    return exam((scene or drive()).model_copy(update={"video": video}), ExamRules(exam_moments_max=6))


def facts_of(seen: Exam) -> pa.Table:
    return pa.concat_tables([EXAM_TASKS[sub].candidates(seen) for sub in ASSISTED])


def write(
    replies: Sequence[Any],
    second: Model | None = None,
    blind: str = "no idea",
    shown: VisualInputs | None = PICTURES,
    own: Exam | None = None,
) -> tuple[list[dict[str, Any]], list[Request]]:
    """What is written of M/P, and all that the model which writes was asked."""
    seen = own or view()
    models, sent = models_of(replies, second, blind)
    found = ExamAuthor().write(seen, facts_of(seen), models, ["M/P"], [shown] * len(models), 2)
    return found.to_pylist(), sent


agreeing_asphalt = partial(agreeing, "asphalt")  # where it is shown something


def test_a_log_without_pictures_is_refused_by_name_and_of_any_other_facts_tell_nothing() -> None:
    for video, reason in ((None, "log_without_pictures"), (FILM, "only_pictures_tell")):
        seen = view(video=video)
        table = facts_of(seen)
        assert table["reason"].to_pylist() == [reason] * 2
        wanted = (2 + 2 * 2 * 2, 3 * 2 * 2) if video else (0, 0)
        assert ExamAuthor().calls(table, ASSISTED, [True, True], 2) == wanted
        assert ExamAuthor().calls(table, ASSISTED, [True, False], 2) == (0, 0), (
            "a second that sees nothing proves nothing"
        )
        assert ExamAuthor().calls(table, ASSISTED, [True], 2) == (0,)
        assert ExamAuthor().calls(table, ["CL"], [True, True], 2) == (0, 0)
    rows, sent = write([{"questions": [GOOD]}], agreeing_asphalt(), own=view(video=None))
    assert (rows, sent) == ([], [])


def test_what_is_borne_out_is_asked_at_its_moment_of_what_was_filmed_by_then() -> None:
    saw: list[bytes] = []
    rows, sent = write([{"questions": [GOOD]}], agreeing_asphalt(saw=saw))
    (row,) = rows
    assert row["reason"] is None
    assert (row["answer"], row["wrong"], row["proof"]) == ("asphalt", GOOD["wrong"], GOOD["proof"])
    assert (row["wording"], row["until_s"]) == (GOOD["question"], pytest.approx(4.0, abs=0.1))
    assert {MODEL_ASSISTED, "domain: driving", "modality: RGB", "accepted: tarmac"} <= {*row["flags"]}
    assert set(saw) == {b"\x01", b"\x03"}, "nothing of what comes later"
    assert len(sent) == 2, "to write, and one guess, which was wrong"
    assert "our speed: " in sent[0].messages[0].text
    asked = selected_questions(select(pa.Table.from_pylist(rows, schema=CANDIDATES), EXAM_TASKS, 12, EMBODIED4C.shares))
    (public,) = COLUMNS.table(asked, ()).to_pylist()
    assert (public["capability"], public["sub_capability"], public["answer"]) == ("PHY", "M/P", "asphalt")
    assert (public["accepted"], public["value"], public["modality"]) == (["tarmac"], None, "RGB")


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (agreeing("gravel"), "second_model_disagrees"),
        (agreeing_asphalt(more=["sand"]), "second_model_finds_several_right"),
        (agreeing_asphalt(holds=False), "second_model_doubts_question"),
        (lambda request: "Well, A or B, or perhaps C. " * 40, "second_model_disagrees"),
        (lambda request: "asphalt", "exam_all_malformed"),
    ],
)
def test_what_the_second_model_does_not_bear_out_is_refused(second: Model, reason: str) -> None:
    (row,), _ = write([{"questions": [GOOD]}], second)
    assert (row["reason"], row["answer"], row["proof"]) == (reason, "asphalt", GOOD["proof"])


@pytest.mark.parametrize(
    ("replies", "more", "reasons"),
    [
        ([{"questions": [GOOD]}], {"blind": "asphalt"}, ["answered_unseen"]),
        ([{"questions": [GOOD]}], {"shown": None}, ["no_pictures_shown"]),
        ([{"questions": []}], {}, ["nothing_written"]),
        (["I am a friendly model."], {}, ["exam_malformed"]),
        (['{"questions": [{"question": "<b>"}]}'], {}, ["exam_malformed"]),
        (['{"questions": 1e999}'], {}, ["exam_malformed"]),
        ([{"questions": [GOOD | {"second": 1e9}]}], {}, ["moment_unknown"]),
        ([{"questions": [GOOD | {"answer": "asphalt</script>"}]}], {}, ["markup_in_text"]),
        ([{"questions": [GOOD | {"question": "What is the tram on the road made of?"}]}], {}, [
            "speaks_of_what_is_not_there"]),
        ([{"questions": [GOOD, GOOD]}], {}, ["reads_in_two_ways"]),
    ],
)  # fmt: skip
def test_replies_that_are_no_questions_have_their_reasons(
    replies: list[Any], more: dict[str, Any], reasons: list[str]
) -> None:
    rows, _ = write(replies, agreeing_asphalt(), **more)
    assert [row["reason"] for row in rows] == reasons


def test_one_question_is_of_one_sub_capability_and_an_answer_is_given_twice_at_most() -> None:
    lit = GOOD | {"question": "What is lit by the sun, as its shadow shows?", "answer": "the left kerb", "accepted": []}
    again = [GOOD | {"question": f"What is the {place} made of?"} for place in ("kerb", "wet bridge")]
    wet = GOOD | {"question": "What lies on the wet surface ahead?", "answer": "leaves", "accepted": []}
    written = {
        "M/P": [wet, GOOD, *again],
        "E/E": [wet, lit, lit | {"answer": "light wood", "question": GOOD["question"]}],
    }

    def writer(request: Request) -> Reply:
        sub = "M/P" if "The sub-capability: M/P" in request.messages[0].text else "E/E"
        return Reply(json.dumps({"questions": written[sub]}) if request.schema else "no idea")

    seen = view()
    answers = {"sun": "the left kerb", "wet surface": "leaves", "made of": "asphalt"}

    def second(request: Request) -> Reply:
        told = request.messages[0].text
        return Reply(agreeing(next(answer for word, answer in answers.items() if word in told))(request))

    ask = [writer, second]
    rows = ExamAuthor().write(seen, facts_of(seen), ask, ASSISTED, [PICTURES] * 2, 4).to_pylist()
    found = {(row["task"], row["wording"]): row["reason"] for row in rows}
    assert found["M/P", GOOD["question"]] is None
    assert [found["M/P", one["question"]] for one in again] == [None, "answered_so_before"]
    assert found["E/E", lit["question"]] is None
    assert found["E/E", wet["question"]] == "asked_so_before"
    assert found["E/E", GOOD["question"]] == "not_of_the_sub_capability", "light wood is no light"


def test_without_a_second_model_nothing_is_asked_and_of_the_time_before_the_first_picture_nothing_either() -> None:
    rows, sent = write([{"questions": [GOOD]}])
    assert ([row["reason"] for row in rows], sent) == (["no_second_model"], [])
    late = VisualInputs(PICTURES.parts[4:], 2)
    rows, _ = write([{"questions": [GOOD]}], agreeing_asphalt(), shown=late)
    assert [row["reason"] for row in rows] == ["no_picture_by_then"]


def test_a_film_that_is_shown_as_such_goes_on_so_the_second_is_told() -> None:
    told: list[str] = []

    def second(request: Request) -> str:
        told.append(request.messages[0].text)
        if request.schema is None:
            return "asphalt"
        return json.dumps(
            {"right": [line[0] for line in told[-1].splitlines() if line[3:] == "asphalt"], "holds": True}
        )

    (row,), _ = write([{"questions": [GOOD]}], second, shown=VisualInputs((Text("a film"),)))
    assert row["reason"] is None
    assert "(at second 4.0 of the film)" in told[-1]
    assert "second 4.0" not in row["wording"]


def test_drives_flights_and_arms_tell_what_is_there_and_how_they_move() -> None:
    braking, table = moments(view()), moments(view(arm()))
    air = moments(exam(flown(), ExamRules(exam_moments_max=80, moments_max=80)))
    speeds = [one.states for one in braking]
    assert all(one.get("moving") for one in speeds[:1])
    assert all("tram" in one.absent and "car" not in one.absent for one in braking)
    assert any(one.states.get("climbing") for one in air)
    assert any(one.states.get("standing") for one in air), "it hovers"
    assert not any(one.states.get("standing") and one.states.get("moving") for one in air)
    assert all({"stadium", "windmill"} <= one.absent and "church" not in one.absent for one in air)
    assert any('landmark: "the red church"' in one.lines for one in air)
    episode = arm().facts
    for one in table:
        opening = float(episode.gripper.opening.array[np.abs(episode.times_s - one.second).argmin(), 0])
        assert one.states == ({} if 0.2 < opening < 0.8 else {"open": opening >= 0.8, "closed": opening <= 0.2})
    assert all(any(line.startswith("on the table: ") for line in one.lines) for one in table)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_over_the_real_protocols_the_same_is_asked_once(provider: str, tmp_path: Path) -> None:
    seen = view()
    replies = {
        "You write an examination": f"```json\n{json.dumps({'questions': [GOOD]})}",
        "that you cannot see": "That depends on the road.",
        "Examine this question": '{"right": ["{letter of asphalt}"], "holds": true}',
        "The question is about": "<think>grey…</think>{letter of asphalt}",
    }
    found = written_twice(
        lambda asks: ExamAuthor().write(seen, facts_of(seen), asks, ["M/P"], [PICTURES] * 2, 1),
        provider,
        replies,
        tmp_path / "c",
        inputs=("text", "image"),
    )
    assert found["reason"].to_pylist() == [None]
