"""Drawings of questions about logs, measured: what is drawn, by its scale, is what the evidence says."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.drawings import draw
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.identity import digest
from pipeline.core.schema import AnyScene
from pipeline.samples.drive.plan import EGO_SIZE
from tests.benchmarks.embodied4c.logs import drive, episodes, flight
from tests.oracles.exam_check import open_exam

SVG = "{http://www.w3.org/2000/svg}"


def drawn(scene: AnyScene, *kinds: str, moments: int | None = None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Questions of some kinds with what their drawings measure: part -> (units of a metre, measuring lines).

    "arcs" are those of angles. ``moments``: at which it is asked, at most.
    """
    more = {} if moments is None else {"exam_moments_max": moments}
    view = open_exam(scene, ExamRules.model_validate({"far_per_log": 0, "even_answers": False} | more))
    table = pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()])
    rows = [row | {"text": row["wording"]} for row in table.to_pylist() if row["reason"] is None]
    asked = {row["id"]: row for row in rows if row["operands"][0] in kinds}
    found = []
    for number, sheet in draw(view, asked.values(), None):
        parts, root = {}, ElementTree.fromstring(sheet.svg())  # noqa: S314 - our own
        measures = [line for line in root.iter(f"{SVG}path") if line.attrib["class"] == "measure"]
        parts["arcs"] = (float("nan"), [line for line in measures if "data-measure" not in line.attrib])
        for part in root.iter():
            lines = [line for line in part.iter(f"{SVG}path") if "data-measure" in line.attrib]
            if "data-part" in part.attrib:
                parts[part.attrib["data-part"]] = (float(part.attrib.get("data-per-m", "nan")), lines)
        found.append((asked[number], parts))
    return found


def span(line: ElementTree.Element) -> np.ndarray[Any, np.dtype[np.float64]]:
    """From one end of a line to the other, in units."""
    pairs = line.attrib["d"].lstrip("M").split()
    first, last = (np.array([float(v) for v in pair.split(",")]) for pair in (pairs[0], pairs[-1]))
    return np.asarray(last - first)


def answer_of(row: dict[str, Any]) -> float:
    return next(float(fact["value"]) for fact in row["evidence"] if fact["name"] == "answer")


@pytest.mark.parametrize("seed", [1, 2])
def test_distances_of_flights_are_as_long_as_they_are_drawn(seed: int) -> None:
    found = drawn(flight(seed), "air_dt", "air_dt_home", "air_at_height")
    kinds = set()
    for row, parts in found:
        per_m, lines = parts["heights" if row["operands"][0] == "air_at_height" else "map"]
        (line,) = lines
        assert np.hypot(*span(line)) / per_m == pytest.approx(answer_of(row), abs=0.03 / per_m + 1e-3)
        assert float(line.attrib["data-measure"]) == pytest.approx(answer_of(row), abs=1e-3)
        kinds.add(row["operands"][0])
    assert len(found) > 5
    assert {"air_dt_home"} <= kinds


def test_distances_of_arms_are_measured_in_both_maps() -> None:
    """The length in space is that of its shadows on the floor and on the wall."""
    (scene,) = episodes(range(1))
    found = drawn(scene, "arm_dt", "arm_sm_net")
    assert {row["operands"][0] for row, _ in found} == {"arm_dt", "arm_sm_net"}
    for row, parts in found:
        (above, (flat,)), (side, (upright,)) = parts["above"], parts["side"]
        left, ahead = span(flat) / above
        along, up = span(upright) / side
        assert abs(along) == pytest.approx(abs(ahead), abs=2e-4), "both maps know how far ahead"
        assert np.linalg.norm([left, ahead, up]) * 100 == pytest.approx(answer_of(row), abs=0.05)


def test_dials_show_the_angles_of_joints() -> None:
    (scene,) = episodes(range(1))
    view = open_exam(scene, ExamRules())
    for row, parts in drawn(scene, "arm_md_rate")[:20]:
        _, lines = parts["dials"]
        for line in lines:
            x, y = span(line)
            turn = float(np.degrees(np.arctan2(-x, -y)))
            assert (turn - float(line.attrib["data-measure"]) + 180) % 360 - 180 == pytest.approx(0, abs=0.05)
        asked = view.joints.tolist().index(row["operands"][2])  # type: ignore[attr-defined]
        angle = float(np.degrees(view.angle[view.index(row["until_s"]), asked]))  # type: ignore[attr-defined]
        assert any(float(line.attrib["data-measure"]) == pytest.approx(angle, abs=1e-6) for line in lines)


