"""`scan2qa show` and `scan2qa gallery`: what a whole release says of a question, on one page and in a browser."""

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from flows.cli.gallery import EACH, files, make_gallery
from flows.cli.release_reader import open_build
from flows.orchestration.saved_build import save_if_successful
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.findings import doubt
from pipeline.core.tables import CHECKSUMS
from pipeline.core.video_spec import video_file
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import Sheet, SheetPart
from pipeline.engine.manifest import MANIFEST_FILE
from pipeline.release.comparison import ReleasedQuestion
from pipeline.rendering.details import detail, dropped, guessed, made_from, seen
from pipeline.rendering.examples import ShownOption, ShownQuestion, examples, in_turn, margin
from pipeline.rendering.gallery import (
    DETAILS,
    GalleryHeader,
    GalleryQuestion,
    GalleryRejection,
    GalleryReply,
    Picture,
    gallery,
    one_page,
)
from pipeline.rendering.near_misses import NearMiss, some_of_each
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from tests.builds import Cli, config_of, rows_of
from tests.page.conftest import ARGUMENTS, CHROMIUM
from tests.page.serving import write_video
from tests.page.test_browser import AXE, DESKTOP, PHONE, VIOLATIONS, WCAG_AA

FILE: Final = "test-00000-of-00001.parquet"
NAME: Final = "chair & 'stool'"
MARKUP: Final = "<img src=x onerror=alert(1)>\u2028</script>"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of sample metadata; chairs are called `NAME`."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "meta").mkdir()
    scenes = json.dumps({plan.name: sample_scene(plan) for plan in PLANS[:4]})
    (folder / "meta" / "rooms.json").write_text(scenes.replace('"chair"', json.dumps(NAME)), encoding="utf-8")
    config = config_of(folder / "meta")
    with save_if_successful(folder / "vsi", config, [], {"vsi_meta": folder / "meta"}):
        pass
    assert Builder(config, folder / "vsi").build().released is not None
    return folder / "vsi"


def provenance(built: Path) -> list[dict[str, Any]]:
    return rows_of(built / "release" / "provenance" / FILE)


def rejected(built: Path) -> list[dict[str, Any]]:
    return rows_of(built / "release" / "rejected" / FILE)


@pytest.mark.slow
def test_a_question_on_the_terminal_with_its_numbers(built: Path, scan2qa: Cli) -> None:
    row = next(r for r in provenance(built) if r["task"] == "object_rel_distance")
    run = scan2qa("show", row["id"], built)
    assert (run.code, run.err) == (0, "")
    flat = re.sub(r"[\s│┃]+", " ", run.out)
    (right,) = (o for o in open_build(built).read.questions[row["id"]].options if o.partition(". ")[2] == row["answer"])
    assert f"{right} <- right" in flat
    for one in row["evidence"]:
        assert f"{one['value']:.4g}" in run.out
    assert "not reviewed" in flat
    assert row["source_sha256"] in re.sub(r"[\s│┃]+", "", run.out)
    near = next(
        r for r in rejected(built) if r["measured"] is not None and r["reason"] not in {"over_cap", "shares_objects"}
    )
    run = scan2qa("show", near["id"], built)
    assert (run.code, near["reason"] in run.out) == (0, True)
    scene = scan2qa("show", row["scene"], built)
    told = re.search(r"object_rel_distance\W+([\d,]+)\W+([\d,]+)", scene.out)
    own = [
        sum(r["scene"] == row["scene"] and r["task"] == row["task"] for r in t)
        for t in (provenance(built), rejected(built))
    ]
    assert [int(n.replace(",", "")) for n in told.groups()] == own


