"""Vehicles on the ground are told from flights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.reading.files import SceneFiles
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.flight.tracks.assemble import assemble
from pipeline.worlds.flight.tracks.read import never_flew
from tests.conftest import REAL_DATA
from tests.worlds.flight.tracks.test_assemble import PATH, fly

T = np.arange(20) * 0.5


@pytest.mark.parametrize(
    ("more", "grounded"),
    [
        ({"height_m": np.linspace(0.0, 0.9, 20)}, True),
        ({"height_m": np.linspace(0.0, 1.1, 20)}, False),
        ({"height_m": np.linspace(-4.7, -2.4, 20)}, False),  # flown below the place of take-off
        ({}, False),  # heights from the first position: it may hover
        ({"height_m": np.linspace(0.0, 50.0, 20), "grounded": "it is a rover"}, True),  # on a hill
    ],
)
def test_height_and_kind_tell(more: dict[str, Any], grounded: bool) -> None:
    log = fly(T, **more)
    assert (never_flew(log, assemble(PATH, log).track) is not None) == grounded


@pytest.mark.real_data
def test_the_real_drone_that_was_never_armed_is_left_out_by_name(tmp_path: Path) -> None:
    log = REAL_DATA / "flights" / "tlog" / "flight_first_600kB.tlog"
    if not log.is_file():
        pytest.skip(f"{log} is absent: set SCAN2QA_REAL_DATA")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "log.tlog").write_bytes(log.read_bytes())
    (ref,) = Flights().scenes(tmp_path).scenes
    with pytest.raises(RawDataError) as error:
        Flights().read(SceneFiles(tmp_path, ref))
    assert error.value.finding == "never_flew"
    assert "233 heartbeats" in error.value.message
