"""The world of drone flights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline.worlds.flight.facts import Flight, FlightScene
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.episodes import Episodes
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.flight.samples.write import write_flights
from pipeline.worlds.world import Samples, World


def _write_samples(folder: Path) -> None:
    write_flights(folder / Flights.name)


def _sight(scenes: Sequence[FlightScene]) -> list[str]:
    return [
        f"- What the {len(scenes)} flights do and see comes from their logs and maps, not from their pictures. Where",
        "  these do not tell what is in view, questions carry the remark `sight_unknown`. What a model wrote",
        "  carries `model_assisted`.",
    ]


FLIGHT: Final = World(
    name="flight",
    units="flights",
    facts=Flight,
    readers=(Flights(), Episodes()),
    config=MotionConfig,
    observe=observe_flight,
    samples=Samples(_write_samples, (Flights.name,)),
    sight=_sight,
    bulky=("motion",),
)
