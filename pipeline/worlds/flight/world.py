"""The world of drone flights."""

from typing import Final

from pipeline.worlds.flight.bev_video import drawn, sight, spatial, top_down_map
from pipeline.worlds.flight.facts import Flight
from pipeline.worlds.flight.fixes import FIXES, drafts, fix_flight
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.episodes import OpenFlyReader
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.world import DescribeSteps, SceneDescriber, World


def _looking() -> DescribeSteps[Flight]:
    from pipeline.worlds.flight.look.look import LOOKING

    return LOOKING


FLIGHT: Final = World(
    name="flight",
    units="flights",
    facts=Flight,
    readers=(
        Flights(),
        OpenFlyReader(),
    ),
    config=MotionConfig,
    observe=observe_flight,
    visibility=sight,
    fixes=FIXES,
    fix=fix_flight,
    drafts=drafts,
    quick=(Flights.name, OpenFlyReader.name),
    bulky=("motion",),
    top_down_map=top_down_map,
    spatial=spatial,
    bev_video=drawn,
    looker=SceneDescriber("pipeline.worlds.flight.look.look", ("look_crop",), _looking),
)
