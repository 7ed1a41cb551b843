"""Kinds of things that tasks treat apart."""

from __future__ import annotations

from typing import Final

SHOP: Final = "shop"
SIGNBOARD: Final = "signboard"
# Premises that maps keep with the shops and that nobody would call one.
NO_SHOPS: Final = frozenset(
    {
        "casino", "cinema", "clinic", "community centre", "dentist's", "doctor's surgery", "fire station", "gallery",
        "guest house", "hospital", "hostel", "hotel", "kindergarten", "library", "museum", "nightclub",
        "petrol station",
        "police station", "public toilet", "school", "theatre", "town hall", "university",
    }
)  # fmt: skip