@pytest.mark.slow
def test_what_nobody_knows_is_said_with_where_it_was_looked_for(built: Path, scan2qa: Cli) -> None:
    run = scan2qa("show", 1, built)
    assert (run.code, run.out) == (2, "")
    assert f"No question or rejected candidate with id 1 under {built}" in run.err
    run = scan2qa("show", "samples/nowhere", built)
    assert (run.code, "No scene (dataset/name) samples/nowhere" in run.err) == (2, True)
    run = scan2qa("show", 10**30, built)
    assert (run.code, f"No question or rejected candidate with id {10**30} under" in run.err) == (2, True)
    run = scan2qa("show", "9" * 5000, built)
    assert (run.code, f"with id {'9' * 80}… (5,000 characters) under" in run.err) == (2, True)


@pytest.mark.slow
def test_what_is_named_in_part_is_found_out(built: Path, tmp_path: Path, scan2qa: Cli) -> None:
    row = provenance(built)[0]
    run = scan2qa("show", str(row["id"])[:-2], built)
    assert (run.code, str(row["id"]) in run.err.partition("Did you mean ")[2]) == (2, True)
    run = scan2qa("show", row["scene"].partition("/")[2].upper(), built)
    assert (run.code, row["scene"] in run.err.partition("Did you mean ")[2]) == (2, True)
    run = scan2qa("show", row["id"], tmp_path)
    assert (run.code, f"{tmp_path}: neither a build nor a release" in run.err) == (2, True)


@pytest.mark.slow
def test_a_page_of_a_question_needs_nothing_else(built: Path, scan2qa: Cli, tmp_path: Path) -> None:
    row = next(r for r in provenance(built) if NAME in r["operands"])
    run = scan2qa("show", row["id"], built, "--page", "--out", tmp_path / "one.html")
    assert (run.code, run.err) == (0, "")
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|<link|<script", page)
    assert NAME not in page
    assert "chair &amp; " in page
    assert str(row["id"]) in page


@pytest.mark.slow
def test_the_gallery_has_every_question_and_the_nearest_of_every_reason(built: Path) -> None:
    made = dict(files(open_build(built), built / "gallery"))
    assert list(made)[-1] == "index.html"
    rows = [row for name in sorted(made) if "/rows-" in name for row in handed(made[name])]
    assert {int(row[0]) for row in rows if row[3] < 0} == {row["id"] for row in provenance(built)}
    chosen, counts = some_of_each(built / "release", EACH)
    everything = rejected(built)
    assert counts == {reason: sum(r["reason"] == reason for r in everything) for reason in counts}
    assert len([row for row in rows if row[3] >= 0]) == len(chosen)
    for task, reason in {(row["task"], row["reason"]) for row in everything}:
        own = [row for row in everything if (row["task"], row["reason"]) == (task, reason)]
        kept = {row["id"] for row in chosen if (row["task"], row["reason"]) == (task, reason)}
        away = {
            r["id"]: abs(r["measured"] - r["limit"]) / (abs(r["limit"]) or 1) for r in own if r["limit"] is not None
        }
        nearest = sorted(own, key=lambda r: (away.get(r["id"], float("inf")), r["id"]))[:EACH]
        assert kept == {row["id"] for row in nearest}, (task, reason)
    details = {key: html for name in made if "/details-" in name for key, html in handed(made[name]).items()}
    assert len(details) == len(rows)
    assert all(len(raw) < 500_000 for name, raw in made.items() if name.startswith("data/"))
    assert not any(NAME in html for html in details.values())
    assert all(row[8] == f"details-{n // DETAILS:04}.js" for n, row in enumerate(rows))
    linked = {file for html in details.values() for file in re.findall(r'src="(near/\d+\.svg)"', html)}
    assert linked == {name for name in made if name.startswith("near/")}
    assert linked
    assert made == dict(files(open_build(built), built / "gallery"))


def handed(raw: bytes) -> Any:
    """What a data file of the gallery hands over."""
    return json.loads(raw.decode().split("(", 1)[1].removesuffix(");\n"))


