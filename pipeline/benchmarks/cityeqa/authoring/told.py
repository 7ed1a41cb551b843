"""What a model is told of a thing of a city: what the map says, and what stands around it."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.questions.model_authoring import quoted

AROUND_M: Final = 40.0
AROUND: Final = 12  # things, the nearest
_OF: Final = {
    "name": "name",
    "sign": "what can be read there",
    "colour": "colour",
    "roof_colour": "colour of the roof",
    "roof_shape": "shape of the roof",
    "height_m": "height in metres",
    "levels": "storeys",
}


def facts(view: CityView, i: int) -> list[str]:
    """The lines about a thing. Names from files are `quoted`."""
    thing = view.things[i]
    found = [f"sort: {thing.noun}"]
    for name, said in _OF.items():
        value = getattr(thing, name)
        if value is not None:
            found.append(f"{said}: {quoted(value) if name in ('name', 'sign') else value}")
    if thing.on is not None and thing.on in view.index:
        found.append(f"it is in: {view.things[view.index[thing.on]].noun}")
    near = view.around(i, AROUND_M)
    away = view.distance_m(i, near)
    for k in np.argsort(away, kind="stable")[:AROUND].tolist():
        other = view.things[int(near[k])]
        if other.id != thing.on:
            read = view.read(int(near[k]))
            found.append(f"around: {other.noun}{f' {quoted(read)}' if read else ''}, {away[k]:.0f} m away")
    return found
