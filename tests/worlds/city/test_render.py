"""Pictures of cities: each pixel is of the thing that Sight counts, in its colour."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.worlds.city.render import CityRenderer, captioned
from pipeline.worlds.city.visibility import Sight
from tests.worlds.city.cities import city, house, point

HERE = city(
    house("h", 40, 40, 10, 8, 6.0, rgb=(150, 25, 25)),
    point("c", "car", 45, 30, rgb=(40, 80, 180), facing_deg=0.0),
    point("s", "signboard", 45, 39.8, facing_deg=180.0, sign="BAKERY", rgb=(245, 215, 50)),
    point("t", "tree", 60, 30),
)
POSE = np.array([45.0, 12.0, 5.0, 0.0, 0.0, 0.0])


def test_pixels_and_colours() -> None:
    shot = CityRenderer(HERE).shoot(POSE)
    counts = [int((shot.thing == i).sum()) for i in range(len(HERE.things))]
    assert counts == Sight(HERE).seen(POSE[None], step=1).pixels[0].tolist()
    assert min(counts) > 100
    red, green, blue = shot.color[shot.thing == 0].astype(int).mean(0)
    assert red > 2 * max(green, blue)
    red, green, blue = shot.color[shot.thing == 1].astype(int).mean(0)
    assert blue > red
    assert shot.color[0].mean() > 150  # sky
    assert (shot.thing[0] == -1).all()


@pytest.mark.slow  # Open3D is loaded
def test_signs_are_read_from_near_by_alone() -> None:
    renderer = CityRenderer(HERE)
    (sign,) = renderer.shoot(POSE).signs
    assert sign.words == "BAKERY"
    assert abs(sign.column - 320) <= 1
    assert renderer.shoot(np.array([45.0, 0.5, 5, 0, 0, 0])).signs == ()  # 39 m off: under 9 pixels high
    shot = renderer.shoot(POSE)
    changed = (captioned(shot) != shot.color).any(2)
    assert 0 < changed.sum() < 2000


def test_a_smaller_picture_shows_the_same() -> None:
    renderer = CityRenderer(HERE)
    large, small = renderer.shoot(POSE).thing, renderer.shoot(POSE, 160, 120).thing
    assert (large[2::4, 2::4] == small).mean() > 0.98


def test_what_may_stand_above_a_house_is_drawn_as_a_chequer() -> None:
    shot = CityRenderer(city(house("h", 40, 40, 10, 8, None))).shoot(POSE)
    colours = {tuple(c) for c in (shot.color[shot.thing == 0] // 32).tolist()}
    assert len(colours) > 1
