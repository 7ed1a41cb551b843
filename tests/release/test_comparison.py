"""What changed between two releases, and why: on builds of rooms whose corrections are known."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.cli.diff import diff, report_of, show_changes, since_last
from pipeline.core.errors import ConfigError
from pipeline.core.tables import REJECTIONS
from pipeline.release.comparison import (
    LoadedRelease,
    QuestionChange,
    ReleasedQuestion,
    Report,
    compared,
    markdown,
    page,
    table,
    with_reasons,
)
from pipeline.release.history import history
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from tests.builds import build, rows_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

COUNT = (
    "- {{id: samples-0001, scene: kitchen, target: count, of: chair, expect: 3, set: {set}, why: counted, who: me,"
    " date: 2026-01-31}}\n"
)
Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Builds two rooms into one folder, with fixes, other scenes or other settings; gives the build's folder."""
    (tmp_path / "meta").mkdir()
    (tmp_path / "fixes").mkdir()

    def run(fixes: str = "", change: Callable[[dict[str, Any]], object] = len, **sections: Any) -> Path:
        scenes = {plan.name: sample_scene(plan) for plan in PLANS[:2]}
        change(scenes)
        write_scenes(tmp_path / "meta" / "rooms.json", scenes)
        (tmp_path / "fixes" / "samples.yaml").write_text(fixes, encoding="utf-8")
        build(tmp_path / "meta", tmp_path / "out", fixes={"folder": str(tmp_path / "fixes")}, **sections)
        return tmp_path / "out"

    return run


def last(out: Path) -> Report:
    one, other = history(out)[-2:]
    return report_of(out / "releases" / one.name, out / "releases" / other.name, "made")


def published(release: LoadedRelease) -> dict[int, tuple[object, ...]]:
    rows = rows_of(release.folder / "data" / "test-00000-of-00001.parquet")
    return {row["id"]: (row["question"], row["options"], row["ground_truth"]) for row in rows}


def kinds(report: Report) -> dict[str, int]:
    return {kind: n for kind, n in report.totals.items() if n}


@pytest.mark.slow
def test_a_fix_is_the_cause_of_what_it_changed_and_of_nothing_else(made: Made) -> None:
    out = made()
    made(COUNT.format(set=7))
    report = last(out)
    before, after = ({r["id"]: r for r in _provenance(r)} for r in (report.before, report.after))
    answers = {i for i in before.keys() & after.keys() if before[i]["answer"] != after[i]["answer"]}
    assert {c.id for c in report.changes if c.kind == "answer changed"} == answers != set()
    assert {c.id for c in report.changes if c.before is None} == after.keys() - before.keys()
    assert {c.id for c in report.changes if c.after is None} == before.keys() - after.keys()
    assert {c.asked.scene for c in report.changes} == {"samples/kitchen"}
    assert {c.causes for c in report.changes} == {("fix samples-0001",)}
    assert all("boxes_missing" in c.reason for c in report.changes if c.kind == "removed")
    assert report.causes[0].description == "samples/kitchen: count of chair 3 -> 7. counted (me, 2026-01-31)"
    made()
    assert {c.causes for c in last(out).changes} == {("fix samples-0001 (taken back)",)}


@pytest.mark.slow
def test_what_no_reader_of_a_release_sees_is_no_change(made: Made) -> None:
    """Numeric questions are released without the four numbers that blind baselines choose among."""
    out = made()
    made(
        "- {id: samples-0001, scene: bedroom, target: drop_object, of: lamp, expect: {center_m: [-1.15, -1.73, 0.75]},"
        " set: null, why: drawn, who: me, date: 2026-01-31}\n"
    )
    report = last(out)
    (one, hidden), (other, hidden_after) = (
        (published(release), {row["id"]: row["choices"] for row in _provenance(release)})
        for release in (report.before, report.after)
    )
    differ = {i for i in one.keys() & other.keys() if one[i] != other[i]}
    assert {c.id for c in report.changes if c.before and c.after} == differ != set()
    assert {i for i in one.keys() & other.keys() if hidden[i] != hidden_after[i]} - differ != set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "cause", "kind"),
    [
        ({"select": {"per_scene_and_task": 1}}, "config: select.per_scene_and_task 6 -> 1", "displaced by a cap"),
        ({"generate": {"rules": {"abs_distance_min_m": 1.5}}}, "rule: abs_distance_min_m 0.2 -> 1.5", "removed"),
        ({"generate": {"tasks": ["object_counting"]}}, "config: generate.tasks", "removed"),
        ({"change": lambda scenes: scenes.pop("kitchen")}, "the scene is gone", "removed"),
        ({"change": lambda s: s["kitchen"].update(room_size=40.0)}, "raw data changed", "answer changed"),
        ({"fixes": COUNT.format(set=4).replace("expect: 3", "expect: 9")}, "fix samples-0001", "removed"),
    ],
)
def test_every_cause_has_its_name(changed: dict[str, Any], cause: str, kind: str, made: Made) -> None:
    out = made()
    made(**changed)
    report = last(out)
    found = [change for change in report.changes if change.kind == kind]
    assert found
    assert all(any(one.startswith(cause) for one in change.causes) for change in found), found[0].causes


