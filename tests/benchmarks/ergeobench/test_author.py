import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.benchmarks.ergeobench.author import VIEWS, GeoAuthor, declared
from pipeline.benchmarks.ergeobench.images import shown_in
from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.tables import CANDIDATES, UNCHECKED, selected_questions
from pipeline.engine.config import build_config
from pipeline.llm.base import Image, Reply, Request, Text
from pipeline.llm.failures import ModelError
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.questions.model_authoring import CONFIRMED, MODEL_ASSISTED
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.panorama.facts import DeclaredView
from pipeline.worlds.panorama.pictures import rendered
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.benchmarks.ergeobench.made import FOUNTAIN, scene, seen
from tests.builds import UNASKED
from tests.llm.asking import KEY
from tests.llm.fake_server import running
from tests.worlds.panorama.panoramas import read, write

Answers = Callable[[Request], str]
GOOD = {
    "proof": "Grey setts fill the lower half.", "picture": 2, "question": "What is the road in this picture made of?",
    "answer": "setts", "wrong": ["asphalt", "gravel", "planks"],
}  # fmt: skip
PICTURES = VisualInputs(
    tuple(p for n in range(1, VIEWS + 1) for p in (Text(f"Picture {n}:"), Image(bytes([n]), "image/jpeg"))), VIEWS
)


def view(**changes: Any) -> ErgeoView:
    quay = DeclaredView(name="quay", yaw_deg=40.0)
    return ErgeoView(scene(FOUNTAIN, views=(quay,), **changes), ErgeoRules())


def asks(answers: Answers) -> Callable[[Request], Reply]:
    return lambda request: Reply(answers(request))


def written(
    *questions: dict[str, Any], check: Answers | None = None, own: ErgeoView | None = None, shown: bool = True
) -> list[dict[str, Any]]:
    """What is written of slot Terrain, of which the facts gave nothing."""
    models = [asks(lambda request: json.dumps({"questions": questions})), *([asks(check)] if check else [])]
    shows = [PICTURES if shown else None] * len(models)
    table = GeoAuthor().write(own or view(), CANDIDATES.empty_table(), models, ["Terrain"], shows, 2)
    return table.to_pylist()


def letter_of(text: str, option: str) -> str:
    return next(line[0] for line in text.splitlines() if line[1:] == f". {option}")


def checker(right: str = "setts", holds: bool = True, seen: list[bytes] | None = None) -> Answers:
    """A second model that finds one option right, and remembers what it was shown."""

    def answer(request: Request) -> str:
        text = next(part.text for part in request.messages[0].parts if isinstance(part, Text))
        if seen is not None:
            seen.extend(part.data for part in request.messages[0].parts if isinstance(part, Image))
        letter = letter_of(text, right)
        return json.dumps({"right": [letter], "holds": holds}) if request.schema else letter

    return answer


def test_a_question_is_bound_to_the_view_that_it_declares() -> None:
    seen: list[bytes] = []
    (row,) = written(GOOD, check=checker(seen=seen))
    assert row["reason"] is None
    assert (row["answer"], row["flags"], row["proof"]) == ("setts", [MODEL_ASSISTED], GOOD["proof"])
    assert shown_in(row) == (declared(view())[1],)
    assert set(seen) == {b"\x02"}, "the checker sees that view alone"
    selected = select(pa.Table.from_pylist([row], schema=CANDIDATES), {"Terrain": ERGEO_TASKS["Terrain"]}, 6)
    (asked,) = selected_questions(selected).to_pylist()
    assert asked["text"] == GOOD["question"]
    assert len(asked["options"]) == 4


