"""The public columns of ERGeoBench. The paper released none; these are ours."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.ergeobench.dimensions import DIMENSION_OF, GEO, SETTINGS
from pipeline.benchmarks.ergeobench.images import EMBODIED, PANORAMA, file_of, shown_in
from pipeline.geometry.views import View
from pipeline.questions.published import Columns

OUT_OF_DISTRIBUTION: Final = "out_of_distribution"  # flag
OUT_OF: Final = ", out of distribution"  # ending of the type of a question of that set
LEVELS: Final = ("country", "city", "street")
_VIEW: Final = pa.struct([pa.field(name, pa.float64()) for name in ("yaw_deg", "pitch_deg", "fov_deg")])
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("dataset", pa.string()),
        pa.field("panorama", pa.string()),
        pa.field("dimension", pa.string()),
        pa.field("task", pa.string()),
        pa.field("setting", pa.string()),
        pa.field("form", pa.string()),
        pa.field("question", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        pa.field("ground_truth", pa.string()),
        pa.field("images", pa.list_(pa.string())),
        pa.field("views", pa.list_(_VIEW)),
        *(pa.field(name, pa.string()) for name in LEVELS),
        pa.field("lat", pa.float64()),
        pa.field("lon", pa.float64()),
        pa.field("out_of_distribution", pa.bool_()),
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
    return {
        "id": row["id"],
        "dataset": dataset,
        "panorama": name,
        "dimension": DIMENSION_OF[row["task"]],
        "task": row["task"],
        "setting": setting_of(row),
        "form": "open" if options is None else "true_false" if _is_true_false(options) else "choice",
        "question": row["text"],
        "options": options,
        "ground_truth": row["ground_truth"],
        "images": [file_of(row["scene"], shown) for shown in shots],
        "views": [
            {"yaw_deg": s.yaw_deg, "pitch_deg": s.pitch_deg, "fov_deg": s.fov_deg} if isinstance(s, View) else None
            for s in shots
        ],
        **{level: place.get(level) for level in (*LEVELS, "lat", "lon")},
        "out_of_distribution": OUT_OF_DISTRIBUTION in (row["flags"] or ()),
    }


def setting_of(row: Mapping[str, Any]) -> str:
    """What of the panorama goes with a question: of geo-localization the paper's setting, else what is shown."""
    flags = row["flags"] or ()
    return SETTINGS.get(row["task"]) or (EMBODIED if EMBODIED in flags else PANORAMA if PANORAMA in flags else "views")


def _is_true_false(options: Collection[str]) -> bool:
    return {option.partition(". ")[2] for option in options} == {"True", "False"}


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


SAID: Final = {
    "id": "of the question; the key of all other tables",
    "dataset": "whose panorama it is about",
    "panorama": "its name there",
    "dimension": "one of the four of ERGeoBench",
    "task": "within the dimension",
    "setting": "of geo-localization single, panorama or embodied; else what is shown: views or panorama",
    "form": "open, choice or true_false",
    "question": "its text",
    "options": '"A. …" in order; null where it is open',
    "ground_truth": "the right letter; of geo-localization a JSON object of country, city, street, lat and lon",
    "images": "what is shown, in order, below the release; of the embodied setting what its environment renders from",
    "views": "where each looks: yaw clockwise from the panorama's middle column; null: the whole panorama",
    "country": "of geo-localization; several names are parted by semicolons, any is right",
    "city": "likewise; null: not known surely",
    "street": "likewise; null: not known surely",
    "lat": "degrees WGS84, as far as location_precision_m lets them be published",
    "lon": "likewise",
    "out_of_distribution": "whether the panorama is of the set by tag",
}
COLUMNS: Final = Columns(SCHEMA, table, row, SAID)
