"""Cities of the samples as scenes, and tasks that were generated from them."""

import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import shapely

from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.columns import COLUMNS
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.core.schema import Origin
from pipeline.core.tables import selected_questions
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.city.write import write_cities
from pipeline.samples.common.city_plan import CityPlan
from pipeline.samples.registry import SAMPLES
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.registry import READERS
from tests.options import option_faults
from tests.oracles.city_answers import answer, shape, targets


@cache
def sample(name: str) -> CityScene:
    """A sample city."""
    root = Path(mkdtemp())
    SAMPLES["city"].write(root)
    reader = READERS["city"]
    (ref,) = [ref for ref in reader.scenes(root / "city").scenes if ref.id.endswith(f"/{name}")]
    return reader.read(SceneFiles(root / "city", ref))


def tasks_of(scene: CityScene, rules: CityRules, *categories: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Released rows of a city, with what each asks (`raw`: the operands without start and chain), and rejections."""
    view = CityView(scene, rules)
    names = categories or tuple(CITYEQA.by_name())
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in names:
        task = CITYEQA.by_name()[name]
        found = task.candidates(view)
        selected = select(found, CITYEQA.by_name(), 10_000)
        asked = selected_questions(selected)
        assert not option_faults(asked.to_pylist())
        raws = [tuple(operands[:-2]) for operands in asked.column("operands").to_pylist()]
        rows += [row | {"raw": raw} for row, raw in zip(COLUMNS.table(asked, ()).to_pylist(), raws, strict=True)]
        refused += [row for row in found.to_pylist() if row["reason"] is not None]
    return rows, refused


def small(seed: int, busy: bool = True) -> CityScene:
    """A procedural city of four to nine blocks, another for each seed; see `CityPlan.busy`.

    Its shops are called by lot, so that who has read of one city's bakery knows no other's.
    """
    origin = Origin(lat_deg=50.0, lon_deg=8.0, alt_m=100.0)
    plan = CityPlan(f"small{seed}", 2 + seed % 2, 2 + seed // 2 % 2, origin, None, busy)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        write_cities(root, (plan,))
        reader = READERS["city"]
        return reader.read(SceneFiles(root, reader.scenes(root).scenes[0]))


def ill_supplemented(scene: CityScene, rows: list[dict[str, Any]], rules: CityRules) -> list[str]:
    """What is wrong with the starts of released rows: too few of one question, on too few sides, or where none may be.

    From the rows and the city's footprints alone.
    """
    things = {thing.id: thing for thing in scene.facts.things}
    solid = shapely.union_all([shape(t) for t in scene.facts.things if t.kind == "building"])
    sides: dict[tuple[str, ...], list[int]] = defaultdict(list)
    wrong = []
    for row in rows:
        target, (x, y) = things[row["group"].partition("/")[2]], row["initial_pose"][:2]
        dx, dy = x - target.center[0], y - target.center[1]
        if not 30 <= math.hypot(dx, dy) <= 200:
            wrong.append(f"{row['question_id']}: {math.hypot(dx, dy):.1f} m from its target")
        if solid.distance(shapely.Point(x, y)) < rules.body_m:
            wrong.append(f"{row['question_id']}: starts in or at a building")
        sides[row["category"], *row["raw"]].append(int(math.degrees(math.atan2(dx, dy)) % 360 // 45))
    wrong += [f"{key}: {len(own)} starts" for key, own in sides.items() if len(own) < 4]
    wrong += [f"{key}: on {len(set(own))} sides" for key, own in sides.items() if len(set(own)) < 3]
    return wrong


def ill_answered(scene: CityScene, rows: list[dict[str, Any]]) -> list[str]:
    """Rows whose text fits another thing than their target, or several, or has another answer; from the text alone."""
    wrong = []
    for row in rows:
        found = targets(scene.facts, row["question"], tuple(row["initial_pose"][:2]))
        if [thing.id for thing in found] != [row["group"].partition("/")[2]]:
            wrong.append(f"{row['question_id']}: leads to {[thing.id for thing in found]}: {row['question']}")
        elif (again := answer(scene.facts, row["question"], found[0])) != row["answer"]:
            wrong.append(f"{row['question_id']}: {again}, not {row['answer']}: {row['question']}")
    return wrong


YAWS = {"north": 0, "east": 90, "south": 180, "west": 270}


def task(
    number: int = 1, hop: str = "south", asked: str = "How many cars in the parking lot?", **other: Any
) -> dict[str, Any]:
    """A row as released, sound but for what is said otherwise."""
    question = f"There is a building to the {hop} of you. To the east of the building, there is a parking lot. "
    return {
        "question_id": number,
        "question": f"{question}Please tell me {asked}",
        "answer": "8",
        "category": "Counting",
        "observation_pose": [10, 40, 9, 0, 0, 135],
        "target_pose": [30, 40, 5, 0, 0, 0],
        "initial_pose": [0, 100, 9, 0, 0, YAWS[hop]],
    } | other


def written(path: Path, *rows: Any) -> Path:
    """A file of rows; NaN as Python writes it."""
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path
