"""The world of cities."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pipeline.core.schema import Model
from pipeline.worlds.city.facts import City, CityScene
from pipeline.worlds.city.photos import photographs
from pipeline.worlds.city.readers.city import Cities
from pipeline.worlds.city.sight import BULKY, UNITS, sight
from pipeline.worlds.city.sketch import sketch
from pipeline.worlds.world import Samples, World


class CityConfig(Model):
    """Nothing of a city is observed ahead: grids and rays are made where a question needs them."""


def observe_city(scene: CityScene, geometry: None, config: CityConfig) -> CityScene:
    """The scene as it is."""
    return scene


def _write_samples(folder: Path) -> None:
    from pipeline.worlds.city.samples.write import write_cities

    write_cities(folder / Cities.name)


CITY: Final = World(
    name="city",
    units=UNITS,
    facts=City,
    readers=(Cities(),),
    config=CityConfig,
    observe=observe_city,
    samples=Samples(_write_samples, (Cities.name,)),
    sight=sight,
    quick=(Cities.name,),
    bulky=BULKY,
    sketch=sketch,
    pictures=photographs,
)
