"""Maps of Cognitive Map questions as pictures: what stands where in them."""

from __future__ import annotations

import io

import pyarrow as pa
from PIL import Image

from pipeline.benchmarks.urbanvideo.legends import map_pictures

ROWS = [
    {"id": 7, "task": "Cognitive Map", "options": ["A. S*E / ... / ..1", "B. ..1 / ... / S*E"]},
    {"id": 8, "task": "Proximity", "options": ["A. It comes closer", "B. It moves away"]},
]
GREEN, RED, BLUE, YELLOW = (78, 154, 6), (204, 0, 0), (52, 101, 164), (237, 212, 0)


def test_every_mark_is_drawn_in_its_cell() -> None:
    (name, raw), *others = map_pictures(pa.Table.from_pylist(ROWS), list).items()
    assert (name, others) == ("maps/7.png", [])
    picture = Image.open(io.BytesIO(raw)).convert("RGB")
    # Two maps of three cells of 32 pixels, with margins of 24, below a title of 28.
    assert picture.size == (2 * (96 + 24) + 24, 96 + 28 + 24)

    def colour(option: int, row: int, column: int) -> object:
        x, y = 24 + option * 120 + column * 32, 28 + row * 32
        return picture.getpixel((x + 16, y + 16) if (row, column) in {(0, 1), (2, 1)} else (x + 5, y + 5))

    assert [colour(0, 0, column) for column in range(3)] == [GREEN, BLUE, RED]
    assert colour(0, 2, 2) == YELLOW
    assert [colour(1, 2, column) for column in range(3)] == [GREEN, BLUE, RED]
    assert colour(1, 0, 2) == YELLOW
    assert colour(0, 1, 1) == (255, 255, 255)


def test_the_same_question_gives_the_same_bytes() -> None:
    table = pa.Table.from_pylist(ROWS)
    assert map_pictures(table, list) == map_pictures(table, list)
