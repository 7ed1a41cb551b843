"""Drawings of questions about flights and arms, measured: what is drawn, by its scale, is what the evidence says."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.drawings import draw
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.schema import AnyScene
from tests.benchmarks.embodied4c.logs import episodes, flight
from tests.oracles.exam_check import open_exam

SVG = "{http://www.w3.org/2000/svg}"


def drawn(scene: AnyScene, *kinds: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Questions of some kinds with what their drawings measure: part -> (units of a metre, measuring lines)."""
    view = open_exam(scene, ExamRules(far_per_log=0, even_answers=False))
    table = pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()])
    rows = [row | {"text": row["wording"]} for row in table.to_pylist() if row["reason"] is None]
    asked = {row["id"]: row for row in rows if row["operands"][0] in kinds}
    found = []
    for number, sheet in draw(view, asked.values(), None):
        parts = {}
        for part in ElementTree.fromstring(sheet.svg()).iter():  # noqa: S314 - our own
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
    (scene,) = episodes(1)
    found = drawn(scene, "arm_dt", "arm_sm_net")
    assert {row["operands"][0] for row, _ in found} == {"arm_dt", "arm_sm_net"}
    for row, parts in found:
        (above, (flat,)), (side, (upright,)) = parts["above"], parts["side"]
        left, ahead = span(flat) / above
        along, up = span(upright) / side
        assert abs(along) == pytest.approx(abs(ahead), abs=2e-4), "both maps know how far ahead"
        assert np.linalg.norm([left, ahead, up]) * 100 == pytest.approx(answer_of(row), abs=0.05)


def test_dials_show_the_angles_of_joints() -> None:
    (scene,) = episodes(1)
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


def test_names_of_things_are_text() -> None:
    made = flight(3)
    first, *others = made.facts.landmarks
    odd = first.model_copy(update={"label": "the <b>&amp; tower"})
    facts = made.facts.model_copy(update={"landmarks": (odd, *others)})
    assert drawn(made.model_copy(update={"facts": facts}), "air_dt", "air_lc"), "parsed as XML"
