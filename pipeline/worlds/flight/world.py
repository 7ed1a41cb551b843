"""The world of drone flights."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pipeline.core.extras import need
from pipeline.worlds.flight.drawn import drawn
from pipeline.worlds.flight.facts import Flight, FlightScene
from pipeline.worlds.flight.fixes import FIXES, drafts, fix_flight
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.episodes import Episodes
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.flight.sight import BULKY, UNITS, sight
from pipeline.worlds.flight.sketch import sketch
from pipeline.worlds.flight.spatial import spatial
from pipeline.worlds.world import Looker, Samples, World


def _write_samples(folder: Path) -> None:
    need("scans", "writing sample flights")  # they are drawn with Open3D
    from pipeline.worlds.flight.samples.write import write_flights  # with Open3D: seconds

    write_flights(folder / Flights.name)


def _prompts() -> dict[str, str]:
    from pipeline.llm.prompts import load_prompt
    from pipeline.worlds.flight.look.question import PROMPT

    return {PROMPT: load_prompt(PROMPT).version}


def _look(*terms: Any) -> FlightScene:
    from pipeline.worlds.flight.look.look import look_at_flight  # pictures and prompts, which few builds need

    return look_at_flight(*terms)


def _calls(scene: FlightScene, most: int) -> int:
    from pipeline.worlds.flight.look.look import calls

    return calls(scene, most)


def _is_whole(scene: FlightScene) -> bool:
    from pipeline.worlds.flight.look.look import is_whole

    return is_whole(scene)


FLIGHT: Final = World(
    name="flight",
    units=UNITS,
    facts=Flight,
    readers=(
        Flights(),
        Episodes(),
    ),
    config=MotionConfig,
    observe=observe_flight,
    samples=Samples(_write_samples, (Flights.name,)),
    sight=sight,
    fixes=FIXES,
    fix=fix_flight,
    drafts=drafts,
    quick=(Flights.name, Episodes.name),
    bulky=BULKY,
    sketch=sketch,
    spatial=spatial,
    drawn=drawn,
    looker=Looker("pipeline.worlds.flight.look.look", _prompts, _look, _calls, _is_whole),
)
