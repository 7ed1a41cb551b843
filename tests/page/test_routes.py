"""The page to write routes: what it offers, what it refuses with which words, and the file that a build reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from flows.review_app.app import Pages
from flows.review_app.routes import WrittenRoutes
from flows.review_app.site import ReviewSite
from pipeline.benchmarks.vsi.benchmark import VSI
from pipeline.benchmarks.vsi.rules import STRICT
from pipeline.rendering.glossary import glossary
from pipeline.review.database import ReviewDatabase
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from tests.benchmarks.vsi.tasks.test_route import CROSS, on_floor
from tests.conftest import make_scene
from tests.review.made import SALT, pack_of, rooms

BASE = "http://127.0.0.1:8765"
LEFT = {"start": "bed", "facing": "table", "until0": "table", "turn1": "Turn Left", "until1": "lamp"}

WRONG_WAY = {"facing": "sofa", "until0": "sofa"}  # the table is there


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "review" / "routes.jsonl"


@pytest.fixture
def client(tmp_path: Path, file: Path) -> Iterator[TestClient]:
    scene = on_floor(make_scene(CROSS, area=64))
    video = tmp_path / "made.mp4"
    video.write_bytes(b"a film")
    assert VSI.routes is not None
    desk = WrittenRoutes(file, {"made/room": video}, lambda _: VSI.view(scene, STRICT), VSI.routes, glossary("vsi"))
    database = ReviewDatabase(tmp_path / "review.sqlite")
    site = ReviewSite("vsi", pack_of(rooms(1), "made/room.mp4"), database, tmp_path, b"salt")
    app = Pages(site, SALT, None, desk).app(only_loopback=True)
    yield TestClient(app, base_url=BASE, headers={"origin": BASE}, follow_redirects=False)
    database.close()


def test_a_route_is_stored_once_shown_taken_away_and_read_by_a_build(client: TestClient, file: Path) -> None:
    assert client.get("/routes").headers["location"] == "/"
    assert client.post("/routes/1/add", data=LEFT).status_code == 401
    client.post("/sign-in", data={"reviewer": "ann"})
    assert client.post("/routes/1/add", data=LEFT).headers["location"] == "/routes/1"
    by_hand = '{"of": "somebody else"}'
    file.write_text(file.read_text() + by_hand)  # without an end of line
    right = LEFT | {"start": "sofa", "turn1": "Turn Right"}
    assert client.post("/routes/1/add", data=right).status_code == 303
    assert "(2" not in client.get("/routes").text
    assert "Turn Left, Go forward until the lamp" in client.get("/routes/1").text
    routes, broken = read_written_routes(file)
    assert [route.turns for route in routes["made/room"]["routes"]] == [("Turn Left",), ("Turn Right",)]
    assert [error.finding for error in broken] == ["bad_route"]
    line = file.read_text().split("\n")[0]
    assert json.loads(line)["destination"] == "lamp"
    assert client.post("/routes/1/remove", data={"line": line}).status_code == 303
    assert client.post("/routes/1/remove", data={"line": line}).status_code == 409
    assert file.read_text().split("\n")[0] == by_hand
    assert client.get("/routes/1/video").content == b"a film"
    assert [client.get(path).status_code for path in ("/routes/2", "/routes/0", "/routes/2/video")] == [404] * 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"turn1": "Turn Right"}, "The written turns lead elsewhere than the named objects."),
        (WRONG_WAY, "An object stands in the way of a leg of the route (2 m; limit 5)."),
        ({"until1": "bed"}, "A route passes each object once."),
        ({"until1": "<b>door"}, "Only unique objects may be named, and &lt;b&gt;door is not one here."),
        ({"until1": ""}, "Leg 2 has a turn and no object: say until where one goes."),
        ({"until0": "", "turn1": "", "until1": ""}, "Say at least one leg."),
        ({"turn1": ""}, "Step 2 (&#39;Go forward until the lamp&#39;) is neither a turn nor a way"),
        ({"facing": "sofa"}, "A route that begins without a turn leads first to the faced object"),
    ],
)
def test_what_is_refused_comes_back_as_it_was_filled_in(
    client: TestClient, file: Path, changes: dict[str, str], said: str
) -> None:
    client.post("/sign-in", data={"reviewer": "ann"})
    answer = client.post("/routes/1/add", data=LEFT | changes)
    assert answer.status_code == 409
    assert said in answer.text
    assert f"<option selected>{(LEFT | changes)['start']}</option>" in answer.text
    assert not file.exists()
