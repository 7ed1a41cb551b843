"""Places as CSV and GeoJSON, the same bytes for the same places."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, Final

from pipeline.places.choose import Spot
from pipeline.reading.maps.countries import COUNTRIES

ATTRIBUTION: Final = (
    "Roads: © OpenStreetMap contributors, ODbL 1.0. Cities: GeoNames, CC BY 4.0, or a table of your own."
)
COLUMNS: Final = (
    "place", "city", "country_code", "country", "city_rank", "population", "lat_deg", "lon_deg", "street", "highway",
    "way", "centre_m", "centre_score", "class_score", "score",
)  # fmt: skip


def rows_of(spots: Sequence[Spot]) -> list[dict[str, Any]]:
    """Places by `COLUMNS`; ``place`` counts those of a city, the best first."""
    rows, count = [], dict[int, int]()
    for spot in spots:
        count[spot.city.rank] = count.get(spot.city.rank, 0) + 1
        rows.append(
            {
                "place": f"{spot.city.rank}-{count[spot.city.rank]}",
                "city": spot.city.name,
                "country_code": spot.city.country_code,
                "country": COUNTRIES.get(spot.city.country_code, ""),
                "city_rank": spot.city.rank,
                "population": spot.city.population,
                "lat_deg": spot.lat_deg,
                "lon_deg": spot.lon_deg,
                "street": spot.street,
                "highway": spot.highway,
                "way": spot.way,
                "centre_m": spot.centre_m,
                "centre_score": spot.centre_score,
                "class_score": spot.class_score,
                "score": spot.score,
            }
        )
    return rows


def as_csv(spots: Sequence[Spot]) -> bytes:
    """A table with a head. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows({name: _inert(value) for name, value in row.items()} for row in rows_of(spots))
    return out.getvalue().encode()


def as_geojson(spots: Sequence[Spot]) -> bytes:
    """A FeatureCollection of points (RFC 7946)."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row.pop("lon_deg"), row.pop("lat_deg")]},
            "properties": row,
        }
        for row in rows_of(spots)
    ]
    collection = {"type": "FeatureCollection", "attribution": ATTRIBUTION, "features": features}
    return (json.dumps(collection, ensure_ascii=False, indent=1) + "\n").encode()


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t"} else value