@pytest.mark.slow
def test_a_browser_filters_opens_and_goes_on_by_keys_and_axe_finds_nothing(built: Path, tmp_path: Path) -> None:
    asked = provenance(built)
    raw = write_video(built)  # as stage `video` would have, of the scene that is opened last
    write_atomically(built / "videos" / video_file(asked[3]["scene"]), raw)
    order = in_turn({row["id"]: row["task"] for row in asked})
    right = {row["id"] for row in asked if order.index(row["id"]) % 3}
    replies = write_replies(tmp_path / "one.jsonl", built, right)
    some = write_replies(tmp_path / "two.jsonl", built, set(order[:5]), order[:10])
    make_gallery(built, None, [f"one={replies}", f"two={some}"])
    address = (built / "gallery" / "index.html").as_uri()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport=DESKTOP)
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(address)
        found = page.locator("#found")
        expect(found).to_have_text(f"{len(asked)} questions")
        page.locator("#task").select_option(label="object_abs_distance")
        expect(found).to_have_text(f"{sum(r['task'] == 'object_abs_distance' for r in asked)} questions")
        asked_of = Counter(row["scene"] for row in asked if row["task"] == "object_abs_distance")
        ((scene, n),) = asked_of.most_common(1)
        page.locator("#scene").select_option(label=scene)
        own = [row for row in asked if row["task"] == "object_abs_distance" and row["scene"] == scene]
        assert len(own) == n > 1
        expect(found).to_have_text(f"{len(own)} questions")
        first, second, *_ = (number for number in order if number in {r["id"] for r in own})
        page.locator("#cards a").first.focus()
        page.keyboard.press("Enter")
        detail = page.locator("#detail")
        expect(detail.locator("code").first).to_have_text(str(first))
        page.keyboard.press("ArrowRight")
        expect(detail.locator("code").first).to_have_text(str(second))
        page.keyboard.press("Escape")
        expect(detail).not_to_be_visible()
        page.locator("#scene").select_option(label="all")
        share_and_find(page, address, asked, order, right)
        page.locator("#kind").select_option("rejected")
        page.locator("#reason").select_option(index=1)
        expect(found).to_contain_text("rejected candidates")
        page.locator("#cards a").first.click()
        expect(detail.locator(".near")).to_contain_text("Rejected")
        page.goto("about:blank")
        page.goto(f"{address}#{asked[3]['id']}")
        expect(detail.locator("code").first).to_have_text(str(asked[3]["id"]))
        page.wait_for_function("document.querySelector('#shown video').readyState >= 1")
        assert wrong == []
        show_the_map_alone(page, tmp_path / "sheet.svg")
        open_on_a_phone(browser, address, len(asked))
        browser.close()


def show_the_map_alone(page: Page, path: Path) -> None:
    """What a card shows of a drawing: nothing of its other parts, whatever room the card has beside the map."""
    parts = [SheetPart(Canvas(560, 100), {}), SheetPart(Canvas(560, 40), {})]
    path.write_text(Sheet("two", parts, ["A note."]).svg(), encoding="utf-8")
    are_shown = "() => [...document.querySelectorAll('svg > g')].map(e => getComputedStyle(e).display != 'none')"
    for address, shown in ((path.as_uri(), [True, True, True]), (f"{path.as_uri()}#map", [True, False, False])):
        page.goto(address)
        assert page.evaluate(are_shown) == shown


def open_on_a_phone(browser: Browser, address: str, n: int) -> None:
    """It fits a phone, in the dark, and axe finds nothing in it."""
    phone = browser.new_context(viewport=PHONE, bypass_csp=True, color_scheme="dark").new_page()
    phone.goto(address)
    expect(phone.locator("#found")).to_have_text(f"{n} questions")
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    phone.add_script_tag(content=AXE)
    assert phone.evaluate(VIOLATIONS, WCAG_AA) == []
    phone.locator("#cards a").first.click()
    expect(phone.locator("#shown .detail")).to_be_visible()
    assert phone.evaluate(VIOLATIONS, WCAG_AA) == []