def test_declared_views_go_first() -> None:
    assert declared(view())[0].yaw_deg == 40.0
    assert len(declared(view())) == VIEWS


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"picture": 0}, "declared_view_unknown"),
        ({"picture": VIEWS + 1}, "declared_view_unknown"),
        ({"wrong": ["asphalt", "gravel"]}, "wrong_options_missing"),
        ({"wrong": ["asphalt", "Asphalt ", "planks"]}, "options_repeat"),
        ({"wrong": ["asphalt", "SETTS", "planks"]}, "options_repeat"),
        ({"question": "Is the road of setts?"}, "answer_in_the_question"),
        ({"question": "What? " * 60}, "text_too_long"),
    ],
)
def test_what_is_written_wrongly_is_refused(changes: dict[str, Any], reason: str) -> None:
    (row,) = written(GOOD | changes, check=checker())
    assert row["reason"] == reason


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (checker("asphalt"), "second_model_disagrees"),
        (checker(holds=False), "second_model_doubts_question"),
    ],
)
def test_what_the_checker_does_not_bear_out_is_refused(check: Answers, reason: str) -> None:
    (row,) = written(GOOD, check=check)
    assert row["reason"] == reason
    assert row["proof"] == GOOD["proof"], "what was written is kept"


def test_what_is_refused_is_written_again_once_with_the_reason_and_then_stays_refused() -> None:
    told = list[str]()

    def writes(*replies: dict[str, Any]) -> list[dict[str, Any]]:
        left = list(replies)

        def write(request: Request) -> Reply:
            told.extend(part.text for part in request.messages[0].parts[-1:] if isinstance(part, Text))
            return Reply(json.dumps({"questions": [left.pop(0)]}))

        asked = [write, asks(checker())]
        rows = GeoAuthor().write(view(), CANDIDATES.empty_table(), asked, ["Terrain"], [PICTURES] * 2, 2).to_pylist()
        assert not left
        return rows

    wrong = GOOD | {"question": "What covers the road?", "answer": "asphalt", "wrong": ["setts", "gravel", "planks"]}
    assert [row["reason"] for row in writes(wrong, GOOD)] == ["second_model_disagrees", None]
    assert '"What covers the road?": second model disagrees' in told[1]
    assert "were refused" not in told[0]
    again = wrong | {"question": "What is the road?"}
    assert [row["reason"] for row in writes(wrong, again)] == ["second_model_disagrees"] * 2


def test_the_checker_sees_what_facts_gave_and_refuses_whole_sets() -> None:
    own = ErgeoView(scene(FOUNTAIN, seen("b", 120.0, "bench")), ErgeoRules())
    facts = ERGEO_TASKS["Infrastructure"].candidates(own)
    asked = [row for row in facts.to_pylist() if row["reason"] is None]
    author = GeoAuthor()
    shown_views = author.pictured(own, facts)
    assert {view for row in asked for view in shown_in(row)} == set(shown_views)
    count = len(declared(own)) + len(shown_views)
    parts = tuple(p for n in range(count) for p in (Text(f"Picture {n}:"), Image(bytes([n]), "image/jpeg")))
    liar, shown = asked[0], VisualInputs(parts, count)

    def check(request: Request) -> str:
        text = next(part.text for part in request.messages[0].parts if isinstance(part, Text))
        (image,) = (part.data for part in request.messages[0].parts if isinstance(part, Image))
        view = shown_views[image[0] - len(declared(own))]
        (row,) = (row for row in asked if row["wording"] in text and shown_in(row) == (view,))
        letter = letter_of(text, row["wrong"][0] if row["id"] == liar["id"] else row["answer"])
        return json.dumps({"right": [letter], "holds": True}) if request.schema else letter

    never = asks(lambda request: "never asked")
    found = {row["id"]: row for row in author.checked(own, facts, [never, asks(check)], [None, shown]).to_pylist()}
    same = [row["id"] for row in asked if row["operands"][:2] == liar["operands"][:2] and row["id"] != liar["id"]]
    assert found[liar["id"]]["reason"] == "second_model_disagrees"
    assert [(found[n]["reason"], found[n]["measured"]) for n in same] == [("counterpart_refused", 1.0)]
    others = [found[row["id"]] for row in asked if row["id"] not in {liar["id"], *same}]
    assert others
    assert all(row["reason"] is None for row in others)
    assert all(any(fact["name"] == CONFIRMED for fact in row["evidence"]) for row in others)
    assert author.checked(own, facts, [never], [shown]) is facts
    assert author.calls(facts, ["Terrain"], [True, True], 2)[1] == 2 * 3 * 2 + 2 * len(asked)


