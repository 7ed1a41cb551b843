"""The public columns of ERGeoBench. The paper released none; these are ours."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.benchmark import Card
from pipeline.benchmarks.ergeobench.hypothesis import PARTS, country
from pipeline.benchmarks.ergeobench.images import EMBODIED, PANORAMA, PictureRef, file_of, shown_in
from pipeline.benchmarks.ergeobench.rules import DIMENSION_OF, GEO, SETTINGS
from pipeline.core.templates import load_table
from pipeline.geometry.views import PinholeView
from pipeline.questions.published import Columns

OUT_OF_DISTRIBUTION: Final = "out_of_distribution"  # flag
OUT_OF: Final = ", out of distribution"  # ending of the type of a question of that set
LEVELS: Final = ("country", "city", "street")
_VIEW: Final = pa.struct([pa.field(name, pa.float64()) for name in ("yaw_deg", "pitch_deg", "fov_deg")])
_TEXT, _TEXTS, _DEGREES = pa.string(), pa.list_(pa.string()), pa.float64()
SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        *((name, _TEXT) for name in ("dataset", "panorama", "dimension", "task", "setting", "form", "question")),
        ("options", _TEXTS),
        ("ground_truth", _TEXT),
        ("images", _TEXTS),
        ("views", pa.list_(_VIEW)),
        *((level, _TEXT) for level in LEVELS),
        ("lat", _DEGREES),
        ("lon", _DEGREES),
        ("out_of_distribution", pa.bool_()),
    ]
)


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The released table (`SCHEMA`) of questions (`core.tables.QUESTIONS`)."""
    return pa.Table.from_pylist([_public(row) for row in asked.to_pylist()], schema=SCHEMA)


def _public(row: Mapping[str, Any]) -> dict[str, Any]:
    dataset, _, name = row["scene"].partition("/")
    place = json.loads(row["answer"]) if row["task"] in GEO else {}
    shots = shown_in(row)
    options = row["options"]
    is_statement = options is not None and {o.partition(". ")[2] for o in options} == {"True", "False"}
    return {
        "id": row["id"],
        "dataset": dataset,
        "panorama": name,
        "dimension": DIMENSION_OF[row["task"]],
        "task": row["task"],
        "setting": setting_of(row),
        "form": "open" if options is None else "true_false" if is_statement else "choice",
        "question": row["text"],
        "options": options,
        "ground_truth": row["ground_truth"],
        "images": [file_of(row["scene"], shown) for shown in shots],
        # Where others look says, with their texts alone, where the things are that they name.
        "views": view_directions(shots) if row["task"] in GEO else None,
        **{level: place.get(level) for level in (*LEVELS, "lat", "lon")},
        "out_of_distribution": OUT_OF_DISTRIBUTION in (row["flags"] or ()),
    }


def view_directions(shots: Iterable[PictureRef]) -> list[dict[str, float] | None]:
    """Where pictures look, as the column `views` has it."""
    return [s.model_dump(include={f.name for f in _VIEW}) if isinstance(s, PinholeView) else None for s in shots]


def setting_of(row: Mapping[str, Any]) -> str:
    """The setting of a question: of geo-localization the paper's, else the part of the panorama that is shown."""
    flags = row["flags"] or ()
    return SETTINGS.get(row["task"]) or (EMBODIED if EMBODIED in flags else PANORAMA if PANORAMA in flags else "views")


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row; None for a row with other columns."""
    if not {"panorama", "dimension", "task"} <= set(raw):
        return None
    question_type = raw["task"]
    if raw.get("out_of_distribution") and question_type in GEO:
        question_type = f"{question_type}{OUT_OF}"
    return {
        "id": raw.get("id"),
        "dataset": raw.get("dataset"),
        "scene_name": raw["panorama"],
        "question_type": question_type,
        "question": raw.get("question"),
        "options": raw.get("options"),
        "ground_truth": raw.get("ground_truth"),
    }


def _countries(asked: pa.Table) -> Counter[tuple[Any, ...]]:
    """Number of panoramas by the country that their answers name."""
    answers = asked.filter(pc.is_in(asked["task"], pa.array(GEO))).select(["scene", "answer"]).to_pylist()
    countries = {row["scene"]: str(json.loads(row["answer"])["country"]).split(PARTS)[0] for row in answers}
    return Counter((name,) for name in countries.values())


def distribution(remarks: Counter[tuple[Any, ...]]) -> list[str]:
    """How many panoramas lie on which continent and in which country, a line for each continent."""
    names = {country(name): code for code, name in load_table("maps/countries")["names"].items()}
    continents = {code: name for name, codes in load_table("maps/countries")["continents"].items() for code in codes}
    counts = {(continents.get(names.get(country(name), ""), "elsewhere"), name): n for (name,), n in remarks.items()}
    lines = []
    for continent in sorted({own for own, _ in counts}):
        own = sorted((-n, name) for (there, name), n in counts.items() if there == continent)
        told_of = ", ".join(f"{name} {-n}" for n, name in own)
        lines.append(f"{continent}: {-sum(n for n, _ in own)} of {remarks.total()} panoramas ({told_of}).")
    return lines


COLUMNS: Final = Columns(SCHEMA, table, row, load_table("ergeobench/release")["columns"])
CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"too_many_pairs"}),
    counts=_countries,
    remarks=distribution,
    **load_table("ergeobench/release")["card"],
)
