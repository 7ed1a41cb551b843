"""Panoramas made by hand: facts alone, no pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.schema import Origin, Source
from pipeline.core.tables import asked_in
from pipeline.questions.selection import select
from pipeline.worlds.panorama.facts import Panorama, PanoramaObject, PanoramaPicture, PanoramaScene, Place

SOURCE = Source(reader="panoramas", reader_version=1, files=(), sha256="0" * 64)
PICTURE = PanoramaPicture(path="pano.jpg", width=4096, height=2048, sha256="0" * 64)
COLOURS = ("red", "blue", "green", "white")
KINDS = ("pharmacy", "bakery", "cafe", "bank", "hotel", "books", "bar", "florist", "optician", "supermarket")
UNIQUE = {
    "fountain": "Infrastructure", "phone box": "Infrastructure", "bus stop": "Infrastructure", "statue": "Architecture",
    "church tower": "Architecture", "clock": "Architecture", "palm": "Vegetation", "hedge": "Vegetation",
    "flower bed": "Vegetation", "manhole": "Terrain", "puddle": "Terrain", "slope": "Terrain", "road sign": "Signage",
}  # fmt: skip
REPEATED = {"car": "Infrastructure", "tree": "Vegetation", "house": "Architecture", "lamp": "Infrastructure"}


def seen(key: str, yaw_deg: float, label: str = "fountain", **changes: Any) -> PanoramaObject:
    """An object 8 degrees wide about the horizon, 15 m away."""
    own: dict[str, Any] = {
        "id": key, "label": label, "slot": "Infrastructure", "yaw_deg": (yaw_deg + 180) % 360 - 180, "width_deg": 8.0,
        "pitch_low_deg": -4.0, "pitch_high_deg": 4.0, "distance_m": 15.0, "visible_share": 1.0,
    }  # fmt: skip
    return PanoramaObject(**(own | changes))


def scene(*objects: PanoramaObject, name: str = "p1", **changes: Any) -> PanoramaScene:
    """A panorama in Monaco of which all objects are known."""
    place = Place(
        country="Monaco", country_code="MC", country_border_m=300, city="Monaco", city_border_m=300,
        street="Boulevard Albert 1er", street_m=3, next_street="Quai Antoine Ier", next_street_m=43, gap_m=40,
    )  # fmt: skip
    own: dict[str, Any] = {
        "picture": PICTURE, "position": Origin(lat_deg=43.734712, lon_deg=7.420612, alt_m=None), "heading_deg": 37.0,
        "objects": tuple(sorted(objects, key=lambda o: o.id)), "complete": tuple(sorted({o.label for o in objects})),
        "place": place,
    }  # fmt: skip
    return PanoramaScene(id=f"made/{name}", dataset="made", name=name, source=SOURCE, facts=Panorama(**(own | changes)))


FOUNTAIN = seen("a", 0.0)


def street(seed: int) -> PanoramaScene:
    """A drawn street: things once, things several times in some colour, and places with signs; some hide others."""
    rng = np.random.default_rng(seed)
    objects: list[PanoramaObject] = []

    def add(label: str, slot: str, **more: Any) -> None:
        width, height, middle = rng.uniform(3, 14), rng.uniform(3, 16), rng.uniform(-6, 8)
        own = {
            "slot": slot,
            "width_deg": float(width),
            "pitch_low_deg": float(middle - height / 2),
            "pitch_high_deg": float(middle + height / 2),
            "distance_m": float(rng.uniform(3, 60)),
            "visible_share": float(rng.uniform(0.4, 1.0)),
        }
        objects.append(seen(f"o{len(objects):03}", float(rng.uniform(-180, 180)), label, **own, **more))

    for label in rng.permutation(list(UNIQUE))[:9].tolist():
        add(label, UNIQUE[label])
    for label, slot in REPEATED.items():
        for _ in range(int(rng.integers(2, 7))):
            add(label, slot, attributes={"colour": COLOURS[int(rng.integers(len(COLOURS)))]})
    for kind in rng.choice(list(KINDS), 7).tolist():
        sign = "".join(rng.choice(list("abdegiklmnorst"), 6)).title()
        add(f"{kind} sign", "Signage", kind=kind, name=sign)
    return scene(*objects, name=f"street{seed}")


def asked(panorama: PanoramaScene, rules: ErgeoRules | None = None, cap: int = 24) -> list[dict[str, Any]]:
    """The questions of a panorama (`tables.QUESTIONS`)."""
    return asked_in(selected(panorama, rules, cap)).to_pylist()


def selected(panorama: PanoramaScene, rules: ErgeoRules | None = None, cap: int = 24) -> Any:
    """Questions and rejections of a panorama (`tables.SELECTED`)."""
    import pyarrow as pa

    return select(pa.concat_tables(tables(panorama, rules)), dict(ERGEO_TASKS), cap)


def tables(panorama: PanoramaScene, rules: ErgeoRules | None = None, names: Sequence[str] = ()) -> list[Any]:
    """The candidates of the named tasks, or of all."""
    view = ErgeoView(panorama, rules or ErgeoRules())
    return [ERGEO_TASKS[name].candidates(view) for name in names or ERGEO_TASKS]


MODELS = (
    "GPT-4o", "Gemini-2.0 Flash", "Gemini-2.5 Pro", "Gemini-3 Flash", "Qwen-VL Max", "Qwen2.5-7B", "Qwen3-8B",
    "InternVL2.5-8B", "InternVL3-8B",
)  # fmt: skip
# Per setting the lines street, city, country, acc. at 1, 25, 200, 750, 2500 km, median error, GLS; a column per model.
TABLE_2 = {
    "single": """
        1.86 3.03 4.79 5.36 0.32 1.93 0.82 1.41 1.00
        46.21 48.65 48.92 50.54 21.71 17.61 16.98 8.93 25.42
        84.16 87.37 94.28 80.09 66.35 45.40 71.07 48.72 68.82
        4.99 6.46 11.50 15.01 5.25 1.61 7.36 3.74 4.69
        63.91 69.02 70.74 73.99 37.95 27.73 36.38 19.85 42.07
        68.85 76.16 80.53 81.70 42.20 30.73 41.37 21.39 45.53
        85.43 91.29 92.76 93.83 62.69 39.56 64.12 35.04 59.17
        94.38 97.80 98.24 98.66 82.23 50.48 84.56 53.08 71.39
        7.53 7.00 8.09 7.29 402.19 522.92 403.42 1237.39 330.28
        61.98 64.50 65.93 65.54 38.32 29.49 38.59 24.80 39.24""",
    "panorama": """
        2.59 5.04 5.29 6.45 0.63 1.05 1.00 1.59 1.63
        54.03 50.93 52.03 54.51 29.53 26.69 28.20 14.11 28.52
        92.71 89.23 96.33 81.83 75.44 58.14 84.88 68.06 75.55
        7.58 7.15 15.97 20.87 7.28 2.90 9.51 5.22 13.64
        75.50 72.82 75.45 78.21 47.44 38.11 51.65 27.72 47.21
        80.68 80.26 84.91 85.98 52.46 41.11 57.63 30.85 51.46
        93.11 93.54 96.03 96.12 72.46 48.97 79.76 49.50 65.01
        98.78 98.82 99.51 99.80 88.56 58.99 94.39 68.42 75.29
        6.06 6.52 6.81 5.71 121.74 18.35 15.09 760.40 176.95
        67.06 66.18 68.28 68.19 46.76 45.58 56.19 32.43 44.48""",
    "embodied": """
        4.30 5.77 6.40 8.83 0.50 2.24 1.10 1.69 2.66
        55.08 52.69 53.45 53.41 24.98 19.85 22.45 16.63 29.76
        92.33 90.22 99.01 81.24 73.44 48.66 78.10 66.56 74.22
        9.73 9.09 16.75 22.96 7.24 2.29 8.69 4.79 7.62
        76.10 74.34 74.38 79.14 43.67 30.95 44.03 28.56 46.68
        80.99 81.92 84.98 85.62 48.55 34.53 49.29 32.17 50.66
        93.11 95.01 98.03 95.63 67.96 43.58 71.70 51.20 65.10
        98.63 99.12 99.26 98.82 86.92 54.13 89.44 72.05 76.71
        5.99 6.30 6.67 4.85 261.18 269.64 229.04 666.55 192.68
        67.55 67.13 69.02 68.81 42.54 33.38 43.87 33.46 43.91""",
}
MODELS_3 = (
    "GPT-4o", "Gemini-3 Flash", "Gemini-2.0 Flash", "Gemini-2.5 Pro", "Qwen-VL Max", "Qwen2.5-7B", "Qwen3-8B",
    "InternVL2.5-8B", "InternVL3-8B",
)  # fmt: skip
# Per dimension its lines, the average last.
TABLE_3 = {
    "Foundational Perception": """
        76.30 68.29 72.68 73.78 71.85 54.52 65.68 60.57 64.06
        85.70 72.30 70.99 64.42 81.96 57.16 75.19 75.59 74.30
        77.93 61.23 60.34 54.44 78.17 59.84 63.71 68.74 70.63
        93.49 59.11 67.33 83.44 93.84 73.94 79.52 75.74 94.03
        80.46 70.94 74.08 75.21 79.69 62.13 67.05 66.60 76.93
        82.78 66.37 69.08 70.26 81.10 61.52 70.23 69.45 75.99""",
    "Spatial Awareness": """
        31.24 12.84 39.91 14.83 33.76 24.15 40.32 28.42 33.81
        24.87 17.92 29.73 19.56 21.84 9.22 19.68 3.50 9.77
        59.68 44.67 64.58 49.72 62.91 55.74 64.73 60.78 54.03
        55.43 59.38 69.82 56.28 63.58 59.02 64.89 55.21 58.47
        64.92 59.72 79.36 69.45 77.69 72.63 77.54 67.31 66.71
        53.76 54.81 69.54 59.81 66.83 62.50 66.71 60.10 63.82
        17.15 9.87 14.89 11.67 15.92 17.08 13.85 20.83 18.69
        43.86 37.03 52.55 40.19 48.93 42.91 49.67 42.31 43.61""",
    "Common Sense": """
        55.46 51.78 96.31 52.87 33.61 59.70 79.92 51.23 65.98
        38.38 31.13 49.44 32.06 34.11 50.37 53.62 47.77 55.76
        33.31 28.15 36.40 29.78 31.29 41.57 32.98 39.66 36.80
        42.38 37.02 60.72 38.24 33.00 50.55 55.51 46.22 52.85""",
}
