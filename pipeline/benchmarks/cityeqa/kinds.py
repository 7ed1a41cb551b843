"""Kinds of things that tasks treat apart."""

from __future__ import annotations

from typing import Final

from pipeline.worlds.city.facts import BUILDING

SHOP: Final = "shop"
SIGNBOARD: Final = "signboard"
BUS_STOP: Final = "bus stop"
# What a text leads over: what anybody sees from afar and would call the same.
LANDMARKS: Final = frozenset(
    {BUILDING, "fountain", "park", "parking", "playground", "sports field", "square", "statue", "tower", "water"}
)
# What a phrase of the text may mean, so that whatever lies of it is thought of: a bank is in a building, and is a shop.
ANCHORS: Final = LANDMARKS | {SHOP}
# Premises that maps keep with the shops and that nobody would call one.
NO_SHOPS: Final = frozenset(
    {
        "casino", "cinema", "clinic", "community centre", "dentist's", "doctor's surgery", "fire station", "gallery",
        "guest house", "hospital", "hostel", "hotel", "kindergarten", "library", "museum", "nightclub",
        "petrol station",
        "police station", "public toilet", "school", "theatre", "town hall", "university",
    }
)  # fmt: skip