@pytest.mark.slow
def test_without_manifests_the_provenance_tells(made: Made, tmp_path: Path) -> None:
    out = made()
    made(COUNT.format(set=7), select={"per_scene_and_task": 5})
    for path in (out / "releases").glob("*.manifest.parquet"):
        path.unlink()
    assert {cause for change in last(out).changes for cause in change.causes} >= {"fix samples-0001"}
    with pytest.raises(ConfigError, match="not a complete release"):
        diff([out / "store", out / "release"], None, tmp_path / "diff")


@pytest.mark.slow
def test_a_build_ends_with_what_changed(made: Made, tmp_path: Path) -> None:
    out = made()
    name = history(out)[-1].name
    assert since_last(out, None) == (f"First release in this folder ({name})", None)
    assert since_last(out, name) == (f"the release is the same as before ({name})", None)
    with pytest.raises(ConfigError, match="the only release that is kept"):
        diff([out], None, None)
    made(COUNT.format(set=7))
    newest = history(out)[-1].name
    line, report = since_last(out, name)
    # Answers take turns: the one that changed has another's, which takes that of a third.
    assert [change.kind for change in report.changes] == ["answer changed", "removed", "added"]
    assert line.startswith(f"since the last release ({name} -> {newest}): 1 answer changed")
    assert line.endswith("(fix samples-0001)")
    for part in ("data", "provenance"):
        path = out / "releases" / name / part / "test-00000-of-00001.parquet"
        raw = path.read_bytes()
        path.unlink()
        path.write_bytes(raw[:-9])
        with pytest.raises(ConfigError, match=f"{part}/{path.name}: cannot be read"):
            since_last(out, name)
        path.write_bytes(raw)
    assert {p.name for p in (out / "releases").glob("*.parquet")} == {f"{n}.manifest.parquet" for n in (name, newest)}
    diff([out], name, None)
    rows = rows_of(out / "diff" / "diff.parquet")
    assert {row["kind"] for row in rows} >= {"answer changed"}
    (one,) = [row for row in rows if row["kind"] == "answer changed"]
    assert (one["answer_before"], one["answer_after"], one["causes"]) == ("3", "7", ["fix samples-0001"])
    assert "fix samples-0001" in (out / "diff" / "diff.md").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match=f"no older release none is kept; there are {name}"):
        diff([out], "none", None)


def hostile() -> Report:
    bad = "<script>document.title='pwned'</script>|*x*\n[a](javascript:b)"
    asked = ReleasedQuestion(f"made/{bad}", bad, (bad,), bad, (bad,), bad, (bad,), {})
    release = LoadedRelease(
        Path(),
        "0" * 12,
        {1: asked},
        1,
        1,
        None,
        {bad: {"scene": bad, "change": bad, "why": bad, "who": bad, "date": bad}},
    )
    change = QuestionChange(1, "answer changed", asked, replace(asked, answer="b"), bad, (f"fix {bad}",))
    return Report(bad, release, release, [change])


def test_whatever_stands_in_a_question_is_text() -> None:
    html = page(hostile()).decode()
    assert html.count("<script>") == 1, "the page's own"
    assert "&lt;script&gt;" in html
    assert not re.search(r"(?:src|href)=", html), "it needs nothing else"
    text = markdown(hostile()).decode()
    assert "<script>" not in text
    assert "](javascript" not in text.replace("\\]", "")
    assert all(line.count("|") - line.count("\\|") in (0, 3, 5, 6) for line in text.splitlines())


def _provenance(release: LoadedRelease) -> list[dict[str, Any]]:
    return rows_of(release.folder / "provenance" / "test-00000-of-00001.parquet")


def test_the_line_counts_in_english() -> None:
    report = hostile()
    many = Report("", report.before, report.after, [report.changes[0]] * 2)
    assert many.line.startswith("2 answers changed (fix")
    assert json.dumps(many.totals)


def test_a_list_of_changes_names_a_cause_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = hostile()
    one = replace(report.changes[0], causes=("config: select.per_scene_and_task 3 -> 10",))
    show_changes(replace(report, changes=[one, one, replace(one, causes=("raw data",)), one]))
    told = re.findall(r"config: select|as above|raw data", capsys.readouterr().out)
    assert told == ["config: select", "as above", "raw data", "config: select"]


