"""The report: one file that needs no other, the release's own figures, and nothing of a name that becomes markup."""

import hashlib
import json
import re
from collections import Counter
from html import unescape
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect, sync_playwright

from flows.cli.report import report_page
from flows.orchestration.saved_build import save_if_successful
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.blind.rule import ANSWERED
from pipeline.core.schema import Quarantine
from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.core.tables import REJECTIONS
from pipeline.release.released import Released
from pipeline.rendering.examples import KEPT, drawn
from pipeline.rendering.figures import (
    CHOICE,
    RULE,
    AnswerShare,
    BestGuess,
    FindingFigure,
    answer_figures,
    findings_of,
    funnel,
    guesses,
    quarantined,
    reasons_of,
    sources,
)
from pipeline.rendering.glossary import glossary
from pipeline.rendering.near_misses import (
    NearMiss,
    distinct_digits,
    gauge,
    near_miss_figure,
    nearest_refused,
    plan,
    sheet_of,
    significant_digits,
    some_of_each,
)
from pipeline.rendering.report import environment_of_pages
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from tests.builds import config_of, rows_of
from tests.drawing.reading import measured, parts, texts
from tests.page.conftest import ARGUMENTS, CHROMIUM
from tests.page.test_browser import AXE, PHONE, VIOLATIONS, WCAG_AA

