"""Which pictures of questions a build holds, beside its store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = "pictures"  # of a build


@dataclass(frozen=True)
class Picture:
    """The picture of a question.

    Attributes:
        id: of the question.
        svg: the drawing with pictures of the video, where there are any.
        png: the same; None where none was asked for.
        drawing: without pictures of the video; the same file as ``svg`` where it shows none.
    """

    id: int
    svg: Path
    png: Path | None
    drawing: Path

    def passed_on(self, frames_allowed: bool) -> Path:
        """What may be shown to others: without pictures of a video whose terms do not allow it."""
        return self.svg if frames_allowed else self.drawing


def pictures_of(results: Iterable[bytes], build: Path) -> dict[int, Picture]:
    """What results of stage `picture` name, in a build's folder."""
    found = {}
    for raw in results:
        for one in json.loads(raw)["pictures"]:
            files = {kind: build / said["file"] for kind, said in one.items() if kind != "id"}
            found[one["id"]] = Picture(one["id"], files["svg"], files.get("png"), files["drawing"])
    return found
