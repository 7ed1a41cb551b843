"""The page over HTTP: what it refuses, what it keeps to itself, and what it stores."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pipeline.benchmarks.cityeqa.raw import raw_checks
from pipeline.core.errors import ConfigError
from pipeline.review import database as database_module
from pipeline.review.database import ReviewDatabase
from pipeline.review.review_bundle import CHECKS, make_review_bundle
from pipeline.review.reviewed import review
from pipeline.review.verdicts import verdicts_of
from tests.page.serving import VIDEO, app_of, write_video
from tests.review.made import EVIDENCE_NAME, PAYLOAD, ROOM, SALT, item_of, pack_of, question, rooms, truth_of

BASE = "http://127.0.0.1:8765"
PACK = pack_of(rooms(8), VIDEO)
CONTENT = {item.id: item.content for item in PACK.items}
CHECKED = ("raw_task", "raw_pose")


class Browser(TestClient):
    """Keeps cookies, and says where a form was sent from."""

    def __init__(self, app: Starlette, name: str | None = "ann", **told: str) -> None:
        super().__init__(app, base_url=BASE, headers={"origin": BASE}, follow_redirects=False)
        if name:
            assert self.post("/sign-in", data={"reviewer": name, **told}).headers["location"] == "/"

    def say(self, item: int, action: str, **fields: str) -> tuple[int, str]:
        response = self.post(f"/items/{item}/{action}", data={"content": CONTENT[item], **fields})
        return response.status_code, response.headers.get("location") or response.text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vsi"


@pytest.fixture
def app(folder: Path) -> Iterator[Starlette]:
    made, database = app_of(folder, PACK)
    yield made
    database.close()


def events(folder: Path) -> list[tuple[int, str, str, str | None, str | None]]:
    database = ReviewDatabase(folder / "review" / "review.sqlite")
    found = [(e.item, e.reviewer, e.kind, e.answer, e.reason) for e in database.events()]
    database.close()
    return found


def test_what_is_sent_before_an_answer_does_not_depend_on_the_truth(tmp_path: Path) -> None:
    """Two builds that differ in nothing but truths and evidence send the same bytes until an answer is stored."""
    sent = []
    for letter, number in (("A", "7.5"), ("C", "1200")):
        rows = [question(n, ground_truth=letter) for n in (1, 2)]
        rows.append(question(3, options=None, ground_truth=number, text="How wide is it, in meters?"))
        items = [item_of(row, VIDEO) for row in rows]
        pack = pack_of(rows, VIDEO)._replace(truths={r["id"]: truth_of(r, (letter,)) for r in rows})
        app, database = app_of(tmp_path / letter / "vsi", pack)
        write_video(tmp_path / letter / "vsi")
        browser = Browser(app)
        paths = ["/", "/next", *(f"/items/{n}{rest}" for n in (1, 2, 3) for rest in ("", "?role=adjudicate", "/video"))]
        seen = [browser.get(path) for path in paths]
        seen.append(browser.post("/items/1/flag", data={"content": items[0].content, "reason": "direction"}))
        seen += [browser.get("/items/1"), browser.post("/items/2/accept", data={"content": items[1].content})]
        text = "\n".join(
            f"{r.status_code} {sorted((k, v) for k, v in r.headers.items() if k not in _TIMED)} {r.content!r}"
            for r in seen
        )
        for item in items:
            text = text.replace(item.content, "content")
        sent.append(text)
        database.close()
    assert sent[0] == sent[1]
    assert EVIDENCE_NAME not in sent[0]


_TIMED = {"set-cookie", "last-modified", "etag", "date"}


def test_an_answer_is_stored_before_the_truth_is_shown_and_a_second_one_changes_nothing(
    app: Starlette, folder: Path
) -> None:
    ann = Browser(app)
    assert EVIDENCE_NAME not in ann.get("/items/1").text
    assert ann.say(1, "answer", answer="C") == (303, "/items/1")
    assert events(folder) == [(1, "ann", "answer", "C", None)]
    shown = ann.get("/items/1").text
    assert EVIDENCE_NAME in shown
    assert "differs from the reference" in shown
    assert ann.say(1, "answer", answer="B")[0] == 303
    assert ann.get("/items/1").text == shown
    assert EVIDENCE_NAME not in Browser(app, "bo").get("/items/1").text
    # The truth is an accept by itself; 2.4 for 2.5 is near enough.
    assert ann.say(5, "answer", answer="b")[0] == 303
    assert ann.say(3, "answer", answer="2.4")[0] == 303
    assert ann.say(1, "flag", reason="wrong_answer", correction="C", note="look") == (303, "/items/1")
    assert ann.say(1, "flag", reason="wrong_answer", correction="C", note="look") == (303, "/items/1")
    assert ann.say(1, "accept") == (303, "/items/1")
    assert events(folder) == [
        (1, "ann", "answer", "C", None),
        (5, "ann", "answer", "B", None),
        (5, "ann", "accept", None, None),
        (3, "ann", "answer", "2.4", None),
        (3, "ann", "accept", None, None),
        (1, "ann", "flag", "C", "wrong_answer"),
        (1, "ann", "accept", None, None),
    ]


def test_two_disagree_a_third_settles_it_without_having_seen_more(app: Starlette) -> None:
    ann, bo, cy = (Browser(app, name) for name in ("ann", "bo", "cy"))
    ann.say(1, "answer", answer="B")
    bo.say(1, "answer", answer="C")
    assert "/next?role=adjudicate" in cy.get("/").text
    assert cy.get("/next?role=adjudicate").headers["location"] == "/"  # bo has not judged it: no disagreement yet
    bo.say(1, "flag", reason="other", note="<b>odd</b>")
    assert re.search(r"7 of 8 questions are waiting for you\.</p>\s+<p>1 question on which", cy.get("/").text)
    assert cy.get("/next?role=adjudicate").headers["location"] == "/items/1?role=adjudicate"
    blind = cy.get("/items/1?role=adjudicate").text
    assert "odd" not in blind
    assert EVIDENCE_NAME not in blind
    cy.say(1, "answer", answer="B", role="adjudicate")
    shown = cy.get("/items/1?role=adjudicate").text
    assert "<b>ann</b> answered B: reference is correct" in shown
    assert "<b>bo</b> answered C: flagged, other, with a note — “&lt;b&gt;odd&lt;/b&gt;”" in shown
    cy.say(1, "accept", role="adjudicate")
    assert cy.get("/next?role=adjudicate").headers["location"] == "/"
    overview = cy.get("/").text
    assert re.search(r'<td class="n">1</td>\s*<td class="n"></td>', overview)  # accepted
    assert "0.000" in overview  # ann and bo


def test_refusals_say_what_to_do_and_store_nothing(app: Starlette, folder: Path) -> None:
    ann = Browser(app)
    assert ann.say(1, "answer", answer="F") == (409, "This is no answer: give one of the letters A to D.")
    assert ann.say(3, "answer", answer="wide") == (409, "This is no answer: give a number, such as 2.5.")
    assert ann.say(1, "accept") == (409, "Answer first: the truth is shown after that.")
    assert ann.say(1, "flag", reason="ugly") == (409, "Choose a reason for the flag.")
    assert ann.say(1, "flag", reason="other", note=" ") == (409, "Say in the note what is wrong.")
    assert ann.say(1, "flag", reason="direction", correction="F")[0] == 409
    stale = ann.post("/items/1/answer", data={"content": "before", "answer": "A"})
    assert (stale.status_code, stale.text) == (
        409,
        "The question has changed since this page was opened. Reload the page.",
    )
    assert ann.say(1, "vote")[0] == 404
    digits = "9" * 5000
    assert [ann.get(f"/items/{digits}{rest}").status_code for rest in ("", "/video")] == [404, 404]
    assert ann.get(f"/next?after={digits}").headers["location"] == ann.get("/next").headers["location"]
    assert ann.say(1, "answer", answer="x" * 70_000)[0] == 413
    assert events(folder) == []


def test_only_the_page_itself_may_send_and_only_by_the_machines_own_name(app: Starlette, folder: Path) -> None:
    ann = Browser(app)
    form = {"content": CONTENT[1], "answer": "B"}
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:9",
        "http://127.0.0.1:8765.evil.example",
        "http://[",
    ):
        assert ann.post("/items/1/answer", data=form, headers={"origin": origin}).status_code == 403
    del ann.headers["origin"]
    assert ann.post("/items/1/answer", data=form).status_code == 403
    assert ann.post("/items/1/answer", data=form, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert [ann.get("/items/1", headers={"host": host}).status_code for host in ("evil.example", "[")] == [400, 400]
    assert events(folder) == []
    assert ann.post("/items/1/answer", data=form, headers={"sec-fetch-site": "same-origin"}).status_code == 303


def test_nobody_reads_without_having_signed_in_and_no_cookie_can_be_made_up(app: Starlette) -> None:
    stranger = Browser(app, None)
    assert stranger.get("/items/1").headers["location"] == "/"
    assert stranger.get("/items/1/video").status_code == 401
    assert stranger.say(1, "answer", answer="A")[0] == 401
    assert stranger.get("/items/1", headers={"cookie": "reviewer=YW5u.0"}).status_code == 303
    assert stranger.post("/sign-in", data={"reviewer": " \t"}).status_code == 403
    assert stranger.post("/sign-in", data={"reviewer": "x" * 41}).status_code == 403


def test_beyond_this_machine_the_token_is_demanded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flows.cli.review import token_for
    from flows.review_app import app as app_module

    monkeypatch.setattr(app_module, "WRONG_TOKEN_S", 0.0)
    monkeypatch.setenv("SCAN2QA_REVIEW_TOKEN", "short")
    with pytest.raises(ConfigError, match=r"--host 0\.0\.0\.0 lets others in: export SCAN2QA_REVIEW_TOKEN"):
        token_for("0.0.0.0")  # noqa: S104
    monkeypatch.setenv("SCAN2QA_REVIEW_TOKEN", "a token long enough")
    app, database = app_of(folder, PACK, "0.0.0.0", token_for("0.0.0.0"))  # noqa: S104
    stranger = Browser(app, None)
    assert "Token" in stranger.get("/", headers={"host": "review.example"}).text
    for token in ("", "a token long enougH"):
        assert stranger.post("/sign-in", data={"reviewer": "ann", "token": token}).status_code == 403
    assert Browser(app, "ann", token=os.environ["SCAN2QA_REVIEW_TOKEN"]).get("/items/1").status_code == 200
    database.close()
    monkeypatch.delenv("SCAN2QA_REVIEW_TOKEN")
    assert token_for("127.0.0.1") is None


def test_videos_are_served_in_parts_and_by_number_only(app: Starlette, folder: Path) -> None:
    raw = write_video(folder)
    ann = Browser(app)
    whole = ann.get("/items/1/video")
    assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, raw, "video/mp4")
    part = ann.get("/items/1/video", headers={"range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, raw[100:200])
    assert part.headers["content-range"] == f"bytes 100-199/{len(raw)}"
    assert ann.get("/items/1/video", headers={"range": f"bytes={len(raw)}-"}).status_code == 416
    (folder / "secret.mp4").write_bytes(b"secret")
    for path in (
        "/items/99/video",
        "/items/-1/video",
        "/items/1/../../secret.mp4/video",
        "/items/..%2f..%2fsecret.mp4/video",
        "/items/1%2fvideo%00",
        "/items/made%2froom.mp4/video",
        "/videos/made/room.mp4",
        "/static/../app.py",
        "/static/..%2f..%2fapp.py",
        "/static/%2e%2e/app.py",
    ):
        assert ann.get(path).status_code == 404, path


def test_a_name_that_leads_out_of_the_folder_of_videos_is_not_followed(folder: Path) -> None:
    write_video(folder)
    (folder / "secret.mp4").write_bytes(b"secret")
    rows = [question(n) for n in (1, 2)]
    items = (item_of(rows[0], "../secret.mp4", pictures=("../secret.mp4", "gone.png")), item_of(rows[1], None))
    app, database = app_of(folder, pack_of(rows)._replace(items=items))
    ann = Browser(app)
    (folder.parent / "secret.mp4").write_bytes(b"secret")
    paths = ("1/video", "2/video", *(f"1/pictures/{n}" for n in range(4)))
    assert {ann.get(f"/items/{path}").status_code for path in paths} == {404}
    assert "This build has no video and no picture for this question." in ann.get("/items/2").text
    database.close()


def test_all_text_is_escaped_and_the_browser_is_told_to_run_nothing_else(app: Starlette) -> None:
    ann = Browser(app, PAYLOAD[:40])
    ann.say(2, "flag", reason="other", note=PAYLOAD)
    for path in ("/", "/items/2"):
        page = ann.get(path)
        assert "<img src=x" not in page.text
        assert "<script>" not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert (page.headers["cache-control"], page.headers["x-content-type-options"]) == ("no-store", "nosniff")
    ann.say(2, "answer", answer="A")
    shown = ann.get("/items/2").text
    assert "<img src=x" not in shown
    assert "<script>" not in shown


def test_a_locked_database_is_told_and_nothing_is_shown_that_was_not_stored(
    app: Starlette, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Browser(app)
    other = sqlite3.connect(folder / "review" / "review.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(database_module, "BUSY_S", 0.0)
    own, database = app_of_again(folder, monkeypatch, other)
    bo = Browser(own, "bo")
    status, said = bo.say(1, "answer", answer="B")
    assert status == 503
    assert "Not stored, try again" in said
    assert "another program keeps the review database locked" in said
    assert EVIDENCE_NAME not in bo.get("/items/1").text
    other.execute("ROLLBACK")
    other.close()
    assert bo.say(1, "answer", answer="B")[0] == 303
    database.close()
    assert ann.get("/").status_code == 200


def app_of_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, other: sqlite3.Connection
) -> tuple[Starlette, ReviewDatabase]:
    """An application whose connection waits for nobody; opened while the database is free."""
    other.execute("ROLLBACK")
    made = app_of(folder, PACK)
    other.execute("BEGIN IMMEDIATE")
    return made


def test_after_a_restart_everybody_goes_on_where_they_were(folder: Path) -> None:
    app, database = app_of(folder, PACK)
    ann = Browser(app)
    ann.say(1, "answer", answer="C")
    database.close()
    app, database = app_of(folder, PACK)
    again = Browser(app, None)
    again.cookies = ann.cookies
    assert again.get("/next").headers["location"] == "/items/1"  # answered, not decided
    assert EVIDENCE_NAME in again.get("/items/1").text
    database.close()


def test_a_question_shows_its_pictures_in_order_before_the_answer_and_no_other_does(folder: Path) -> None:
    rows, names = [question(n) for n in (1, 2)], ("review/pictures/b.png", "review/pictures/a.jpg")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    items = (item_of(rows[0], None, (), names), item_of(rows[1], VIDEO))
    made, database = app_of(folder, pack_of(rows)._replace(items=items))
    browser, stranger = Browser(made), Browser(made, name=None)
    for path in ("/items/1", "/items/1?role=adjudicate"):
        page = browser.get(path).text
        assert re.findall(r'<img src="([^"]*)"', page) == ["/items/1/pictures/1", "/items/1/pictures/2"]
        assert "no video" not in page
        assert "made/room0" not in page  # the name of a scene may tell a place
    assert "/pictures/" not in browser.get("/items/2").text
    for number, kind in ((1, "image/png"), (2, "image/jpeg")):
        found = browser.get(f"/items/1/pictures/{number}")
        assert (found.status_code, found.headers["content-type"]) == (200, kind)
        assert found.text == names[number - 1]
        assert "private" in found.headers["cache-control"]
        assert stranger.get(f"/items/1/pictures/{number}").status_code == 401
    browser.say(1, "answer", answer="A")
    assert "made/room0" in browser.get("/items/1").text
    database.close()


def test_what_proves_an_answer_is_shown_to_who_has_answered(folder: Path) -> None:
    first, second, *_ = (item.id for item in PACK.items)
    drawing = folder / "1.svg"
    drawing.parent.mkdir()
    drawing.write_text("<svg/>")
    made, database = app_of(folder, PACK, drawings={first: drawing, second: folder / "gone.svg"})
    browser, other, shown = Browser(made), Browser(made, name="bob"), f'src="/items/{first}/drawing"'
    assert shown not in browser.get(f"/items/{first}").text
    assert browser.get(f"/items/{first}/drawing").status_code == 404
    for item in (first, second):
        assert browser.say(item, "answer", answer="A")[0] == 303
    assert shown in browser.get(f"/items/{first}").text
    found = browser.get(f"/items/{first}/drawing")
    assert (found.text, found.headers["content-type"]) == ("<svg/>", "image/svg+xml")
    assert other.get(f"/items/{first}/drawing").status_code == 404
    assert browser.get(f"/items/{second}/drawing").status_code == 404
    assert Browser(made, name=None).get(f"/items/{first}/drawing").status_code == 401
    database.close()


def test_two_people_judge_raw_tasks_two_others_what_was_made_of_them_each_with_a_kappa_of_its_own(folder: Path) -> None:
    """Twelve raw tasks of two tasks each: two go with their tasks, one for its pose, and people differ on a third."""
    told = {"task": "Counting", "scene": "made/city", "evidence": [], "proof": None, "answer": "two", "choices": None}
    text = "There is a church to the {} of you. To the east of the church, there is a square. Please tell me {}"
    rows = [
        question(10 * n + m, operands=["count", f"square {n}", way, "church > square"], **told)
        | {"text": text.format(way, f"How many cars are in square {n}?")}
        for n in range(1, 13)
        for m, way in enumerate(("north", "south"))
    ]
    other = question(7, evidence=[], proof=None, operands=[], choices=None)
    checks = raw_checks(rows)
    maps = dict.fromkeys(("made/city", "made/room0"), ROOM)
    pack = make_review_bundle([*rows, other, *checks], maps, (), {}, SALT)
    items = {item.id: item for item in pack.items}
    assert [item.task in CHECKS for item in pack.items] == [True] * 14 + [False] * 25, "raw tasks come first"
    raw, poses = ({pack.truths[i.id].operands[1]: i.id for i in pack.items if i.task == task} for task in CHECKED)
    assert (len(raw), sorted(poses)) == (12, ["square 1", "square 7"]), "a fifth, by a hash of the id"
    assert items[raw["square 5"]].question == (
        "Counting: “How many cars are in square 5?” Answer: “two”. The picture is the view from the observation pose."
    )
    app, database = app_of(folder, pack)

    def work(name: str, otherwise: dict[int, str], most: int) -> list[int]:
        """What somebody is given, and answers rightly but for some."""
        page, given = Browser(app, name), list[int]()
        while len(given) < most and (at := page.get("/next").headers["location"]) != "/":
            given.append(item := int(at.rpartition("/")[2]))
            form = {"content": items[item].content, "answer": otherwise.get(item, pack.truths[item].truth)}
            page.post(f"/items/{item}/answer", data=form)
            if item in otherwise and items[item].task not in CHECKS:
                page.post(f"/items/{item}/flag", data=form | {"reason": "direction"})
        return given

    said = {
        "ann": {raw["square 5"]: "B", poses["square 1"]: "C"},
        "bo": {raw["square 5"]: "C", poses["square 1"]: "B", raw["square 7"]: "D"},
    }
    for name, otherwise in said.items():
        assert {items[item].task for item in work(name, otherwise, 14)} == set(CHECKED)
    assert Browser(app, "ann").get("/next").headers["location"] == "/items/7", "of others she knows the answer"
    left = {row["id"] for row in rows} - {10, 11, 50, 51}
    assert set(work("cy", {20: "B", 30: "B"}, 99)) == left | {7}
    assert set(work("dee", {20: "B"}, 99)) == left
    shown = re.sub(r"<[^>]*>|\s", " ", Browser(app, "dee").get("/").text)
    found = review([*rows, other], verdicts_of(database.events()), SALT, checks)
    database.close()
    kappas = {row.task: (row.items, row.kappa) for row in found.agreements if row.about == "verdict" and row.items}
    # 11 of 12 alike, 112 of 144 by chance; 19 of 20 alike, 344 of 400 by chance
    assert kappas == {"raw_task": (12, 0.625), "raw_pose": (2, 1.0), "Counting": (20, 36 / 56), "all": (20, 36 / 56)}
    for task, (n, kappa) in kappas.items():
        assert re.search(rf"{task} +verdicts +{n} +\d\.\d+ +{kappa:.3f} ", shown), task
    stands = {stand.id: (stand.state, stand.reasons) for stand in found.stands}
    assert stands.keys() == {row["id"] for row in rows} | {7}
    assert stands[10] == stands[11] == ("rejected", ("raw_task_rejected", "wrong_pose"))
    assert stands[50] == ("rejected", ("raw_task_rejected", "duplicate", "wrong_answer"))
    assert [stands[i][0] for i in (20, 30, 70)] == ["rejected", "disputed", "accepted"]