FILE: Final = "test-00000-of-00001.parquet"
NAME: Final = "chair & 'stool'"
MARKUP: Final = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Released]:
    """A build of sample metadata: a category is called `NAME`, and in a scene that is left out one is markup."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "meta").mkdir()
    for file, plans, name in (("made", PLANS[:4], NAME), ("left_out", PLANS[4:5], MARKUP)):
        scenes = json.dumps({plan.name: sample_scene(plan) for plan in plans}).replace('"chair"', json.dumps(name))
        (folder / "meta" / f"{file}.json").write_text(scenes, encoding="utf-8")
    config = config_of(folder / "meta")
    with save_if_successful(folder / "vsi", config, [], {"vsi_meta": folder / "meta"}):
        pass
    outcome = Builder(config, folder / "vsi").build()
    assert outcome.released is not None
    return folder / "vsi", outcome.released


@pytest.fixture(scope="module")
def page(built: tuple[Path, Released]) -> str:
    return report_page(built[0]).decode()


def cells(page: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", page, re.S)]


@pytest.mark.slow
def test_the_page_needs_nothing_else_and_has_the_same_bytes_again(built: tuple[Path, Released], page: str) -> None:
    assert not re.search(r"https?://|@import|url\(|<link|<iframe", page)
    assert all(re.match(r"#|data:", to) for to in re.findall(r"<[a-z][^>]*?\s(?:src|href)=\"([^\"]*)", page))
    assert "default-src 'none'" in page
    assert report_page(built[0]).decode() == page


@pytest.mark.slow
def test_every_reason_and_every_count_is_that_of_the_release(built: tuple[Path, Released], page: str) -> None:
    folder, released = built
    rejected = rows_of(folder / "release" / "rejected" / FILE)
    told = cells(page[page.index('id="reasons"') : page.index('id="counts"')])
    for task, reasons in released.rejections.items():
        begins = next(i for i, cell in enumerate(told) if cell.split(" ")[0] == task)
        for reason, n in reasons.items():
            place = told.index(reason.replace("_", " "), begins)
            assert told[place + 1] == f"{n:,}"
            assert n == sum(row["task"] == task and row["reason"] == reason for row in rejected)
    asked = rows_of(folder / "release" / "data" / FILE)
    steps = funnel(released, None, ())
    assert [steps[0].left, steps[-1].left] == [len(asked) + len(rejected), len(asked)]
    assert f"{len(asked):,}" in cells(page[page.index('id="counts"') : page.index('id="answers"')])
    assert all(before.left - after.dropped == after.left for before, after in pairwise(steps))


@pytest.mark.slow
def test_the_page_holds_no_more_questions_than_its_bytes_allow(
    built: tuple[Path, Released], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.rendering.report.LIMIT_BYTES", 250_000)
    small = report_page(built[0]).decode()
    assert len(small.encode()) <= 250_000 < len(page.encode())
    assert 0 < small.count('<article class="card"') < page.count('<article class="card"')


@pytest.mark.slow
def test_names_are_text(page: str) -> None:
    assert "&lt;img src=x" in page
    assert "chair &amp; " in page
    assert MARKUP not in page
    assert NAME not in page


@pytest.mark.slow
def test_a_browser_draws_others_on_a_phone_in_the_dark_and_axe_finds_nothing(page: str, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        shown = browser.new_page(viewport=PHONE, color_scheme="dark")
        wrong: list[str] = []
        shown.on("console", lambda message: wrong.append(message.text))
        shown.goto((tmp_path / "report.html").as_uri())
        first = shown.locator("#draws code").all_text_contents()
        shown.get_by_role("button", name="Show others").click()
        expect(shown.locator("#where")).to_contain_text("11 to ")
        assert not set(first) & set(shown.locator("#draws code").all_text_contents())
        shown.get_by_role("combobox").select_option("room_size_estimation")
        assert set(shown.locator("#draws .chip").all_text_contents()) == {"room_size_estimation"}
        assert shown.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert wrong == []
        seen = browser.new_context(viewport=PHONE, bypass_csp=True).new_page()  # axe is a script that it would refuse
        seen.goto((tmp_path / "report.html").as_uri())
        seen.add_script_tag(content=AXE)
        assert seen.evaluate(VIOLATIONS, WCAG_AA) == []
        browser.close()


def test_what_chooses_is_told_apart_from_rules_for_every_benchmark() -> None:
    """CityEQA keeps its answers even: a candidate that goes for that could have been asked."""
    dropped = {
        "t": {"answer_more_frequent": 5, "over_cap": 2, "not_visible": 3, "asked_at_another_time": 1, ANSWERED: 6}
    }
    empty: dict[str, Any] = {name: {} for name in ("files", "answers", "letters", "flags")}
    counted = Released(questions={"t": 4}, rejections=dropped, findings=[], blind=[], models=[], **empty)
    steps = funnel(counted, 1, BENCHMARKS["cityeqa"].card.chosen)
    assert [(step.left, step.dropped) for step in steps] == [(21, 0), (18, 3), (10, 8), (4, 6), (1, 3)]
    assert [step.left for step in funnel(counted, None, ())] == [21, 13, 10, 4]
    for benchmark in BENCHMARKS.values():
        assert benchmark.card.chosen <= set(glossary(benchmark.name)), benchmark.name


def test_answers_are_shares_the_most_frequent_first_or_a_histogram_of_16_bars() -> None:
    """Of numbers from 0 to 100 the outermost hundredths are in the first and the last bar; of 24 answers eight show."""
    numbers = {str(n): 1 for n in range(101)}
    few = {f"{n}": 2 if n == 7 else 1 for n in range(24)}
    answers = {"n": numbers, "few": few, "words": numbers | {"none": 3}, "even": {f"{n}": 1 for n in range(25)}}
    made = {one.task: one for one in answer_figures({task: Counter(count) for task, count in answers.items()})}
    assert [(bar.label, bar.n) for bar in made["n"].bars[:2]] == [("1 to 7.12", 8), ("7.12 to 13.2", 6)]
    assert [bar.n for bar in made["n"].bars][-1:] == [8]
    assert (len(made["n"].bars), made["n"].shares, made["n"].rest) == (16, (), 0)
    assert (made["few"].bars, made["few"].rest, made["few"].even, made["few"].n) == ((), 16, 1 / 24, 25)
    assert [share.label for share in made["few"].shares] == ["7", "0", "1", "10", "11", "12", "13", "14"]
    assert (made["words"].bars, made["words"].most, made["words"].rest) == ((), AnswerShare("none", 3), 94)
    assert len(made["even"].bars) == 16
    constant = answer_figures({"t": Counter({f"1.{'0' * n}": 1 for n in range(1, 26)})})
    assert constant[0].bars == ()


def test_guesses_are_those_of_the_best_attacker_of_each_split() -> None:
    split = SimpleNamespace(n=4, chance=0.25, earned={"forest": 0.5, "prior": 0.5, "least": 0.1})
    row: Any = SimpleNamespace(asked=split, released=SimpleNamespace(earned={}), debiased=None)
    assert guesses(row) == [BestGuess("asked", 4, 0.25, 0.5, "prior")]


def test_what_was_left_out_is_grouped_by_finding_the_most_frequent_first() -> None:
    rows = [
        Quarantine(unit=unit, stage="unify", file="", finding=name, message="", remedy="")
        for unit, name in ("cb", "aa", "ba", "db", "eb")
    ]
    assert {name: [row.unit for row in own] for name, own in quarantined(rows).items()} == {
        "b": ["c", "d", "e"],
        "a": ["a", "b"],
    }
    assert list(quarantined(rows)) == ["b", "a"]
    counted = sources([{"task": task, "scene": scene} for task, scene in (("t", "b/1"), ("t", "b/2"), ("s", "a/b/1"))])
    assert counted == (["a", "b"], {"s": {"a": 1}, "t": {"b": 2}})


def test_shares_are_percentages_and_bars() -> None:
    percent, bar, cut = (environment_of_pages().filters[name] for name in ("percent", "bar", "cut"))
    told: dict[float, str] = {0: "0%", 0.0004: "<0.1%", 0.0005: "0.1%", 0.0994: "9.9%", 0.0996: "10%", 1: "100%"}
    assert {share: percent(share) for share in told} == told
    widths = [re.findall(r'part" width="(.*?)"', bar(share))[0] for share in (-0.5, 0.125, 2.0)]
    assert widths == ["0.00", "12.50", "100.00"]
    assert [re.findall(r"M(.*?),", bar(0.5, tick)) for tick in (None, -1, 0.25, 2)] == [
        [],
        ["0.00"],
        ["25.00"],
        ["100.00"],
    ]
    assert [cut("x" * n) for n in (90, 91)] == ["x" * 90, "x" * 90 + "…"]


def test_reasons_come_by_task_the_most_frequent_first() -> None:
    rows = reasons_of({"t": {"far": 1, "odd": 2, "even": 2}, "s": {"over_cap": 1}}, {"far": "it is"}, {"odd"})
    assert [(row.task, row.reason, row.by, row.n) for row in rows] == [
        ("s", "over_cap", CHOICE, 1), ("t", "even", RULE, 2), ("t", "odd", CHOICE, 2), ("t", "far", RULE, 1),
    ]  # fmt: skip
    assert [row.explanation for row in rows] == ["", "", "", "it is"]


def test_findings_are_counted_by_name_the_most_frequent_first() -> None:
    told: Any = SimpleNamespace(
        findings=[("s/1", "a", "doubt", "x"), ("s/2", "b", "doubt", "z"), ("s/1", "b", "doubt", "y")]
    )
    assert findings_of(told) == [
        FindingFigure("b", "doubt", 2, 2, "s/1: y"), FindingFigure("a", "doubt", 1, 1, "s/1: x"),
    ]  # fmt: skip


def test_the_near_miss_is_measured_nearest_to_its_limit(tmp_path: Path) -> None:
    def row(number: int, reason: str, measured: float | None, limit: float | None, **more: Any) -> dict[str, Any]:
        told = {"id": number, "scene": "a/one", "task": "t", "operands": [str(number)], "role": None, "unit": "deg"}
        return told | {"reason": reason, "measured": measured, "limit": limit} | more

    rows = [
        row(1, "near_sector_boundary", 5.5, 10.0),
        row(2, "near_sector_boundary", 8.9, 10.0),
        row(3, "too_far", 5.4, 5.0, unit="m"),  # 8 %
        row(4, "not_unique", 101.0, 100.0),  # a count
        row(5, "over_cap", 10.01, 10.0),  # held every rule
        row(6, "video_not_examined", None, None),
        row(7, "not_unique", 2.0, 1.0, scene="a/two"),
        row(8, "too_few", 5.0, None, scene="a/three"),
        row(9, "above_ground", 0.1, 0.0, scene="a/four", unit="m"),  # of a limit of 0 as it was measured
        row(10, "above_ground", 0.8, 1.0, scene="a/four", unit="m"),
    ]
    (tmp_path / "rejected").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, REJECTIONS), tmp_path / "rejected" / FILE)
    nearest = nearest_refused(tmp_path)
    assert {key: near.about for key, near in nearest.of_scenes.items()} == {
        ("a/one", "t"): ("3",),
        ("a/two", "t"): ("7",),
        ("a/four", "t"): ("9",),
    }
    near = nearest.of_reasons["t", "near_sector_boundary"]
    assert (near.measured, near.limit, near.unit) == ("8.9", "10", "deg")
    chosen, counts = some_of_each(tmp_path, 1)
    assert [row["id"] for row in chosen] == [9, 2, 4, 5, 3, 8, 6]
    assert (counts["not_unique"], counts["too_few"]) == (2, 1)


def drawn_as(svg: str) -> str:
    """A digest of all shapes and texts of a drawing, without its style."""
    return hashlib.sha256(svg.partition("</style>")[2].encode()).hexdigest()[:12]


def test_the_near_miss_is_drawn_with_what_was_measured_and_its_limit() -> None:
    things = (
        MappedThing(label="bed", outline=((0, 0), (1, 0), (1, 1), (0, 1))),
        MappedThing(label=MARKUP, outline=((5, 0), (6, 0), (6, 1))),
    )
    near = NearMiss(("bed", MARKUP), "objects_too_far_apart", "4", "3.5", "m")
    drawn = near_miss_figure(near, TopDownMap(things=things))
    svg = drawn.decode()
    (line,) = measured(svg, "map", "objects_too_far_apart")
    assert line.length_m == pytest.approx(4.0, abs=1e-3)
    assert {"bed", MARKUP, "4 m", "limit 3.5"} <= set(texts(svg))
    assert drawn_as(svg) == "6b00c439139f", "as it was looked at"
    alone = near_miss_figure(near, None)
    assert not parts(alone.decode(), "map")
    (part,) = parts(alone.decode(), "gauge")
    assert (part.attrib["data-measured"], part.attrib["data-limit"]) == ("4", "3.5")
    assert near_miss_figure(near._replace(measured="inf"), None) is None
    for length_m, lines in ((4.03, 1), (4.05, 0)):  # a hundredth less or more is the same
        part = plan(TopDownMap(things=things), near.about, length_m)
        assert part.canvas.elements().count('class="measure"') == lines
    assert "wedge" not in gauge(3, 3, "m", "refused").canvas.elements()


def test_of_a_city_a_near_miss_shows_the_thing_of_its_id_among_its_neighbours() -> None:
    """Of 100 shops of one name the one meant is marked, and no more are drawn than its map in a review has."""
    shops = tuple(MappedThing(label="bakery", outline=((10.0 * i, 0.0),), id=f"node/{i}") for i in range(100))
    near = NearMiss(("sort", "node/50"), "too_small", "9", "10", "px")
    drawn = (near_miss_figure(near, TopDownMap(things=shops)) or b"").decode()
    assert drawn.count('class="a dot"') == 2  # the thing, and what was measured
    assert 20 <= drawn.count('class="thing"') <= 25
    assert drawn_as(drawn) == "596c3057c48a", "the wedge to the left, of less than the limit"
    whole = sheet_of("", [gauge(measured, limit, "m", "refused") for measured, limit in ((2, 10), (-4, -1), (7, 0))])
    assert drawn_as(whole.decode()) == "b979a283d966", "lines from zero on, or from the lower one if that is below"
    for count, named in ((8, 8), (9, 1)):
        part = plan(TopDownMap(things=shops[:count]), ["bakery"])
        assert part.canvas.elements().count("bakery</text>") == named


@pytest.mark.slow
def test_every_near_miss_of_the_page_is_drawn(page: str) -> None:
    cards = page.split('<article class="card"')[1:]
    told = [card.split('class="near"')[1] for card in cards if "<b>Rejected as" in card]
    assert told
    assert all('src="data:image/svg+xml' in near for near in told)


def test_numbers_are_told_apart_and_have_no_exponent() -> None:
    values = (8.94123456, 9.99612345, 9.99961234, 9.99999991234, 9.999999999981234, 10.0)
    told = ["8.94", "9.996", "9.99961", "9.99999991", "9.99999999998", "10"]
    assert [distinct_digits(value, 10.0) for value in values] == [(own, "10") for own in told]
    told = {
        0.0000123456: "0.00001235",
        0.00012: "0.00012",
        1.23456: "1.235",
        123456.0: "123456",
        -1e5: "-100000",
        0.0: "0",
    }
    assert {value: significant_digits(value) for value in told} == told


def test_the_draw_takes_all_tasks_in_turn_and_depends_on_ids_alone() -> None:
    tasks = {number: "rare" if number % 10 == 0 else "common" for number in range(1000)}
    order = drawn(tasks)
    assert order == drawn(dict(reversed(tasks.items())))
    assert len(order) == len(set(order)) == KEPT
    assert all(
        {tasks[one], tasks[other]} == {"rare", "common"}
        for one, other in zip(order[:200:2], order[1:200:2], strict=True)
    )
