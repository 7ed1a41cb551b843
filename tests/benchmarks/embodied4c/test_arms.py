"""Questions about the sample episodes of an arm, answered again from their tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.benchmarks.embodied4c.view import exam
from pipeline.core.schema import AnyScene
from pipeline.reading.files import SceneFiles
from pipeline.worlds.arm.world import ARM
from pipeline.worlds.registry import READERS


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> list[AnyScene]:
    root = tmp_path_factory.mktemp("arms")
    ARM.samples.write(root)
    reader = READERS["lerobot"]
    return [reader.read(SceneFiles(root / "lerobot", ref)) for ref in reader.scenes(root / "lerobot").scenes[:3]]


class Table:
    """An episode's numbers, by name."""

    def __init__(self, scene: AnyScene) -> None:
        facts = scene.facts
        self.t = facts.seconds.array[:, 0]
        self.grip = facts.gripper.place_m.array
        self.joints = {j.name: facts.arm.position.array[:, n] for n, j in enumerate(facts.arm.joints)}
        self.items = {f"the {one.attributes['colour']} {one.category}": one for one in facts.items}
        self.limits = {j.name: (j.low, j.high) for j in facts.arm.joints}

    def at(self, name: str, n: int) -> Any:
        return self.items[name].place_m.array[n]

    def answer(self, kind: str, t_s: float, *more: str) -> str | float | None:
        known = getattr(self, kind, None)
        return None if known is None else known(int(np.abs(self.t - t_s).argmin()), *more)

    def nearest(self, n: int) -> Any:
        return self.items[min(self.items, key=lambda name: math.dist(self.at(name, n), self.grip[n]))]

    def arm_cl(self, n: int) -> str:
        return str(self.nearest(n).category)

    def arm_at_near(self, n: int) -> str:
        return str(self.nearest(n).attributes["colour"])

    def arm_dt(self, n: int, name: str) -> float:
        return 100 * math.dist(self.at(name, n), self.grip[n])

    def arm_rd(self, n: int, *names: str) -> str:
        return ", ".join(sorted(names, key=lambda name: math.dist(self.at(name, n)[:2], self.grip[n][:2])))

    def arm_rp(self, n: int, first: str, second: str) -> str:
        x, y, _ = self.at(first, n) - self.at(second, n)
        return f"{'left' if y > 0 else 'right'} and {'farther' if x > 0 else 'nearer'}"

    def arm_lc(self, n: int, name: str) -> str:
        x, y, _ = self.at(name, n) - self.grip[n]
        return ("ahead" if x > 0 else "behind") if abs(x) > abs(y) else "left" if y > 0 else "right"

    def arm_rs(self, n: int, *names: str) -> str:
        return max(names, key=lambda name: max(self.items[name].size_m))

    def arm_lm(self, n: int) -> float:
        return 100 * sum(math.dist(a, b) for a, b in zip(self.grip[:n], self.grip[1 : n + 1], strict=True))

    def arm_lm_moved(self, n: int) -> str:
        return max(self.items, key=lambda name: math.dist(self.at(name, n), self.at(name, 0)))

    def arm_md(self, n: int, joint: str) -> float:
        return abs(math.degrees(self.joints[joint][n]))

    def arm_cs(self, n: int, joint: str) -> float:
        low, high = self.limits[joint]
        return math.degrees(min(self.joints[joint][n] - low, high - self.joints[joint][n]))

    def arm_ct_colour(self, n: int, colour: str) -> float:
        return sum(one.attributes["colour"] == colour for one in self.items.values())

    def arm_ct_all(self, n: int) -> float:
        return len(self.items)


def rows(scene: AnyScene) -> list[dict[str, Any]]:
    view = exam(scene, ExamRules(far_per_log=0, even_answers=False))
    return pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()]).to_pylist()


def test_answers_follow_from_the_tables(episodes: list[AnyScene]) -> None:
    checked = 0
    for scene in episodes:
        table = Table(scene)
        for row in (row for row in rows(scene) if row["reason"] is None):
            kind, t_s, *more = row["operands"]
            found = table.answer(kind, float(t_s), *more)
            checked += found is not None
            if isinstance(found, str):
                assert row["answer"] == found, row
            elif found is not None:
                decimals = len(row["answer"].partition(".")[2])
                assert abs(float(row["answer"]) - found) <= 0.5 * 10**-decimals + 1e-4 * abs(found), row
    assert checked > 800


def test_kinds_and_wording(episodes: list[AnyScene]) -> None:
    asked = [row for scene in episodes for row in rows(scene) if row["reason"] is None]
    kinds = {row["operands"][0] for row in asked}
    assert {"arm_st", "arm_st_slide", "arm_tp", "arm_lm_moved", "arm_md_joints", "arm_mt", "arm_ct"} <= kinds
    assert not [row for row in asked if "joint joint" in row["wording"] or "{" in row["wording"]]
    assert all("domain: manipulation" in row["flags"] for row in asked)
    assert {row["answer"] for row in asked if row["operands"][0] == "arm_md_joints"} == {"3"}
