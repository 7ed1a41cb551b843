"""The page to label: what it refuses, what it writes, and a person who draws, pulls and names a box in Chromium."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from flows.label_app.app import LabelPages, detect, model_detector
from flows.label_app.scene import LabelledScene
from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import read_file
from pipeline.formats.images import size_of
from pipeline.worlds.indoor.labels.boxes import PlacedBox
from pipeline.worlds.indoor.labels.proposals import Detections, Proposals, asked_frames
from pipeline.worlds.indoor.labels.surface import BoxView, fitted, views_of
from tests.llm.fake_server import running
from tests.page.serving import free_port, serving
from tests.page.test_browser import AXE, DESKTOP, VIOLATIONS, WCAG_AA
from tests.worlds.indoor.readers.test_scene_folders import write

BASE = "http://127.0.0.1:8766"
BED = {"label": "bed", "center": [1.5, 2, 0.25], "size": [2, 1, 0.5], "turn_deg": 10}


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.worlds.indoor.readers.meshes.POINTS", 60_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def unlabelled(told: dict[str, Any], folder: Path) -> None:
        told |= {"objects": told["objects"][1:2], "complete": False}

    return write(tmp_path, unlabelled) / "room"


def client(folder: Path, token: str | None = None, **headers: str) -> TestClient:
    app = LabelPages(LabelledScene(folder), token).app(only_loopback=True)
    return TestClient(app, base_url=BASE, headers={"origin": BASE} | headers, follow_redirects=False)


def objects(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "scene.json").read_text())["objects"])


def test_what_it_writes_and_what_it_refuses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, path = client(folder), folder / "scene.json"
    state, before = page.get("/scene").json(), path.read_bytes()
    told = {"digest": state["digest"], "objects": [*state["objects"], BED], "complete": ["bed"]}

    def refused(status: int, said: str, **changes: Any) -> None:
        answer = page.post("/objects", json=told | changes)
        assert (answer.status_code, path.read_bytes()) == (status, before)
        assert said in answer.text

    refused(422, "cannot stand in a question", objects=[BED | {"label": "<img src=x onerror=alert(1)>"}])
    refused(422, "greater than 0", objects=[BED | {"size": [1, 0, 1]}])
    refused(422, "over 1000 m", objects=[BED | {"center": [0, 1e300, 0]}])
    refused(422, "Extra inputs", objects=[BED | {"path": "../x"}])
    refused(409, "changed by another program", digest="0" * 64)
    for raw in (b'{"digest": NaN}', b"[" * 100_000, b'{"label":"\\ud800"}', b""):
        assert page.post("/objects", content=raw).status_code == 422
    assert page.post("/views", content=b" " * 70_000).status_code == 413
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.worlds.indoor.labels.boxes.write_atomically", _no_room)
        refused(503, "No space")
    saved = page.post("/objects", json=told)
    assert (saved.status_code, saved.json()["digest"]) == (200, page.get("/scene").json()["digest"])
    assert [item["label"] for item in objects(folder)] == ["refrigerator", "bed"]
    assert objects(folder)[0] == json.loads(before)["objects"][0]
    path.write_text(path.read_text().replace('"bed"', '"sofa bed"'))  # under it
    before = path.read_bytes()
    refused(409, "changed by another program", digest=saved.json()["digest"])


def _no_room(*_: Any) -> None:
    raise StoreError("No space left on device")


def test_nobody_else_reaches_it(folder: Path) -> None:
    secret = "a token of 24 characters"  # noqa: S105
    page = client(folder, secret)
    paths = ("/scene", "/points", "/frames/0", "/frames/0/view")
    assert [page.get(path).status_code for path in paths] == [401] * len(paths)
    assert page.post("/objects", json={}).status_code == 401
    assert "Token" in page.get("/").text
    assert page.post("/sign-in", data={"token": "another"}).status_code == 403
    assert page.post("/sign-in", data={"token": secret}).status_code == 303
    assert [page.get(path).status_code for path in paths] == [200] * len(paths)
    for path in (
        "/frames/99999",
        "/frames/-1",
        "/frames/..%2f..%2fscene.json",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
    ):
        assert page.get(path).status_code == 404, path
    policy = page.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for headers in ({"origin": "http://evil.test"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}):
        assert page.post("/fit", json={}, headers=headers).status_code == 403
    assert page.get("/scene", headers={"host": "evil.test:8766"}).status_code == 400


def test_depth_without_a_mesh_is_fused_into_one_and_what_cannot_be_labelled_is_told(tmp_path: Path) -> None:
    import trimesh

    def bare(told: dict[str, Any], folder: Path) -> None:
        told |= {"unit": "cm", "objects": [], "complete": False}
        told["camera"]["depth_divisor"] = 10
        for frame in told["camera"]["frames"]:
            pose = np.array(frame["world_T_camera"])
            pose[:3, 3] *= 100
            frame["world_T_camera"] = pose.tolist()
        del told["mesh"], told["whole_floor"]
        (folder / "mesh.ply").unlink()

    folder = write(tmp_path, bare) / "room"
    fused: list[tuple[str, int, int]] = []
    scene = LabelledScene(folder, lambda *done: fused.append(done))
    count = len(scene.frames.time_s)
    assert fused == [("fuse", done, count) for done in range(count + 1)]
    assert json.loads((folder / "scene.json").read_text())["mesh"] == "mesh.ply"
    assert scene.surface.floor == pytest.approx(0, abs=0.03)
    extent = trimesh.load_mesh(folder / "mesh.ply").extents  # in the file's centimetres; the ceiling is not seen
    assert extent == pytest.approx((400, 300, 180), abs=30)
    again = LabelledScene(folder)
    assert again.surface.floor == pytest.approx(scene.surface.floor, abs=0.001)
    with pytest.raises(ConfigError, match=r"scenes in it: room"):
        LabelledScene(tmp_path)
    link = tmp_path / "linked"
    link.mkdir()
    (link / "scene.json").symlink_to(folder / "scene.json")
    with pytest.raises(ConfigError, match="is a link"):
        LabelledScene(link)
    (folder / "scene.json").write_text("{}")
    with pytest.raises(RawDataError, match="format is None"):
        LabelledScene(folder)


class _Detector(BaseHTTPRequestHandler):
    """Answers with what the test put there."""

    answer = b""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert size_of(base64.b64decode(asked["image"])) == (80, 60)
        assert "chair" in asked["names"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_detector_proposes_what_has_no_box_and_one_that_answers_nonsense_is_named(folder: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Detector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, scene = f"http://127.0.0.1:{server.server_port}/detect", LabelledScene(folder)

    def ask(answer: bytes, url: str = url) -> Proposals:
        _Detector.answer = answer
        return scene.propose(lambda jpeg, names: detect(url, jpeg, names), lambda *done: asked.append(done))

    asked: list[tuple[str, int, int]] = []
    whole = [{"label": label, "box": [0, 0, 80, 60]} for label in ("sofa", "fridge door")]
    made = ask(json.dumps({"detections": whole}).encode())
    assert made.boxes
    count = len(asked_frames(scene.frames))
    assert asked == [("frames", done, count) for done in range(count + 1)]
    assert scene.state()["proposals"] == [box.model_dump(mode="json") for box in made.boxes]
    assert [item["label"] for item in objects(folder)] == ["refrigerator"]  # nobody has decided
    for answer, said in (
        (b"<html>", "no list of detections"),
        (b'{"detections": [{"label": "x", "box": [0, 0, 1e999, 1]}]}', "no list of detections"),
        (b'{"detections": ' + b"[" * 5000, "no list of detections"),
        (b" " * (2**20 + 1), "over 1048576 bytes"),
    ):
        with pytest.raises(ConfigError, match=said):
            ask(answer)
    server.shutdown()
    server.server_close()
    for bad, said in ((url, "no answer"), ("file:///etc/passwd", "http://"), ("http://", "http://")):
        with pytest.raises(ConfigError, match=said):
            ask(b"", bad)


@pytest.mark.slow
def test_a_model_behind_the_openai_protocol_proposes_in_thousandths(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.label_app.app.ATTEMPTS", 1)
    monkeypatch.setenv("A_KEY", "sk-secret-1")
    scene = LabelledScene(folder)
    rectangle = {"label": "sofa", "box": [8.0, 6.0, 72.0, 57.0]}
    known = scene.propose(lambda jpeg, names: Detections.model_validate({"detections": [rectangle]}))

    def ask(url: str, model: str, key_env: str | None = None) -> Proposals:
        with model_detector(url, model, key_env) as detector:
            return scene.propose(detector)

    def says(box: list[float]) -> str:
        return json.dumps({"detections": [{"label": "sofa", "box": box}]})

    with running(replies={"thousandths": says([100, 100, 900, 950])}) as server:
        assert ask(f"{server.address}/v1", "seer", "A_KEY") == known
        records = server.records()
        assert len(records) == len(asked_frames(scene.frames))
        assert all(record["headers"]["authorization"] == "Bearer sk-secret-1" for record in records)
        words, picture = records[0]["body"]["messages"][0]["content"][::-1]
        assert ", chair, " in words["text"]
        jpeg = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/jpeg;base64,"))
        assert size_of(jpeg) == (80, 60)
    for answer in (says([900, 100, 100, 950]), says([100, 100, 900, 1001]), "a sofa, I think"):
        with running(replies={"thousandths": answer}) as server:
            made = ask(f"{server.address}/v1", "seer")
            assert (made.boxes, made.left_out) == ([], {"frames without a usable answer": len(records)})
    with running() as server:
        for url, model, key_env, said in (
            (f"{server.address}/v1", "gone", None, "no answer"),
            (f"{server.address}/v1", "leaky-401", "A_KEY", "no answer"),
            (f"{server.address}/v1", "seer", "NO_KEY", "export NO_KEY"),
            ("http://127.0.0.1:1/v1", "seer", None, "no answer"),
            ("ftp://127.0.0.1/v1", "seer", None, "http"),
            ("http://me:word@127.0.0.1/v1", "seer", None, "no user"),
        ):
            with pytest.raises(ConfigError, match=said) as caught:
                ask(url, model, key_env)
            assert "sk-secret" not in str(caught.value)


class Person:
    """Draws on the page with a mouse, by places in the room."""

    def __init__(self, page: Page) -> None:
        self.page = page
        state = page.request.get(f"{page.url}scene").json()
        (x0, y0, _), (x1, y1, _) = state["low"], state["high"]
        self.middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        frame = page.locator("#plan").bounding_box()
        assert frame is not None
        self.frame = frame
        self.scale = 0.94 * min(round(frame["width"]) / (x1 - x0), round(frame["height"]) / (y1 - y0))
        assert abs(state["turn_deg"]) < 0.5

    def at(self, x: float, y: float) -> tuple[float, float]:
        box = self.frame
        across, down = self.scale * (x - self.middle[0]), self.scale * (self.middle[1] - y)
        return box["x"] + box["width"] / 2 + across, box["y"] + box["height"] / 2 + down

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        self.page.mouse.move(*end)
        self.page.mouse.up()

    def draw(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.drag(self.at(x[0], y[0]), self.at(x[1], y[1]))
        expect(self.page.locator("#name")).to_be_focused()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are typed while a save is on its way, and before height and frames have come."""

    def reads(*told: Any) -> bytes:
        time.sleep(0.5)
        return read_file(*told)

    def views(self: LabelledScene, box: PlacedBox) -> list[BoxView]:
        time.sleep(0.5)
        return views_of(box, self.surface, self.frames)

    def fits(self: LabelledScene, *told: Any) -> PlacedBox | None:
        time.sleep(0.5)
        return fitted(told[0], self.surface, *told[1:])

    monkeypatch.setattr("pipeline.worlds.indoor.labels.boxes.read_file", reads)
    monkeypatch.setattr(LabelledScene, "views", views)
    monkeypatch.setattr(LabelledScene, "fit", fits)


