"""Old names of stages and of their sections of a configuration, with the new ones."""

from __future__ import annotations

from typing import Final

RENAMED: Final = {
    "film": "video",
    "draw": "bev_video",
    "look": "describe",
    "declare": "author_views",
    "legend": "landmark_pictures",
    "picture": "figures",
    "pictures": "figures",
}