def of_room(
    scene: str, *operands: str, answer: str = "3", text: str = "How many?", options: str = ""
) -> ReleasedQuestion:
    return ReleasedQuestion(f"d/{scene}", "count", operands, text, tuple(options), answer, (), {})


def refused(folder: Path, *rows: tuple[object, ...]) -> LoadedRelease:
    """A release with rejected candidates: id, scene, role, operands, reason, measured, limit, unit."""
    names = ("id", "scene", "role", "operands", "reason", "measured", "limit", "unit")
    told = [{"task": "count"} | dict(zip(names, row, strict=True)) for row in rows]
    (folder / "rejected").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(told, REJECTIONS), folder / "rejected" / "test-00000-of-00001.parquet")
    return LoadedRelease(folder, folder.name, {}, 0, 0, None)


def test_each_change_between_two_releases_with_its_reason_by_hand(tmp_path: Path) -> None:
    lamp = (None, "d/a", "target", ["lamp"], "not_unique", 2.0, 1.0, "objects")
    before = refused(
        tmp_path / "one",
        (7, "d/a", None, ["mug"], "too_small", 0.04, 0.1, "m"),
        (None, "d/b", "target", ["sofa"], "too_near", 0.5, None, "m"),
        lamp,
    )
    after = refused(
        tmp_path / "two",
        (1, "d/a", None, ["bed"], "over_cap", 7.0, 6.0, "place"),
        (2, "d/a", None, ["rug"], "flat", None, None, None),
        (None, "d/b", "target", ["desk"], "not_unique", 3.0, 1.0, "objects"),
        lamp,
    )
    stood = {
        1: of_room("a", "bed"), 2: of_room("a", "rug"), 3: of_room("b", "desk", "bed"), 4: of_room("a", "lamp"),
        5: of_room("b", "tv", options="ab"), 6: of_room("a", "cup"), 12: of_room("b", "rug", "bed"),
    }  # fmt: skip
    stands = {
        5: of_room("b", "tv", options="ac", answer="c", text="How many tvs?"), 6: of_room("a", "cup", options="xy"),
        7: of_room("a", "mug"), 8: of_room("b", "sofa"), 9: of_room("a", "pot"),
    }  # fmt: skip
    before, after = replace(before, questions=stood), replace(after, questions=stands)
    found = with_reasons(compared(before, after), before, after)
    assert [(c.id, c.kind, c.reason or c.from_to) for c in found] == [
        (1, "displaced by a cap", "over_cap: place 7, limit place 6"),
        (2, "removed", "flat"),
        (4, "removed", "no candidate any more"),
        (6, "options changed", " → x; y"),
        (7, "added", "before: too_small: 0.04 m, limit 0.1 m"),
        (9, "added", "before: no candidate"),
        (3, "removed", "not_unique (desk): 3 objects, limit 1 object"),
        (5, "answer changed", "3 → c"),
        (5, "wording changed", "How many? → How many tvs?"),
        (8, "added", "before: too_near (sofa): 0.5 m"),
        (12, "removed", "no candidate any more"),
    ]
    causes = [("raw data",), ("a", "b"), ("b",), (), ("b",), ("c",), ("d",), ("e",), ("e",), ("e",), ("e",)]
    report = Report("", before, after, [replace(c, causes=own) for c, own in zip(found, causes, strict=True)])
    assert report.totals == {
        "answer changed": 1, "wording changed": 1, "options changed": 1, "added": 3, "removed": 4,
        "displaced by a cap": 1,
    }  # fmt: skip
    assert report.line == (
        "1 answer changed, 1 wording changed, 1 options changed, 3 added, 4 removed, 1 displaced by a cap "
        "(e, b, raw data and 3 more)"
    )
    assert replace(report, changes=report.changes[:2]).line.endswith(" (raw data, a, b)")
    assert [(c.name, c.changes, c.scenes) for c in report.causes] == [
        ("e", 4, 1), ("b", 3, 1), ("raw data", 1, 1), ("a", 1, 1), ("c", 1, 1), ("d", 1, 1),
    ]  # fmt: skip
    rows = {(row["id"], row["kind"]): row for row in pq.read_table(pa.BufferReader(table(report))).to_pylist()}
    assert len(rows) == 11
    row = rows[5, "answer changed"]
    assert (row["answer_before"], row["answer_after"], row["options_before"]) == ("3", "c", ["a", "b"])
    assert (row["scene"], row["operands"], row["reason"], row["causes"]) == ("d/b", ["tv"], None, ["e"])
    assert rows[9, "added"]["question_before"] is None
    told = markdown(report).decode()
    assert all(change.reason in told.replace("\\", "") for change in found)
