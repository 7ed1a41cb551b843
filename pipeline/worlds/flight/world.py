"""The world of drone flights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pipeline.worlds.flight.bev_video import drawn, spatial, top_down_map
from pipeline.worlds.flight.facts import Flight
from pipeline.worlds.flight.fixes import FIXES, drafts, fix_flight
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.episodes import OpenFlyReader
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.world import Looker, Looking, World


def sight(flights: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the videos show, in lines of Markdown."""
    return [
        f"- Facts about the {flights} flights come from logs and maps, not from pictures. Questions name landmarks",
        "  only where these show them to be in view. Questions that a model wrote carry `model_assisted`, and",
        "  `look_from_pictures` where it looked at landmarks in pictures of the video.",
    ]


def _looking() -> Looking[Flight]:
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
    looker=Looker("pipeline.worlds.flight.look.look", ("look_crop",), _looking),
)