@pytest.mark.slow
def test_a_person_draws_names_pulls_tightens_and_undoes(
    folder: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_slow(monkeypatch)
    status, plan, top = page.locator("#status"), page.locator("#plan"), page.locator("#top")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with serving(LabelPages(LabelledScene(folder), None).app(only_loopback=True)) as base:
        page.goto(base)
        expect(status).to_have_text("Ready")
        person = Person(page)
        person.drag(person.at(1.15, 1.55), person.at(2.45, 2.45))
        page.keyboard.type("tabl")
        expect(page.get_by_role("option").first).to_have_text("table")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(status).to_contain_text("Saved")
        fridge, table = objects(folder)
        assert (fridge["label"], table["label"]) == ("refrigerator", "table")
        assert table["center"] == pytest.approx([1.8, 2.0, 0.375], abs=0.02)
        assert table["size"] == pytest.approx([1.3, 0.9, 0.75], abs=0.02)
        page.get_by_role("button", name="table 1").click()
        expect(page.locator("#time")).to_contain_text("loading")
        expect(page.locator("#thumbs button")).to_have_count(0)
        expect(page.locator("#thumbs button").first).to_be_visible()
        side = page.locator("#front").bounding_box()
        assert side is not None
        scale = min(round(side["width"]) / (table["size"][0] + 0.5), round(side["height"]) / (table["size"][2] + 0.5))
        x, y = side["x"] + side["width"] / 2, side["y"] + side["height"] / 2 - scale * table["size"][2] / 2
        page.locator("#name").fill("dining table")  # no Enter: the name is taken all the same
        person.drag((x, y), (x, y - scale * 0.15))
        expect(top).to_have_value(re.compile(r"0\.(9|89)"))
        plan.press("t")
        expect(page.locator("#length")).to_have_value(re.compile(r"1\.(2|19)"))
        plan.press("Control+z")
        plan.press("Control+z")
        expect(top).to_have_value(re.compile(r"0\.7[45]"))
        plan.press("Control+Shift+z")
        expect(top).to_have_value(re.compile(r"0\.(9|89)"))
        expect(status).to_have_text(re.compile(r"Saved .*, but no name is ticked"))
        page.locator("#x").fill("1.81")  # no Enter here either
        page.locator('#list input[data-label="dining table"]').check()
        expect(page.locator("#list p")).to_contain_text(
            '1 box. Does nothing else in the 12 frames look like "dining table"?'
        )
        page.get_by_role("button", name="It is the only one").click()
        expect(status).to_have_text(re.compile(r"Saved [^,]*$"))
        page.evaluate(AXE)
        assert page.evaluate(VIOLATIONS, WCAG_AA) == []
    told = json.loads((folder / "scene.json").read_text())
    assert told["complete"] == ["dining table"]
    assert told["objects"][1]["center"][0] == 1.81
    assert told["objects"][1]["size"] == pytest.approx([1.3, 0.9, 0.9], abs=0.03)
    assert errors == []


@pytest.mark.slow
def test_the_floor_is_outlined_on_a_phone(folder: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    plan = page.locator("#plan")
    with serving(LabelPages(LabelledScene(folder), None).app(only_loopback=True)) as base:
        page.goto(base)
        expect(page.locator("#status")).to_contain_text("Ready")
        page.locator("#floor").click()
        frame = plan.bounding_box()
        assert frame is not None
        assert frame["width"] > 350
        for x, y in ((0.2, 0.4), (0.8, 0.4), (0.8, 0.6), (0.2, 0.6), (0.5, 0.5)):
            plan.click(position={"x": x * frame["width"], "y": y * frame["height"]})
        plan.click(position={"x": 0.5 * frame["width"], "y": 0.5 * frame["height"]})  # the last corner goes again
        expect(page.locator("#floor")).to_have_text(re.compile(r"Floor \d+\.\d m²"))
        expect(page.locator("#status")).to_contain_text("Saved")
    assert len(json.loads((folder / "scene.json").read_text())["outline"]) == 4


@pytest.mark.slow
def test_nothing_is_lost_while_the_server_is_gone_nor_by_a_reload_and_names_are_no_html(
    folder: Path, page: Page
) -> None:
    status, alert, port = page.locator("#status"), page.get_by_role("alert"), free_port()
    app = LabelPages(LabelledScene(folder), None).app(only_loopback=True)
    with serving(app, port) as base:
        page.goto(base)
        expect(status).to_have_text("Ready")
        person = Person(page)
        person.draw((3.0, 3.5), (1.2, 1.5))
    page.keyboard.type("<b id=x>rug")
    page.keyboard.press("Enter")
    expect(alert).to_contain_text("does not answer")
    with serving(app, port):
        expect(alert).to_contain_text("cannot stand in a question")
        assert page.locator("#list b").count() == 0
        page.get_by_role("button", name="<b id=x>rug 1").click()
        page.locator("#name").fill("rug")
        page.keyboard.press("Enter")
        expect(status).to_contain_text("Saved")
        person.draw((3.0, 3.5), (2.0, 2.5))  # and gives it no name
        expect(status).to_contain_text("without a name")
        page.reload()
        expect(status).to_have_text(re.compile("Ready|Saved"))  # "Saved" where the reload came before an answer
        for name in ("without a name 1", "rug 1", "refrigerator 1"):
            expect(page.get_by_role("button", name=name)).to_be_visible()
        path = folder / "scene.json"
        path.write_text(path.read_text().replace('"rug"', '"carpet"'))  # under it
        page.get_by_role("button", name="refrigerator 1").click()
        page.locator("#plan").press("Delete")
        expect(alert).to_contain_text("changed by another program")
        page.get_by_role("button", name="Use the file's boxes").click()
        expect(page.get_by_role("button", name="carpet 1")).to_be_visible()
    assert [item["label"] for item in objects(folder)] == ["refrigerator", "carpet"]


@pytest.mark.slow
def test_people_decide_on_what_is_proposed(folder: Path, page: Page) -> None:
    status, scene = page.locator("#status"), LabelledScene(folder)
    boxes = [PlacedBox.model_validate(BED | {"label": label}) for label in ("bed", "ghost", "crib")]
    scene.proposals = Proposals(boxes, [3, 2, 1], {})
    with serving(LabelPages(scene, None).app(only_loopback=True)) as base:
        page.goto(base)
        expect(status).to_have_text("Ready")
        plan, name = page.locator("#plan"), page.locator("#name")
        expect(name).to_have_value("bed")
        plan.press("a")
        expect(name).to_have_value("ghost")
        plan.press("Delete")
        expect(name).to_have_value("crib")
        expect(status).to_contain_text("Saved")
        assert [item["label"] for item in objects(folder)] == ["refrigerator", "bed"]
        page.reload()  # what was dropped does not come back
        expect(name).to_have_value("crib")
        name.fill("cot")
        name.press("Enter")
        expect(status).to_contain_text("Saved")
        expect(page.get_by_role("button", name="proposed")).to_have_count(0)
    assert [item["label"] for item in objects(folder)] == ["refrigerator", "bed", "cot"]