def test_a_statement_has_two_options() -> None:
    statement = GOOD | {"question": "This picture shows a slope.", "answer": "False", "wrong": ["True"]}
    (row,) = written(statement, check=checker("False"))
    assert row["reason"] is None


def test_without_a_checker_it_says_so_and_without_pictures_nothing_is_written() -> None:
    (row,) = written(GOOD)
    assert UNCHECKED in row["flags"]
    assert [row["reason"] for row in written(GOOD, shown=False)] == ["no_pictures_shown"]
    assert written(GOOD, own=view(tags=("wilderness",))) == []
    assert [row["reason"] for row in written()] == ["nothing_written"]


def test_where_facts_answer_no_model_is_asked() -> None:
    facts = ERGEO_TASKS["Terrain"].candidates(view()).to_pylist()[0] | {"reason": None, "answer": "x", "wrong": ["y"]}
    table = pa.Table.from_pylist([facts], schema=CANDIDATES)
    assert GeoAuthor().calls(table, ["Terrain", "Signage"], [True, True], 2) == (2, 14)
    assert GeoAuthor().calls(table, ["Terrain"], [False], 2) == (0,)


def test_a_model_that_fails_is_told_and_asked_again() -> None:
    def fails(request: Request) -> Reply:
        raise ModelError("unexpected", "no")

    rows = GeoAuthor().write(view(), CANDIDATES.empty_table(), [fails], ["Terrain"], [PICTURES], 2).to_pylist()
    assert [row["reason"] for row in rows] == ["declared_unexpected"]
    assert not GeoAuthor().is_complete({"declared_unexpected"})
    assert GeoAuthor().is_complete({"second_model_disagrees"})


def test_a_build_shows_the_checker_the_picture_that_its_question_is_about(tmp_path: Path) -> None:
    """The stages `author_views` and `author` agree on the order of the pictures: each is rendered again here."""
    box = {"pitch_deg": [-8, 8], "slot": "Infrastructure"}
    things = [{"id": n, "label": n, "yaw_deg": [yaw, yaw + 10]} | box for n, yaw in (("bench", 0), ("lamp", 120))]
    root = write(tmp_path / "raw", objects={"objects": things, "complete": ["bench", "lamp"]})
    replies = {"Examine this": json.dumps({"right": [], "holds": True}), "foundational": json.dumps({"questions": []})}
    with running(replies=replies) as server:
        model = {"provider": "openai", "base_url": f"{server.address}/v1", "key_env": "PLANTED_KEY", "attempts": 1}
        models = {key: model | {"model": key, "inputs": ["text", "image"]} for key in ("model", "second")}
        limits = {"panorama": {"pixels_per_degree_min": 0.0, "sharpness_min": 0.0}}
        own = {"build": "ergeobench", "benchmark": "ergeobench", "roots": {"panoramas": root}, "observe": limits}
        made = build_config(own | UNASKED | {"author": models, "generate": {"tasks": ["Infrastructure"]}})
        stages = dict(list(STAGES.items())[: list(STAGES).index("author") + 1])
        Builder(made, tmp_path / "out", keys={"PLANTED_KEY": KEY}, stages=stages).build()
        sent = [record["body"]["messages"][-1]["content"] for record in server.records()]
    panorama = read(root)
    facts = ERGEO_TASKS["Infrastructure"].candidates(ErgeoView(panorama, made.generate.resolved_rules())).to_pylist()
    asked = [row for row in facts if row["reason"] is None]
    (ref,) = Panoramas().scenes(root).scenes
    drawn = [next(iter(rendered(SceneFiles(root, ref), panorama, shown_in(row)))) for row in asked]
    wanted_pairs = {(row["wording"], base64.b64encode(jpeg).decode()) for row, jpeg in zip(asked, drawn, strict=True)}
    seen_pairs = set()
    for parts in sent:
        text = " ".join(part["text"] for part in parts if part["type"] == "text")
        shown = [part["image_url"]["url"].partition(",")[2] for part in parts if part["type"] == "image_url"]
        seen_pairs |= {(row["wording"], shown[0]) for row in asked if row["wording"] in text}
    assert len(wanted_pairs) >= 4
    assert seen_pairs == wanted_pairs
