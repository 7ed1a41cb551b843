"""A model that is shown pictures, and a second one that answers what it wrote, over the real protocols."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from pipeline.core.errors import RawDataError
from pipeline.core.tables import CANDIDATES
from pipeline.llm.base import Image, ModelSpec, Reply, Request, Text
from pipeline.llm.session import Session
from pipeline.llm.visual_inputs import VisualInputs, visual_inputs
from pipeline.samples.common.encode import VideoWriter
from tests.benchmarks.urbanvideo.authoring.made import (
    GOOD,
    LISTS,
    PASSAGES,
    MadeTask,
    Scripted,
    author,
    questions,
    view,
)
from tests.llm.asking import KEY, hosted
from tests.llm.fake_server import running

NONE = CANDIDATES.empty_table()
ALL_RIGHT = json.dumps({"right": [], "holds": True})  # none beside the one that it is asked about
STEPS = {
    "experienced drone pilot": json.dumps(PASSAGES),
    "two lists": json.dumps(LISTS),
    "You write the examination": questions(GOOD),
}


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Two seconds at 10 frames a second, each brighter than the one before."""
    writer = VideoWriter("mp4", 10, 64, 48)
    for k in range(20):
        writer.add(np.full((48, 64, 3), 10 * k, dtype=np.uint8))
    path = tmp_path / "v.mp4"
    path.write_bytes(writer.finish())
    return path


def test_pictures_are_spread_over_the_video_and_say_when_they_are(video: Path) -> None:
    found = visual_inputs(video, ("text", "image"), 4)
    assert found.pictures == 4
    assert [part.text for part in found.parts if isinstance(part, Text)] == [
        f"Second {s}:" for s in ("0.2", "0.7", "1.2", "1.7")
    ]
    jpegs = [part.data for part in found.parts if isinstance(part, Image)]
    brightness = [float(np.asarray(Picture.open(io.BytesIO(jpeg))).mean()) for jpeg in jpegs]
    assert brightness == pytest.approx([20, 70, 120, 170], abs=6)  # frames 2, 7, 12 and 17
    assert visual_inputs(video, ("image",), 100).pictures == 20  # type: ignore[union-attr]
    assert visual_inputs(video, ("text",), 4) is None
    (whole,) = visual_inputs(video, ("text", "image", "video"), 4).parts  # type: ignore[union-attr]
    assert whole.kind == "video"


def test_a_video_that_cannot_be_shown_is_a_fault(tmp_path: Path) -> None:
    for name, raw in (("there.mp4", b"no video"), ("away.mp4", None)):
        if raw is not None:
            (tmp_path / name).write_bytes(raw)
        with pytest.raises(RawDataError, match="cannot be shown to a model"):
            visual_inputs(tmp_path / name, ("image",), 4)


def test_frames_are_no_part_of_what_a_reply_depends_on_beside_the_request() -> None:
    specs = [ModelSpec(provider="openai", model="m", inputs=("text", "image"), frames=n) for n in (4, 8)]
    assert specs[0].identity() == specs[1].identity()


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_pictures_over_the_protocols_and_a_second_model(provider: str, video: Path, tmp_path: Path) -> None:
    """The second model is right with the video alone: the question stays, with both of its answers."""
    replies = STEPS | {"that you cannot see": "E" * 3, "Examine this": ALL_RIGHT, "are from the video": GOOD["answer"]}
    with running(replies=replies) as server:
        spec = hosted(server.address, provider, attempts=1, inputs=("text", "image"), frames=3)
        second = spec.model_copy(update={"name": "second"})
        with Session([spec, second], tmp_path / "c", {"PLANTED_KEY": KEY}) as session:
            seen = visual_inputs(video, spec.inputs, spec.frames)
            answers = (lambda r: session.ask("second", r), seen)
            (row,) = author(
                view(), NONE, lambda r: session.ask(spec.name, r), [MadeTask()], seen, 1, answers
            ).to_pylist()
        bodies = [record["body"] for record in server.records()]
    assert row["reason"] is None
    told = {e["name"]: (e["value"], e["relation"], e["limit"]) for e in row["evidence"] if "second" in e["name"]}
    assert told == {
        "second_model_without_video": (0.0, None, None),
        "second_model_disagrees": (1.0, ">=", 1.0),
        "second_model_finds_several_right": (0.0, "<=", 0.0),
        "second_model_doubts_question": (1.0, ">=", 1.0),
    }
    pictures = [_pictures(body, provider) for body in bodies]
    # Narrated and composed with pictures, extracted from words; the second model without and with, and examining.
    assert [len(found) for found in pictures] == [3, 0, 3, 0, 3, 3]
    sent = [part.data for part in seen.parts if isinstance(part, Image)]  # type: ignore[union-attr]
    assert pictures[0] == sent


