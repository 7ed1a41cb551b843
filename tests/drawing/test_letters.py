"""Letters beyond English: names of shops and streets are drawn as they are written."""

import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageFont

from pipeline.benchmarks.cityeqa.pictures import task_pictures
from pipeline.benchmarks.cityeqa.released import AXES
from pipeline.drawing.fonts import font
from pipeline.drawing.raster import Raster
from pipeline.worlds.city.facts import CityScene
from tests.benchmarks.cityeqa.cities import small

NONE = "\u0378"  # no letter, and never to be one


def drawn(letters: ImageFont.FreeTypeFont, text: str) -> bytes:
    return bytes(letters.getmask(text))


@pytest.mark.parametrize("letter", "éàçÉßøñœŁЖΩ–’")
def test_a_letter_is_no_empty_box(letter: str) -> None:
    assert drawn(font(13), letter) != drawn(font(13), NONE)


def test_things_on_one_another_have_a_label_each() -> None:
    raster = Raster()
    assert all(raster.label((100, 100), name, (0, 0, 300, 200)) for name in ("book", "can", "cube", "box"))


def test_a_label_with_a_line_finds_room_where_none_is_beside_its_point() -> None:
    """Its 340 pixels fit neither left nor right of the middle of 400; a second one lies above it, a third below."""
    raster, within, name = Raster(), (0, 0, 400, 300), "the building with a pitched roof nearest to the body of water"
    assert raster.label((200, 150), name, within) is None
    ends = [raster.label((200, 150), name, within, led=True) for _ in range(4)]
    assert ends == [(200, 153.5), (200, 146.5), (200, 167.5), (200, 132.5)]
    assert raster.label((200, 150), name * 2, within, led=True) is None


def picture(scene: CityScene, answer: str) -> np.ndarray:
    """The map of a task with some answer."""
    pose = {"x": 10.0, "y": 10.0, "z": 5.0, "roll": 0.0, "pitch": 0.0, "yaw": 90.0}
    evidence = [
        {"name": name, "subject": axis, "value": pose[key]}
        for name in ("initial_pose", "observation_pose")
        for axis, key in zip(AXES, pose, strict=True)
    ]
    target = scene.facts.things[0].id
    row = {
        "id": 1, "scene": scene.id, "operands": [target], "text": "What is the name of it?", "answer": answer,
        "evidence": evidence, "group": target,
    }  # fmt: skip
    (raw,) = task_pictures(pa.Table.from_pylist([row]), lambda: [scene]).values()
    return np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))


def test_the_map_of_a_task_has_its_answer_below_and_what_its_colours_mean() -> None:
    scene = small(0)
    plain, accent, box = (picture(scene, f"Mutualit{letter}") for letter in ("e", "é", NONE))
    map_part = np.s_[:560]
    assert (plain[map_part] == accent[map_part]).all()
    assert (accent != plain).any()
    assert (accent != box).any()
    legend = accent[-22:].reshape(-1, 3)
    assert {(20, 20, 20), (114, 159, 207), (239, 80, 60), (200, 130, 0)} <= set(map(tuple, legend.tolist()))