def share_and_find(page: Page, address: str, asked: list[dict[str, Any]], order: list[int], right: set[int]) -> None:
    """What models got right and wrong is found by filters, and found again at the address that these give."""
    found, detail = page.locator("#found"), page.locator("#detail")
    page.locator("#outcome").select_option("wrong")
    page.locator("#model").select_option("one")
    wrong_ones = {r["id"] for r in asked if r["task"] == "object_abs_distance"} - right
    expect(found).to_have_text(f"{len(wrong_ones)} questions")
    shared = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(f"{shared}&scene=of+another+release")
    expect(found).to_have_text(f"{len(wrong_ones)} questions; this gallery has no scene “of another release”")
    page.goto(f"{address}#outcome=differ")
    expect(found).to_have_text(f"{len({*order[:5]} - right) + len({*order[5:10]} & right)} questions")
    page.goto(f"{address}#margin=0.05")
    near = [m for r in asked if (m := margin(r["evidence"] or ())) is not None and m < 0.05]
    expect(found).to_have_text(f"{len(near)} questions")
    page.goto(f"{address}#id={order[9]}")
    expect(detail.get_by_role("region", name="Replies of models")).to_contain_text(MARKUP[:20])
    page.keyboard.press("Escape")


def write_replies(path: Path, built: Path, right: set[int], to: Sequence[int] | None = None) -> Path:
    """Replies to some questions, or to all of them: the truth, or markup."""
    rows = rows_of(built / "release" / "data" / FILE)
    said = [
        {"id": r["id"], "answer": r["ground_truth"] if r["id"] in right else MARKUP}
        for r in rows
        if to is None or r["id"] in to
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in said), encoding="utf-8")
    return path


