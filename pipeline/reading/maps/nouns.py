"""What things in maps look like: the noun that anybody would use who sees one from a drone, and what else fits it."""

from __future__ import annotations

from typing import Final

BUILDING: Final = "building"
TOWER: Final = "tower"
WATER: Final = "body of water"

# Kinds as maps call them (OpenStreetMap's values, spaces for underscores) by noun. Kinds that look alike share one: a
# chapel is a church to whoever flies past. A shop or an office within a house has none: nobody sees it.
_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "church": ("church", "chapel", "cathedral", "basilica"),
    "mosque": ("mosque",),
    "stadium": ("stadium",),
    TOWER: ("tower", "water tower", "communications tower", "bell tower", "cooling tower"),
    "lighthouse": ("lighthouse",),
    "chimney": ("chimney",),
    "windmill": ("windmill",),
    "storage tank": ("storage tank", "silo", "gasometer"),
    "obelisk": ("obelisk",),
    "monument": ("monument",),
    "bridge": ("bridge",),
    "pier": ("pier",),
    "park": ("park", "garden", "common", "village green"),
    "sports field": ("pitch", "sports field"),
    "playground": ("playground",),
    "cemetery": ("cemetery", "grave yard"),
    "wood": ("wood",),
    "beach": ("beach",),
    "car park": ("parking", "car park"),
    "swimming pool": ("swimming pool",),
    "fountain": ("fountain",),
    WATER: ("water", "waterbody", "lake", "pond", "reservoir", "basin"),
}
NOUN_OF: Final[dict[str, str]] = {kind: noun for noun, kinds in _KINDS.items() for kind in kinds}
CHRISTIAN: Final = "church"  # what a building of this religion looks like
POINTS: Final = frozenset({TOWER, "lighthouse", "chimney", "windmill", "obelisk", "monument", "fountain"})

BUILT: Final = frozenset({BUILDING, "church", "mosque", "stadium", TOWER, "lighthouse", "windmill", "storage tank"})
COLOURED: Final = BUILT | {"chimney", "obelisk", "monument"}  # a park has no one colour
_GREENS: Final = frozenset({"park", "cemetery", "wood"})
_WATERS: Final = frozenset({WATER, "swimming pool", "fountain"})
_SLIM: Final = frozenset({TOWER, "lighthouse", "chimney", "obelisk", "windmill", "storage tank"})
# What a noun may also be said of, beside what it is; for the others, itself alone. A building as slim as a tower may
# also be called one (`SLIM`).
_ALSO: Final[dict[str, frozenset[str]]] = {
    BUILDING: BUILT,
    TOWER: _SLIM | {"church", "monument"},
    "church": frozenset({"mosque"}),
    "mosque": frozenset({"church"}),
    "lighthouse": _SLIM,
    "chimney": _SLIM,
    "obelisk": _SLIM | {"monument"},
    "monument": frozenset({"obelisk", "fountain"}),
    "storage tank": frozenset({TOWER, BUILDING}),
    "park": _GREENS,
    "cemetery": _GREENS,
    "wood": _GREENS,
    "sports field": frozenset({"stadium", "park"}),
    "stadium": frozenset({"sports field"}),
    "bridge": frozenset({"pier"}),
    "pier": frozenset({"bridge"}),
    "swimming pool": _WATERS,
    "fountain": _WATERS,
    WATER: _WATERS,
}
SLIM: Final = 1.2  # height over width from which on a building may be called a tower


def may_be(noun: str) -> frozenset[str]:
    """The nouns of all that somebody might call so."""
    return _ALSO.get(noun, frozenset()) | {noun}
