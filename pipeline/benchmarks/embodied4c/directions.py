"""Directions in words, with other words that say the same."""

from __future__ import annotations

from typing import Final

# Eighths of the circle, counter-clockwise from straight ahead.
EIGHTHS: Final[dict[str, tuple[str, ...]]] = {
    "ahead": ("in front", "front", "straight ahead", "directly ahead"),
    "ahead on the left": ("front left", "front-left", "ahead left", "in front to the left"),
    "on the left": ("left", "to the left"),
    "behind on the left": ("rear left", "back left", "behind left", "behind to the left"),
    "behind": ("rear", "back", "directly behind"),
    "behind on the right": ("rear right", "back right", "behind right", "behind to the right"),
    "on the right": ("right", "to the right"),
    "ahead on the right": ("front right", "front-right", "ahead right", "in front to the right"),
}
# Eighths of the compass, clockwise from north.
COMPASS: Final[dict[str, tuple[str, ...]]] = {
    "north": ("N", "to the north"),
    "north-east": ("NE", "northeast", "north east", "to the north-east"),
    "east": ("E", "to the east"),
    "south-east": ("SE", "southeast", "south east", "to the south-east"),
    "south": ("S", "to the south"),
    "south-west": ("SW", "southwest", "south west", "to the south-west"),
    "west": ("W", "to the west"),
    "north-west": ("NW", "northwest", "north west", "to the north-west"),
}
