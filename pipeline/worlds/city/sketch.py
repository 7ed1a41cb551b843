"""A city from above."""

from __future__ import annotations

from pipeline.core.sketch import Sketch, Thing
from pipeline.worlds.city.facts import CityScene


def sketch(scene: CityScene) -> Sketch:
    """The city as a map: east to the right, north up."""
    city = scene.facts
    things = tuple(Thing(label=t.name or t.noun, outline=t.outline or (t.center,)) for t in city.things)
    return Sketch(ground=(city.bounds,) if city.bounds else (), things=things)
