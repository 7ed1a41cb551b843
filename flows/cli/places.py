"""The command `scan2qa places`: where to take or fetch panoramas."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from rich.table import Table

from flows.cli.output.console import console, errors, stop_spinner
from flows.cli.output.tables import numbers, print_table
from pipeline.core.csv_tables import csv_bytes, read_csv
from pipeline.core.errors import ConfigError, RawDataError, require_extra
from pipeline.core.files import write_atomically
from pipeline.places import (
    CaptureSpot,
    PlaceCity,
    as_csv,
    as_geojson,
    balanced,
    choose,
    country_codes,
    km_between,
    largest,
    read_cities,
)
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
    most: int | None = None,
) -> bool:
    """Writes the best places of the largest cities on some maps: places.csv, places.geojson and places.png.

    With ``most`` that many of them, balanced by country and type of scene.

    Returns:
        Whether every map could be read.
    """
    if tables := [path for path in maps if path.suffix == ".csv"]:
        raise ConfigError(
            f"{tables[0]}: no map; to check the places of a table, give --check and a folder of panoramas"
        )
    require_extra("flights", "places")  # reads maps of OpenStreetMap and draws
    cities = largest(read_cities(table), top, country_codes(excluded))
    known, sound = _roads(maps)
    spots = [
        spot
        for city in _with_roads(cities, known, radius_km)
        for spot in choose(city, known.roads, radius_km * 1000.0, spacing_m, per_city)
    ]
    if not spots:
        raise ConfigError(_why_none(cities, known, radius_km))
    spots = spots if most is None else balanced(spots, most)
    from flows.cli.plots import places_png  # matplotlib takes a second to start

    write_atomically(out / "places.csv", as_csv(spots))
    write_atomically(out / "places.geojson", as_geojson(spots))
    write_atomically(out / "places.png", places_png(spots, known, radius_km * 1000.0))
    stop_spinner()
    print_table(_summary(spots))
    console.print(f"{len(spots)} places: {out / 'places.csv'}, places.geojson, places.png")
    return sound


WITHIN_M: Final = 25.0  # of a place, that a panorama stands for it
ADDED: Final = ("panorama", "away_m", "usable")  # columns


def check_places(table: Path, root: Path, out: Path) -> bool:
    """Adds to chosen places which panorama of a folder was taken there, how far off, and whether it is usable.

    Returns:
        Whether each place has a usable one.
    """
    from pipeline.reading.files import SceneFiles
    from pipeline.worlds.panorama.facts import PanoramaConfig
    from pipeline.worlds.panorama.observe.panorama import observe_panorama
    from pipeline.worlds.panorama.readers.panoramas import Panoramas

    remedy = "give places.csv of scan2qa places"
    rows = read_csv(table, ("lat_deg", "lon_deg"), remedy)
    try:
        at = np.array([(float(row["lat_deg"]), float(row["lon_deg"])) for row in rows]).reshape(-1, 2)
    except ValueError as error:
        raise ConfigError(f"{table}: no table of places ({error}); {remedy}") from error
    if not rows:
        raise ConfigError(f"{table}: it holds no place; {remedy}")
    reader, found, why = Panoramas(), dict[int, tuple[float, str]](), dict[str, str]()
    for ref in reader.scenes(root).scenes:
        files = SceneFiles(root, ref)
        try:
            scene = reader.read(files)
            position = scene.facts.position
            away = (
                np.full(len(rows), np.inf)
                if position is None
                else 1000 * km_between(at, position.lat_deg, position.lon_deg)
            )
            if away.min() > WITHIN_M:
                continue
            faults = [
                f.name
                for f in observe_panorama(scene, reader.geometry(files, scene), PanoramaConfig()).findings
                if f.severity == "fault"
            ]
        except RawDataError as error:
            errors.print(f"{error}", soft_wrap=True)
            continue
        why[ref.id] = ", ".join(faults) or "yes"
        for n in np.flatnonzero(away <= WITHIN_M).tolist():  # a usable one before one that is not, then the nearest
            found[n] = min(
                found.get(n, (np.inf, "")), (float(away[n]), ref.id), key=lambda own: (why.get(own[1]) != "yes", own)
            )
    for n, row in enumerate(rows):
        away_m, name = found.get(n, (np.nan, ""))
        row |= dict(zip(ADDED, (name, f"{away_m:.1f}" if name else "", why.get(name, "no panorama")), strict=True))
    write_atomically(out / "places.csv", csv_bytes([*rows[0]], ([row[name] for name in rows[0]] for row in rows)))
    counts = Counter((row.get("country") or row.get("country_code") or "", row["usable"]) for row in rows)
    listing = Table("country", "places", "usable", "not usable", "no panorama", title="Panoramas at the places")
    for name in sorted({name for name, _ in counts}):
        own = {said: n for (other, said), n in counts.items() if other == name}
        whole, usable, none = sum(own.values()), own.get("yes", 0), own.get("no panorama", 0)
        listing.add_row(name, *map(str, (whole, usable, whole - usable - none, none)))
    stop_spinner()
    print_table(listing)
    console.print(f"{out / 'places.csv'}: columns {', '.join(ADDED)}")
    return all(row["usable"] == "yes" for row in rows)


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


def _with_roads(cities: Sequence[PlaceCity], known: Gazetteer, radius_km: float) -> list[PlaceCity]:
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


def _summary(spots: Sequence[CaptureSpot]) -> Table:
    table = Table("city", *numbers("people", "places", "best", "least", "nearest two (m)"), title="Places")
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
