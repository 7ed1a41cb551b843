"""The world of cities."""

from typing import Final

from pipeline.core.schema import Limits
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.pictures import photographs, sight, top_down_map
from pipeline.worlds.city.readers.city import Cities
from pipeline.worlds.world import World


class CityConfig(Limits):
    """Nothing of a city is observed ahead: grids and rays are made where a question needs them."""


CITY: Final = World(
    name="city",
    units="cities",
    facts=City,
    readers=(Cities(),),
    config=CityConfig,
    visibility=sight,
    quick=(Cities.name,),
    bulky=("things", "streets"),
    top_down_map=top_down_map,
    pictures=photographs,
)
