"""Panoramas made by hand: facts alone, no pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.benchmarks.ergeobench.columns import table, view_directions
from pipeline.benchmarks.ergeobench.images import shown_in
from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.schema import Origin, Source
from pipeline.core.tables import selected_questions
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
    return selected_questions(selected(panorama, rules, cap)).to_pylist()


def selected(panorama: PanoramaScene, rules: ErgeoRules | None = None, cap: int = 24) -> Any:
    """Questions and rejections of a panorama (`tables.SELECTED`)."""
    import pyarrow as pa

    return select(pa.concat_tables(tables(panorama, rules)), dict(ERGEO_TASKS), cap)


def for_oracle(asked: Any) -> list[dict[str, Any]]:
    """Released rows of questions, each with where its pictures look, which `provenance` alone tells."""
    rows = zip(table(asked, ()).to_pylist(), asked.to_pylist(), strict=True)
    return [row | {"views": view_directions(shown_in(raw))} for row, raw in rows]


def tables(panorama: PanoramaScene, rules: ErgeoRules | None = None, names: Sequence[str] = ()) -> list[Any]:
    """The candidates of the named tasks, or of all."""
    view = ErgeoView(panorama, rules or ErgeoRules())
    return [ERGEO_TASKS[name].candidates(view) for name in names or ERGEO_TASKS]
