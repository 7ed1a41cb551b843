"""Questions answered again by oracles, which share no line with the benchmarks; and what real logs of flights give."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.table import Table

from pipeline.benchmarks.cityeqa.query import Hop, RouteQuery
from pipeline.benchmarks.cityeqa.rules import CityRules
from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.cityeqa.wording import Phrase
from pipeline.benchmarks.ergeobench.rules import COMMON_SENSE, SPATIAL
from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.core.identity import digest
from pipeline.core.tables import selected_questions
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.panorama.facts import PanoramaScene
from pipeline.worlds.registry import READERS, WORLDS
from tests.bench.builds import CAP, profile_tasks, raw_scenes, read_scenes
from tests.bench.measuring import Figure, temporary, timed
from tests.benchmarks.cityeqa.cities import ill_answered, tasks_of
from tests.benchmarks.ergeobench.made import for_oracle, selected, street
from tests.environment import REAL_DATA
from tests.oracles.panorama_answers import answers, bare
from tests.oracles.scan_answers import SECTORS, OracleScene
from tests.tables import candidates

Shown = Iterator[Figure | Table | str]

# Scans

NEAR: Final = 0.1  # options closer to the truth than a tenth of it would be right too
GRID_SLACK_M: Final = 0.1 + 1e-9  # a released distance hangs on the last bit of which points a crop keeps
TALLIED: Final = ("candidates", "wrong", "two right", "a decimal off", "questions", "questions with two right",
                  "questions with none right")  # fmt: skip


def scans(count: str = "10000") -> Shown:
    """Candidates of the released metadata, drawn by their ids evenly over the tasks, and all questions then asked.

    How many answers are wrong, and how many questions have two right options; under `strict` also where one stands
    elsewhere beside an object.
    """
    oracles = {name: OracleScene(raw) for name, raw in raw_scenes()[0].items()}
    for profile in ("strict", "official"):
        tally: dict[str, Counter[str]] = defaultdict(Counter)
        tables = list(_tables(profile))
        for row in _drawn([row for found in tables for row in _kept(found)], int(count)):
            tally[row["task"]]["candidates"] += 1
            tally[row["task"]].update(_faults(oracles[row["scene"].split("/")[1]], row, profile))
        for found in tables:
            released = profile == "official"
            for row in selected_questions(select(found, profile_tasks(profile), CAP, as_released=released)).to_pylist():
                tally[row["task"]]["questions"] += 1
                tally[row["task"]].update(_two_right(oracles[row["scene"].split("/")[1]], row, profile))
        shown = Table("task", *TALLIED, title=f"Profile {profile}, answered by the oracle", title_justify="left")
        for task, counts in [*sorted(tally.items()), ("all", sum(tally.values(), Counter()))]:
            shown.add_row(task, *(str(counts[name]) for name in TALLIED))
        yield shown


def _tables(profile: str) -> Iterator[Any]:
    for scene in read_scenes():
        yield candidates(IndoorView(scene, PROFILES[profile]), list(profile_tasks(profile).values()))


def _kept(table: Any) -> list[dict[str, Any]]:
    columns = table.select(["id", "scene", "task", "operands", "answer", "reason"])
    return [row for row in columns.to_pylist() if row["reason"] is None]


def _drawn(rows: Iterable[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many, as evenly over the tasks as they last, by the digests of their ids."""
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: digest("oracle", str(row["id"]))):
        waiting[row["task"]].append(row)
    drawn: list[dict[str, Any]] = []
    for number, task in enumerate(sorted(waiting, key=lambda task: len(waiting[task]))):
        drawn += waiting[task][: (count - len(drawn)) // (len(waiting) - number)]
    return drawn


def _faults(oracle: OracleScene, row: Mapping[str, Any], profile: str) -> list[str]:
    """What is wrong with a candidate."""
    right = oracle.answers(row["task"], row["operands"], grids=profile == "official")
    if row["answer"] == right[0]:
        level = row["task"].removeprefix("object_rel_direction_")
        elsewhere = oracle.around(level, row["operands"]) if level in SECTORS and profile == "strict" else set()
        return ["two right"] if len(right) > 1 or elsewhere - {right[0]} else []
    near = row["task"] == "object_abs_distance" and profile == "official"
    if near and abs(float(row["answer"]) - float(right[0])) <= GRID_SLACK_M:
        return ["a decimal off"]
    print(f"wrong: {profile} {row['scene']} {row['task']} {row['operands']}: {row['answer']}, not {right}")
    return ["wrong"]


def _two_right(oracle: OracleScene, row: Mapping[str, Any], profile: str) -> list[str]:
    """Whether another option of a question is right too."""
    right = oracle.answers(row["task"], row["operands"], grids=profile == "official")
    if row["options"]:
        offered = [option.split(". ", 1)[1] for option in row["options"]]
        hits = [text for text in offered if text in right]
    else:
        truth = float(right[0])
        numbers = [choice.split(". ", 1)[-1] for choice in row["choices"] or right]
        hits = [text for text in numbers if abs(float(text) - truth) < NEAR * truth]
    if len(hits) == 1:
        return []
    print(f"{len(hits)} right options: {profile} {row['scene']} {row['text']} {row['options'] or row['choices']}")
    return ["questions with two right" if hits else "questions with none right"]


# Panoramas


def panorama_scenes(root: str, streets: int) -> Iterator[PanoramaScene]:
    """The panoramas of a folder as they are observed; or drawn streets."""
    if not root:
        yield from map(street, range(streets))
        return
    reader, world = READERS["panoramas"], WORLDS["panorama"]
    for ref in reader.scenes(Path(root)).scenes:
        files = SceneFiles(Path(root), ref)
        scene = reader.read(files)
        yield world.observe(scene, reader.geometry(files, scene), world.config())


def panoramas(root: str = "", cap: str = str(CAP)) -> Shown:
    """Questions of drawn streets, until 2,000 of spatial awareness and common sense, or of a folder's panoramas."""
    counts = Counter[str]()
    wrong = 0
    for scene in panorama_scenes(root, 1_000):
        for row in for_oracle(selected_questions(selected(scene, None, int(cap)))):
            if not row["options"]:
                continue
            counts[row["task"]] += 1
            truth = bare(row["options"])["ABCDEFGHIJ".index(row["ground_truth"])]
            found = answers(scene.facts, row)
            if found != [truth]:
                wrong += 1
                yield f"{scene.id}: {row['question']} {row['options']}: {truth}, and the oracle has {found}"
        if not root and sum(counts[task] for task in (*SPATIAL, *COMMON_SENSE)) >= 2_000:
            break
    for task, n in counts.items():
        yield Figure(task, n)
    yield Figure(f"wrong of {counts.total()}", wrong, "", 0)


# Cities

PROOFS: Final = 4_000
SAMPLES: Final = ("arden", "brookfield", "corvale")


def monaco(path: Path) -> CityScene:
    """The extract as a scene, nothing added."""
    with temporary() as root:
        shutil.copy(path, root / path.name)
        reader = READERS["city"]
        (ref,) = reader.scenes(root).scenes
        return reader.read(SceneFiles(root, ref))


def proofs(view: CityView, count: int) -> int:
    """Asks the map where so many drawn wordings lead; gives how many lead to one thing."""
    rng = np.random.default_rng(0)
    low, high = view.centers.min(0), view.centers.max(0)
    nouns = sorted({t.noun for t in view.things if t.kind == "shop"} | {"building", "bench", "fountain"})
    ways = []
    for _ in range(count):
        x, y = rng.uniform(low, high).tolist()
        d, e = rng.integers(4, size=2).tolist()
        ways.append(
            RouteQuery(x, y, (Hop(d, Phrase("building")), Hop(e, Phrase(nouns[int(rng.integers(len(nouns)))]))))
        )
    return int((np.diff(view.query.lead(ways).maybe.indptr) == 1).sum())


def _told(what: str, tasks: list[dict[str, Any]], wrong: list[str]) -> Shown:
    """How many tasks there are, by category and by the words that lead to them, and what is wrong."""
    heads = (*(f"the {axis} of the" for axis in ("north", "east", "south", "west")), "In front of", "Behind", "Across",
             "On the same side", "tallest", "largest", "nearest", "at the corner")  # fmt: skip
    ways = [row["question"].partition("Please tell me")[0] for row in tasks]
    yield f"{what}: {dict(Counter(row['category'] for row in tasks))}"
    yield f"  words: { {head: sum(head in way for way in ways) for head in heads} }"
    yield from wrong
    yield Figure(f"{what}: wrong of {len(tasks)} tasks", len(wrong), "", 0)


def cities(path: str = str(REAL_DATA / "city" / "monaco.osm.gz")) -> Shown:
    """Tasks of Monaco, answered again, and proofs of where drawn wordings lead."""
    reading, scene = timed(lambda: monaco(Path(path)))
    yield Figure("Monaco read", reading.cpu_s, "s", 10.0)
    rules = CityRules(raw_tasks_per_category=4, starts_min=1, starts_max=1, sides_min=1)  # starts take the most time
    asking, (tasks, refused) = timed(lambda: tasks_of(scene, rules))
    yield Figure(f"its {len(tasks)} tasks, {len(refused)} refused", asking.cpu_s, "s", 25.0)
    yield from _told("Monaco", tasks, ill_answered(scene, tasks))
    view = CityView(scene, CityRules())
    yield Figure("relations of all its things", timed(lambda: view.query.steps(0))[0].cpu_s, "s", 5.0)
    fewer = None
    for count in (PROOFS // 4, PROOFS):
        cost, lone = timed(lambda count=count: proofs(view, count))
        yield Figure(f"{count} proofs, {lone} lead to one thing", cost.cpu_s, "s", 10.0, baseline=fewer)
        fewer = cost.cpu_s
