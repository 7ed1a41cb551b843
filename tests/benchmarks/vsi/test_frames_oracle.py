"""Answers and refusals per frame budget of a filmed scan, held against a renderer that shares nothing with ours."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.benchmarks.vsi.tasks.registry import ASKED
from pipeline.core.tables import selected_questions
from pipeline.questions.selection import select
from pipeline.questions.twins import TWIN_FRAMES, twins_of
from pipeline.reading.files import SceneFiles
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from pipeline.worlds.registry import READERS
from tests.conftest import Samples
from tests.oracles.scan_frames import OracleFilm

pytestmark = pytest.mark.slow
MOST = 100  # questions of a task
BUDGETS = (3, 6, 16)  # three frames show half of a room
TASKS = [name for name in ASKED["strict"] if name != "route_planning"]


class Filmed(NamedTuple):
    """What the oracle makes of a scan, its candidates, and the twins of its questions."""

    film: OracleFilm
    rows: list[dict[str, Any]]
    twins: list[dict[str, Any]]


@pytest.fixture(scope="module")
def filmed(samples: Samples) -> Filmed:
    reader, root = READERS["scannetpp"], samples.folder / "scannetpp"
    files = SceneFiles(root, reader.scenes(root).scenes[0])
    scene = reader.read(files)
    view = VSI.view(
        observe(scene, reader.geometry(files, scene), ObserveConfig(budgets=BUDGETS)), VSI.profiles["strict"]
    )
    assert scene.video
    film = OracleFilm(root / "data" / scene.name, scene.video.frames, scene.video.fps)
    columns = ["task", "operands", "answer", "budgets"]
    tables = [VSI.by_name()[name].candidates(view) for name in TASKS]
    questions = selected_questions(select(pa.concat_tables(tables), VSI.by_name(), 6)).to_pylist()
    twins = twins_of(questions, VSI.by_name(), view).to_pylist()
    asked = [table.select(columns) for table in tables]
    kept = pa.concat_tables([table.filter(pc.is_valid(table["answer"])).slice(0, MOST) for table in asked])
    return Filmed(film, kept.to_pylist(), twins)


def test_what_frames_show_is_answered_and_refused_as_the_oracle_finds(
    filmed: Filmed,
) -> None:
    film, rows, _ = filmed
    wrong = [
        (row["task"], row["operands"], own, said)
        for row in rows
        for own in row["budgets"]
        if (said := film.wrong(row, own))
    ]
    assert not wrong
    asked = Counter((own["budget"], own["answer"] is not None) for row in rows for own in row["budgets"])
    assert all(asked[budget, True] >= 25 for budget in BUDGETS)
    assert all(asked[budget, False] >= 25 for budget in (3, 6))
    every = film.plan(list(range(len(film.poses))))
    for budget in BUDGETS:  # the area is asked of 16 frames alone
        (own,) = [o for r in rows if r["task"] == "room_size_estimation" for o in r["budgets"] if o["budget"] == budget]
        share = len(film.plan(film.chosen(budget))) / len(every)
        assert (own["answer"] is not None) == (share >= 0.9)
        assert abs(share - 0.9) > 0.04


PLANTED: dict[str, Callable[[str, bool], str]] = {
    "object_counting": lambda answer, refused: str(int(answer) + 1),
    "obj_appearance_order": lambda answer, refused: ", ".join(reversed(answer.split(", "))),
    "object_abs_distance": lambda answer, refused: answer if refused else "99.9",
}


@pytest.mark.parametrize("task", PLANTED)
def test_the_oracle_finds_what_is_planted(task: str, filmed: Filmed) -> None:
    """Another answer, or one in place of a refusal."""
    film, rows, _ = filmed
    planted = 0
    for row in (row for row in rows if row["task"] == task):
        for own in row["budgets"]:
            others = PLANTED[task](own["answer"] or row["answer"], own["answer"] is None)
            if own["reason"] in {None, "not_shown_in_frames", "too_few_instances"}:
                planted += 1
                assert film.wrong(row, own | {"answer": others}), (row["operands"], own)
    assert planted >= 6


def test_no_frame_of_a_twin_shows_a_pixel_of_what_it_asks_about(filmed: Filmed) -> None:
    asked = [twin for twin in filmed.twins if twin["reason"] is None]
    assert len(asked) >= 30
    film = filmed.film
    for twin in asked:
        assert twin["hidden"] in twin["operands"]
        assert len(set(twin["frames"])) == TWIN_FRAMES
        shown = [film.shown(film.delivered[index])[0] for index in twin["frames"]]
        assert not any(pixels[number] for pixels in shown for number in film.instances(twin["hidden"]))
    refused = [twin for twin in filmed.twins if twin["reason"]]
    assert {(twin["reason"], twin["measured"] < twin["limit"]) for twin in refused} == {
        ("evidence_fills_the_video", True)
    }
    assert any(twin["task"] == "room_size_estimation" for twin in refused)