def test_what_is_measured_of_a_drive_is_drawn_where_it_was() -> None:
    """Lengths at their lines; angles as arcs about where they are; radii as what lies so far from our car."""
    kinds = {"dt_near", "dt_between", "sm_driven", "lc_sector", "or_heading", "ct_near", "at_size"}
    found = {row["operands"][0]: (row, parts) for row, parts in drawn(drive(2), *sorted(kinds), moments=2)}
    assert set(found) == kinds
    lines = {kind: (row, *parts["map"]) for kind, (row, parts) in found.items()}
    for kind in ("dt_near", "dt_between", "at_size"):
        row, per_m, (line,) = lines[kind]
        assert np.hypot(*span(line)) / per_m == pytest.approx(answer_of(row), abs=0.03 / per_m + 1e-3), kind
        assert float(line.attrib["data-measure"]) == pytest.approx(answer_of(row), abs=1e-6), kind
    row, per_m, (way,) = lines["sm_driven"]
    assert np.hypot(*np.diff(points(way), axis=0).T).sum() / per_m == pytest.approx(answer_of(row), rel=0.01)
    row, per_m, (edge,) = lines["ct_near"]
    wide, high = np.ptp(points(edge), axis=0) / per_m
    length, width, _ = EGO_SIZE
    assert (high - length, wide - width) == pytest.approx((2 * float(row["operands"][-1]),) * 2, abs=0.1)
    for kind, fact in (("lc_sector", "bearing"), ("or_heading", "answer")):
        row, parts = found[kind]
        _, (arc,) = parts["arcs"]
        x, y = (points(arc) - middle_of(points(arc))).T
        turned = np.degrees(np.unwrap(np.arctan2(-y, x)))
        assert turned[0] == pytest.approx(90, abs=0.5), "from our heading, which is up"
        degrees = next(f["value"] for f in row["evidence"] if f["name"] == fact)
        turn = turned[-1] - turned[0]  # counter-clockwise, to the left, is positive
        assert (turn if kind == "lc_sector" else abs(turn)) == pytest.approx(degrees, abs=0.5)


def points(line: ElementTree.Element) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The points (n, 2) of a line, in units."""
    return np.array([[float(v) for v in pair.split(",")] for pair in line.attrib["d"].lstrip("M").split()])


def middle_of(arc: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The middle (2,) of the circle through an arc's ends and a point between."""
    a, b, c = arc[0], arc[len(arc) // 2], arc[-1]
    return np.linalg.solve(2 * np.stack([b - a, c - a]), np.array([b @ b - a @ a, c @ c - a @ a]))


def test_names_of_things_are_text() -> None:
    made = flight(3)
    first, *others = made.facts.landmarks
    odd = first.model_copy(update={"label": "the <b>&amp; tower"})
    facts = made.facts.model_copy(update={"landmarks": (odd, *others)})
    assert drawn(made.model_copy(update={"facts": facts}), "air_dt", "air_lc"), "parsed as XML"


IN_FULL = {"drive": "50 of 25: 7ad71f38562f", "flight": "40 of 20: a3dc9e625dc3", "arm": "39 of 20: b0d7b0cb74bc"}


@pytest.mark.parametrize("world", IN_FULL)
def test_drawings_of_all_that_is_asked_of_a_log(world: str) -> None:
    """Of two questions of each kind. A change of any line, number or word is seen; to read it, look at the drawings."""
    scene = {"drive": lambda: drive(24), "flight": lambda: flight(2), "arm": lambda: episodes([3])[0]}[world]()
    view = open_exam(scene, ExamRules.model_validate({"far_per_log": 0, "even_answers": False}))
    table = pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()])
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["reason"] is None:
            kinds.setdefault(row["operands"][0], []).append(row | {"text": row["wording"]})
    asked = [row for own in kinds.values() for row in own[:: max(1, len(own) - 1)][:2]]
    sheets = [sheet.svg() for _, sheet in draw(view, asked, None)]
    assert f"{len(sheets)} of {len(kinds)}: {digest(*sheets).hex()[:12]}" == IN_FULL[world]
