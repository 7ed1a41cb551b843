"""Legend pictures: a question that names landmarks has one that shows them, each over its name."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from pipeline.benchmarks.urbanvideo.legends import LEGENDS, legends
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.core.schema import Video
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import flight, mark
from tests.worlds.flight.test_legend import large, shown

VIDEO = Video(path="video.mp4", fps=10.0, frames=100)
RED, BLUE, GREY = (200, 20, 20), (20, 20, 200), (128, 128, 128)


def asked(number: int, text: str, *options: str) -> dict[str, Any]:
    return {"id": number, "text": text, "options": list(options) or None}


def test_a_legend_has_what_the_question_names_and_nothing_else() -> None:
    mill, inn = mark("the red mill", 0, 160, name="Mill"), mark("the blue inn", 0, 160, name="Blue Inn")
    facts = shown((mill, large(4.6)), (inn, large(8.6)))
    view = FlightView(flight(None).model_copy(update={"facts": facts, "video": VIDEO}), UrbanRules(landmarks="legend"))
    seconds = []

    def frame_at(second: float) -> np.ndarray:
        """The mill is red and at 4.6 s, the inn blue and later."""
        seconds.append(second)
        picture = np.full((360, 640, 3), GREY, dtype=np.uint8)
        picture[170:230, 310:520] = RED if second < 5 else BLUE
        return picture

    rows = [
        asked(1, "Where is Mill?", "A. Ahead", "B. Behind"),
        asked(2, "What is closest?", "A. Blue Inn", "B. Mill"),
        asked(3, "Which takes longer, turning left or milling?", "A. One"),
    ]
    found = legends(view, rows, frame_at)
    assert sorted(found) == [1, 2]
    assert seconds == [4.6, 8.6], "each is cut once"
    one, both = (np.asarray(Image.open(io.BytesIO(found[n]))).astype(int) for n in (1, 2))
    assert both.shape[1] > 1.8 * one.shape[1]

    def shows(sheet: np.ndarray, colour: tuple[int, int, int]) -> bool:
        return bool((np.abs(sheet - np.array(colour)).max(2) < 12).sum() > 1000)

    assert [shows(sheet, colour) for sheet in (one, both) for colour in (RED, BLUE)] == [True, False, True, True]


def test_they_are_drawn_in_that_mode_alone() -> None:
    assert LEGENDS.wanted(UrbanRules(landmarks="legend"))
    assert not LEGENDS.wanted(UrbanRules())