def _pictures(body: dict[str, Any], provider: str) -> list[bytes]:
    """The pictures of a request as they came in."""
    if provider == "openai":
        content = body["messages"][-1]["content"]
        parts = [] if isinstance(content, str) else content
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return [base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in urls]
    parts = body["contents"][-1]["parts"]
    return [base64.urlsafe_b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part]


@pytest.mark.parametrize(
    ("with_it", "without", "reason", "evidence"),
    [
        (True, False, None, [0.0, 1.0, 0.0, 1.0]),
        (True, True, None, [1.0, 1.0, 0.0, 1.0]),  # what the text tells is for the blind stage
        (False, True, "second_model_disagrees", [1.0, 0.0]),
        (False, False, "second_model_disagrees", [0.0, 0.0]),
    ],
)
def test_kept_only_where_the_second_model_is_right_with_the_video(
    with_it: bool, without: bool, reason: str | None, evidence: list[float]
) -> None:
    seen = VisualInputs((Text("Second 1.0:"), Image(b"jpeg", "image/jpeg")), 1)

    def ask(request: Request) -> Reply:
        if request.schema:
            return Reply(ALL_RIGHT)
        is_right = with_it if "are from the video" in request.messages[0].text else without
        return Reply(GOOD["answer"] if is_right else GOOD["wrong"][2])

    model = Scripted(compose=questions(GOOD))
    (row,) = author(view(), NONE, model, [MadeTask()], None, 1, (ask, seen)).to_pylist()
    assert (row["reason"], row["measured"], row["limit"]) == (reason, *((0.0, 1.0) if reason else (None, None)))
    assert [e["value"] for e in row["evidence"] if e["name"].startswith("second")] == evidence
    assert row["flags"] == ["model_assisted"], "it is checked"


@pytest.mark.parametrize(
    ("right", "holds", "reason"),
    [
        ("ABCDE", True, "second_model_finds_several_right"),
        ("", False, "second_model_doubts_question"),
        ("", True, None),
        (None, True, "second_all_malformed"),
    ],
)
def test_the_second_model_says_what_else_is_right_and_whether_the_question_holds(
    right: str | None, holds: bool, reason: str | None
) -> None:
    seen = VisualInputs((Text("Second 1.0:"), Image(b"jpeg", "image/jpeg")), 1)

    def ask(request: Request) -> Reply:
        examined = "no JSON" if right is None else json.dumps({"right": list(right), "holds": holds})
        return Reply(examined if request.schema else GOOD["answer"])

    (row,) = author(view(), NONE, Scripted(compose=questions(GOOD)), [MadeTask()], None, 1, (ask, seen)).to_pylist()
    assert row["reason"] == reason


def test_a_second_model_that_sees_nothing_refuses_nothing_and_confirms_nothing() -> None:
    second = (lambda request: Reply("B"), None)
    (row,) = author(view(), NONE, Scripted(compose=questions(GOOD)), [MadeTask()], None, 1, second).to_pylist()
    assert (row["reason"], row["flags"]) == (None, ["model_assisted", "unchecked"])
    assert [e["name"] for e in row["evidence"] if "second" in e["name"]] == ["second_model_without_video"]


def test_a_refused_draft_is_written_again_once_and_confirmed_blind() -> None:
    """The reason goes back to the writer; both versions are kept, and rules and second model hold for both."""
    bad = GOOD | {"wrong": [*GOOD["wrong"][:3], "All of the above"]}
    model = Scripted(compose=lambda request: questions(GOOD if "A reviewer" in request.messages[0].text else bad))
    second = (lambda request: Reply(GOOD["answer"]), None)
    first, other = author(view(), NONE, model, [MadeTask()], None, 1, second, again=True).to_pylist()
    assert (first["reason"], first["wrong"], other["reason"]) == ("choices_not_one_right", bad["wrong"], None)
    assert other["flags"] == ["model_assisted", "written_again", "unchecked"]
    assert (first["operands"][0], other["operands"][0]) == ("1", "2")
    assert f'- "{GOOD["question"]}": choices not one right' in model.requests[-1].messages[0].text


def test_roles_differ_between_flights_and_wordings_are_offered() -> None:
    roles = set()
    for name in "abcdefgh":
        model = Scripted(compose=questions(GOOD))
        task = MadeTask(template="urbanvideo/questions/causal")
        author(view(name), NONE, model, [task], None, 1)
        prompt = model.requests[-1].messages[0].text
        assert "- For what purpose does the drone [action]?" in prompt
        roles.add(next(line for line in prompt.splitlines() if line.startswith("You are ")))
    assert len(roles) >= 3