@pytest.mark.slow
def test_pages_of_show_are_read_on_a_phone_in_the_dark(built: Path, scan2qa: Cli, tmp_path: Path) -> None:
    asked, lost = provenance(built)[0], rejected(built)[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        phone = browser.new_context(viewport=PHONE, bypass_csp=True, color_scheme="dark").new_page()
        for name, shown in (("question", asked["id"]), ("dropped", lost["id"]), ("scene", asked["scene"])):
            assert scan2qa("show", shown, built, "--page", "--out", tmp_path / f"{name}.html").code == 0
            phone.goto((tmp_path / f"{name}.html").as_uri())
            assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
            phone.add_script_tag(content=AXE)
            assert phone.evaluate(VIOLATIONS, WCAG_AA) == [], name
        browser.close()


@pytest.mark.slow
def test_a_release_that_lies_alone_and_what_is_wrong_with_it(built: Path, scan2qa: Cli, tmp_path: Path) -> None:
    """A copy without its build; half-copied, edited, of another version, of nobody."""
    number = provenance(built)[0]["id"]
    copy = Path(shutil.copytree(built / "release", tmp_path / "copy"))
    assert scan2qa("show", number, copy).code == 0
    said = [{"id": number, "answer": "A"}, {"id": 1, "answer": "A"}]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    run = scan2qa("gallery", copy, "--out", tmp_path / "gallery", "--replies", f"one={tmp_path / 'said.jsonl'}")
    assert (run.code, "unknown_id" in run.out) == (0, True)
    assert (tmp_path / "gallery" / "index.html").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    assert "holds something else" in scan2qa("gallery", copy, "--out", tmp_path / "mine").err
    assert (tmp_path / "mine" / "notes.txt").exists()
    assert "a release without its build" in scan2qa("report", copy).err

    def refused(name: str, spoil: Any, *said: str) -> None:
        folder = Path(shutil.copytree(built / "release", tmp_path / name))
        spoil(folder)
        for command in (("show", number, folder), ("gallery", folder, "--out", tmp_path / f"{name}-gallery")):
            run = scan2qa(*command)
            assert (run.code, run.out) == (2, ""), run
            assert all(part in run.err for part in said), run.err
        assert not (tmp_path / f"{name}-gallery").exists()

    refused("edited", lambda f: edit(f / "data" / FILE), f"data/{FILE}: is not as it was released", CHECKSUMS)
    refused("half", lambda f: (f / "data" / FILE).unlink(), f"data/{FILE}: cannot be read")
    refused("torn", lambda f: (f / "provenance" / FILE).write_bytes(b"PAR1"), f"provenance/{FILE}: ")
    refused("other", other_version, "is of schema version 7, and this scan2qa knows 1")
    run = scan2qa("show", number, tmp_path / "mine")
    assert (run.code, "neither a build nor a release" in run.err) == (2, True)


def edit(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


def other_version(folder: Path) -> None:
    """A release that another version made, with checksums that fit."""
    import hashlib

    path = folder / "data" / FILE
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, b"scan2qa_schema_version": b"7"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    sums = (folder / CHECKSUMS).read_text().splitlines()
    new = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  data/{FILE}"
    (folder / CHECKSUMS).write_text("".join(f"{new if line.endswith(f'  data/{FILE}') else line}\n" for line in sums))


@pytest.mark.slow
def test_a_changed_file_of_a_build_is_named(built: Path) -> None:
    path = built / "release" / "provenance" / FILE
    raw = path.read_bytes()
    path.write_bytes(raw[:-1])
    try:
        with pytest.raises(Exception, match=f"{FILE}: missing or changed since it was released"):
            open_build(built)
    finally:
        path.write_bytes(raw)
    with pytest.raises(ConfigError, match="holds no release yet"):
        open_build(built.parent / "meta")
    manifest = built / MANIFEST_FILE
    raw = manifest.read_bytes()
    manifest.write_bytes(raw[:-9])
    try:
        with pytest.raises(
            ConfigError, match="damaged, or of another version of scan2qa; build again, or give the rel"
        ):
            open_build(built)
    finally:
        manifest.write_bytes(raw)


ROW: Final[dict[str, Any]] = {
    "id": 7, "scene": "a/one", "task": "t", "operands": ["bed"], "answer": "2.5", "choices": None, "choice": "B",
    "flags": ["odd"], "template": "one", "template_version": 2, "task_version": 3, "profile": "p", "rules": "r",
    "config": "c", "fixes": None, "visible_in": [4, 8], "from_s": None, "until_s": 2.5, "reader": "x",
    "reader_version": 4, "source_files": ["m", "n"], "source_sha256": "5a", "bias_score": 0.25, "chance": 0.2,
    "removed_in_round": None, "evidence": [],
}  # fmt: skip


def fact(name: str, value: float, limit: float | None = None, relation: str | None = None) -> dict[str, Any]:
    return {"name": name, "subject": "bed", "value": value, "unit": "m", "limit": limit, "relation": relation}


def shown(**row: Any) -> ShownQuestion:
    """What is shown of a question with two options, whose map is not at hand."""
    asked = ReleasedQuestion("a/one", "t", ("bed",), " x" * 200, ("A. 1", "B. 2.5"), "B", (), {})
    (made,) = examples([ROW | row], {7: asked}, {}, {}, {("a/one", "t"): NearMiss(("sofa",), "far", "2", "1", "m")}, {})
    return made


def test_a_question_shows_what_was_measured_and_the_rules_that_it_passed() -> None:
    """Five numbers of one name share a row, of which eight are written; rows beyond 14 are counted."""
    facts = [fact(f"of_{n}", 12.3456) for n in range(12)]
    facts += [fact(name, n) for name, times in (("pose", 9), ("turn", 5), ("last", 1)) for n in range(times)]
    made = shown(evidence=[*facts, fact("too_far", 4.5, 5.0, "<=")])
    assert made.facts[0] == ("of 0", "bed", "12.35 m")
    assert made.facts[12:] == (
        ("pose", "", ", ".join([*(f"bed {n} m" for n in range(8)), "…"])),
        ("turn", "", ", ".join(f"bed {n} m" for n in range(5))),
    )
    assert (made.operands, made.more, made.margin) == (("bed",), 1, pytest.approx(0.1))
    assert made.rules == (("too far", "bed", "4.5 m", "at most 5 m"),)
    assert made.options == (ShownOption("A", "1", False), ShownOption("B", "2.5", True))
    assert [option.right for option in shown(choice=None).options] == [False, True]
    assert shown(choices=["1", "2"]).options == ()
    assert shown(evidence=[fact("turn", n) for n in range(4)]).facts[3] == ("turn", "bed", "3 m")


def test_a_question_tells_what_it_was_made_from() -> None:
    budgets = [
        {"budget": 4, "answer": "2.5", "ground_truth": "B"},
        {"budget": 8, "answer": "2", "ground_truth": "2"},
        {"budget": 16, "answer": None, "reason": "far", "measured": 1.04, "limit": 1.0, "unit": "m"},
        {"budget": 32, "answer": None, "reason": "far", "measured": None, "limit": None, "unit": None},
    ]
    made = detail(shown(), ROW, None, [], None)
    told = dict(made.made)
    assert told == {
        "template": "one version 2, task version 3", "rules": "profile p, digest r", "configuration": "digest c",
        "fixes": "none", "shows in": "4, 8 frames", "part of the video": "from the start to 2.5 s", "reader": "x 4",
        "raw data": "m, n", "their digest": "5a",
    }  # fmt: skip
    assert (made.bias, made.review, made.remarks) == (
        "a random forest on the texts scores 0.25 (chance 0.20); stays in debiased", "not reviewed", ("odd",),
    )  # fmt: skip
    told = dict(made_from(ROW | {"from_s": 1.0, "until_s": None}, budgets))
    assert [told.get(f"in {n} frames") for n in (4, 8, 16, 32)] == [
        "B. 2.5", "2", "no answer: far, 1.04 m, limit 1", "no answer: far",
    ]  # fmt: skip
    assert (told["part of the video"], told.get("shows in")) == ("from 1 s to the end", None)
    assert dict(made_from(ROW | {"visible_in": []}))["shows in"] == "no budget"
    gone = detail(shown(), ROW | {"chance": None, "removed_in_round": 0}, None, [], None)
    assert gone.bias == "a random forest on the texts scores 0.25; taken out of debiased in round 0"


def test_a_scene_has_its_questions_and_rejections_counted_and_its_files() -> None:
    lost = [
        {"task": task, "reason": reason} for task, reason in (("t", "far"), ("s", "far"), ("t", "near"), ("t", "near"))
    ]
    made = seen("a/one", [ROW, ROW | {"task": "s", "reader": "y"}, ROW], lost, None, None)
    assert (made.questions, made.made[0]) == ({"s": 1, "t": 2}, ("reader", "x 4"))
    assert [(task, *own.items()) for task, own in made.dropped.items()] == [
        ("s", ("far", 1)), ("t", ("near", 2), ("far", 1)),
    ]  # fmt: skip
    for measured, limit, told in ((None, None, ""), (2.0, None, "2 m"), (2.0, 1.0, "2 m, limit 1 m"), (None, 1.0, "")):
        one = dropped(
            ROW | {"reason": "far", "role": None, "measured": measured, "limit": limit, "unit": "m"}, {}, None
        )
        assert one.measured_text == told


def test_a_row_of_the_list_has_what_filters_need() -> None:
    """Addresses of its words in the lists of the page, its margin, and of every model whether it was right."""
    replies = [
        GalleryReply("m", None, "é" * 1501, 0.5),
        GalleryReply("m", 8, "B", 0.49),
        GalleryReply("n", 8, "", None),
    ]
    assert [reply.shown for reply in replies[:2]] == ["… " + "é" * 1500, "B"]
    assert GalleryReply("m", None, "é" * 1500, 0.5).shown == "é" * 1500
    one = detail(shown(evidence=[fact("too_far", 4.4444, 5.0, "<=")]), ROW, None, [], None)
    two = GalleryRejection(
        dropped(ROW | {"reason": "far", "role": None, "measured": 2.0, "limit": 1.0, "unit": "m"}, {}, None), ""
    )
    about = GalleryHeader("", "", "", {"far": 1}, 1, [("m", None), ("m", 8), ("n", 8)])
    made = dict(gallery(about, [GalleryQuestion(one, [], budgets=[4], replies=replies)] * 41, [two]))
    rows = handed(made["data/rows-0000.js"])
    assert rows[39] == ["7", 0, 0, -1, "x " * 140 + "…", "2.5", "", [0], "details-0000.js", 0.1111, [4], [1, 0, None]]
    assert rows[40][8] == "details-0001.js"
    assert rows[41] == ["7", 0, 0, 0, "bed", "2 m, limit 1 m", "", [], "details-0001.js", None, [], []]
    assert list(handed(made["data/details-0001.js"])) == ["7", "7.0"]


def test_doubts_are_those_about_what_a_question_names_first() -> None:
    found = [doubt(name, subject, "", "") for name, subject in (("one", "lamp"), ("two", "bed"), ("three", "sofa"))]
    scene: Any = SimpleNamespace(findings=(*found, found[1].model_copy(update={"name": "mended", "severity": "fixed"})))
    row: dict[str, Any] = defaultdict(lambda: None, operands=["bed"])
    shown: Any = None
    made = detail(shown, row, scene, [], None)
    assert [one.name for one in made.doubts] == ["two", "mended", "one", "three"]
    assert (made.touched, made.doubtful) == (2, ("two",))


def test_nothing_that_a_name_says_becomes_markup_or_ends_a_script() -> None:
    row = {"id": 7, "scene": MARKUP, "task": MARKUP, "role": None, "operands": [MARKUP], "reason": MARKUP}
    lost = dropped(row | {"measured": 1.0, "limit": 2.0, "unit": MARKUP}, {MARKUP: MARKUP}, None)
    about = GalleryHeader(MARKUP, MARKUP, MARKUP, {MARKUP: 1}, 1, [(MARKUP, None)])
    made = dict(gallery(about, [], [GalleryRejection(lost, "")]))
    page = one_page(MARKUP, MARKUP, MARKUP, dropped=[lost])
    assert b"<img src=x" not in page + made["index.html"]
    assert b"0 questions about 0 scenes" in made["index.html"], "of the scene a candidate was rejected alone"
    assert page.count(b"&lt;img src=x") > 5
    assert all("\u2028" not in made[name].decode() for name in made if name.startswith("data/"))
    assert "<img src=x" not in handed(made["data/details-0000.js"])["7.0"]
    assert handed(made["data/rows-0000.js"])[0][4] == MARKUP  # which the page puts in as text


def test_a_thumbnail_is_the_first_picture_and_of_a_drawing_its_map_alone() -> None:
    detail: Any = None
    svg, still = Picture("a.svg", ""), Picture("b.jpg", "")
    shown = [GalleryQuestion(detail, pictures).thumbnail for pictures in ([svg, still], [still], [])]
    assert shown == ["a.svg#map", "b.jpg", ""]


def test_replies_are_counted_by_model_and_form() -> None:
    def reply(form: str, answer: str | None, right: bool, failure: str | None = None) -> dict[str, Any]:
        return {"model": "m", "form": form, "answer": answer, "right": right, "failure": failure}

    rows = [reply("letter", "A", True), reply("letter", "B", False), reply("letter", None, False, "timeout")]
    letters, cloze = guessed([reply("cloze", "A", True), *rows])[::-1]
    assert (letters.asked, letters.right, letters.answers, letters.failed) == (3, 1, ("A", "B"), 1)
    assert (cloze.asked, cloze.right) == (1, 1)


def test_the_margin_is_the_smallest_distance_to_a_limit_on_a_scale() -> None:
    def row(value: float, limit: float | None) -> dict[str, Any]:
        return {"value": value, "limit": limit}

    assert margin([row(4.5, 5.0), row(0.038, 2.0), row(3.0, None)]) == pytest.approx(0.1)
    assert margin([row(2.0, 1.0), row(7.0, None)]) is None  # a count
    assert margin([row(0.25, 0.0)]) == 0.25  # of a limit of 0 in what is measured
    assert margin([]) is None
