"""The command `scan2qa places`: where to take or fetch panoramas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from rich.table import Table

from flows.cli.output.console import console, errors, stop_spinner
from flows.cli.output.tables import print_table
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import write_atomically
from pipeline.places import PlaceCity, Spot, as_csv, as_geojson, choose, country_codes, km_between, largest, read_cities
from pipeline.reading.maps.gazetteer import Gazetteer, read_gazetteer, stamped

NEAREST: Final = 3  # cities that a message names


def places(
    maps: Sequence[Path],
    out: Path,
    table: Path | None,
    top: int,
    radius_km: float,
    spacing_m: float,
    per_city: int,
    excluded: Sequence[str],
) -> bool:
    """Writes the best places of the largest cities on some maps: places.csv, places.geojson and places.png.

    Returns:
        Whether every map could be read.
    """
    require_extra("flights", "places")  # reads maps of OpenStreetMap and draws
    cities = largest(read_cities(table), top, country_codes(excluded))
    known, sound = _roads(maps)
    spots = [
        spot
        for city in _on(cities, known, radius_km)
        for spot in choose(city, known.roads, radius_km * 1000.0, spacing_m, per_city)
    ]
    if not spots:
        raise ConfigError(_why_none(cities, known, radius_km))
    from flows.cli.plots import places_png  # matplotlib takes a second to start

    write_atomically(out / "places.csv", as_csv(spots))
    write_atomically(out / "places.geojson", as_geojson(spots))
    write_atomically(out / "places.png", places_png(spots, known, radius_km * 1000.0))
    stop_spinner()
    print_table(_summary(spots))
    console.print(f"{len(spots)} places: {out / 'places.csv'}, places.geojson, places.png", soft_wrap=True)
    return sound


def _roads(maps: Sequence[Path]) -> tuple[Gazetteer, bool]:
    try:
        known, findings = read_gazetteer(tuple(stamped(path) for path in maps))
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from error
    for finding in findings:
        errors.print(f"{finding.name}: {finding.message}. Remedy: {finding.remedy}", soft_wrap=True)
    if not known.roads:
        raise ConfigError(f"{', '.join(map(str, maps))}: no roads with names; give extracts of OpenStreetMap")
    return known, not any(finding.severity == "doubt" for finding in findings)


def _on(cities: Sequence[PlaceCity], known: Gazetteer, radius_km: float) -> list[PlaceCity]:
    """The cities with a road within their radius."""
    nodes = np.concatenate([road.lat_lon for road in known.roads])
    return [city for city in cities if (km_between(nodes, city.lat_deg, city.lon_deg) <= radius_km).any()]


def _why_none(cities: Sequence[PlaceCity], known: Gazetteer, radius_km: float) -> str:
    lat, lon = np.concatenate([road.lat_lon for road in known.roads]).mean(0).tolist()
    away = km_between(np.array([(city.lat_deg, city.lon_deg) for city in cities]).reshape(-1, 2), lat, lon)
    near = ", ".join(f"{cities[i].name} ({away[i]:.0f} km)" for i in np.argsort(away)[:NEAREST].tolist())
    told = f"the nearest are {near}" if near else "there is none"
    return (
        f"none of the {len(cities)} cities has a road of these maps within {radius_km:g} km: {told}. "
        "Give a higher --top, or a table of your own with --cities"
    )


def _summary(spots: Sequence[Spot]) -> Table:
    table = Table("city", "people", "places", "best", "least", "nearest two (m)", title="Places", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for city in dict.fromkeys(spot.city for spot in spots):
        own = [spot for spot in spots if spot.city == city]
        at = np.array([(spot.lat_deg, spot.lon_deg) for spot in own])
        gaps = [float(km_between(at[i + 1 :], *at[i]).min()) * 1000 for i in range(len(own) - 1)]
        table.add_row(
            f"{city.name}, {city.country_code}",
            f"{city.population:,}",
            str(len(own)),
            f"{own[0].score:.3f}",
            f"{own[-1].score:.3f}",
            f"{min(gaps):.0f}" if gaps else "",
        )
    return table
