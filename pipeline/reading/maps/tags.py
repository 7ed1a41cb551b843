"""Tags of OpenStreetMap in the properties of a GeoJSON feature, as its tools write them.

Overpass Turbo and QGIS write each tag as a property; osmtogeojson, where it is told not to, one property ``tags``;
GDAL the rarer ones as text, ``other_tags``: ``"building:levels"=>"3","roof:colour"=>"red"``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_PAIR: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


def osm_tags(facts: Mapping[str, Any]) -> dict[str, str]:
    """The tags that a feature's properties have, numbers as texts; of anything else in them no word is taken."""
    under, rarer = facts.get("tags"), facts.get("other_tags")
    found = {**facts, **(under if isinstance(under, dict) else {})}
    tags = {
        key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in found.items() if _told(value)
    }
    pairs = _PAIR.findall(rarer) if isinstance(rarer, str) else []
    return tags | {_ESCAPED.sub(r"\1", key): _ESCAPED.sub(r"\1", value) for key, value in pairs}


def _told(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
