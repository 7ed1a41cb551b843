"""Pictures in files as a video, and checks of boxes that readers share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings
from pipeline.core.schema import OrientedBox
from pipeline.reading.checks import check_box, check_name, check_repeats
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.footage import delivered_frames, evenly_spaced, held_footage, log_footage


def shown(folder: Path, *readable: int) -> list[int]:
    """What each of five frames shows, by the number that its picture is painted with."""
    files = SceneFiles(folder, SceneRef("made/one", (".",), ""))
    pictures = {n: np.full((2, 3, 3), n, dtype=np.uint8) for n in readable}
    return [int(frame[0, 0, 0]) for frame in held_footage(files, folder / "color", 10.0, 5, pictures.get).frames()]


def test_time_goes_on_where_a_picture_is_missing(tmp_path: Path) -> None:
    assert shown(tmp_path, 0, 1, 2, 3, 4) == [0, 1, 2, 3, 4]
    assert shown(tmp_path, 0, 2) == [0, 0, 2, 2, 2]
    assert shown(tmp_path, 3) == [3, 3, 3, 3, 3], "nothing came before the first"


def test_without_any_picture_there_is_no_video(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match="none of 5 can be read") as caught:
        shown(tmp_path)
    assert (caught.value.finding, caught.value.path) == ("no_readable_picture", tmp_path / "color")


@given(st.integers(0, 40), st.integers(1, 60), st.integers(1, 60))
def test_each_frame_shows_what_is_on_screen_at_its_second(count: int, source_fps: int, fps: int) -> None:
    """Frame k of the source is on from k / source_fps up to (k + 1) / source_fps."""
    plain = []
    while len(plain) * source_fps < count * fps:
        plain.append(len(plain) * source_fps // fps)
    assert delivered_frames(count, source_fps, fps).tolist() == plain


def test_frames_that_evaluators_take_and_rows_that_logs_show() -> None:
    assert [evenly_spaced(10, n).tolist() for n in (1, 3, 4)] == [[0], [0, 4, 9], [0, 3, 6, 9]]
    assert evenly_spaced(3, 8).tolist() == [0, 1, 2]
    log = log_footage(4.0, np.array([0.25, 0.5, 1.2]), lambda row, second: np.array([row, second]))  # type: ignore[arg-type, return-value]
    assert [tuple(frame) for frame in log.frames()] == [(-1, 0.0), (0, 0.25), (1, 0.5), (1, 0.75), (1, 1.0)]
    assert log.fps == 4.0


BOX = {"centroid": [1, 2, 3], "axesLengths": [2, 4, 6], "normalizedAxes": [0, 1, 0, -1, 0, 0, 0, 0, 1]}
EXTENT = {"min": [-1, 1, 0], "max": [3, 3, 6]}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        (EXTENT, []),
        ({**EXTENT, "max": [3, 3, 6.009]}, []),
        ({**EXTENT, "max": [3, 3, 6.011]}, [("extent_differs_from_box", 0.011, 0.01)]),
        ({**EXTENT, "min": [-1, 0.9, 0]}, [("extent_differs_from_box", 0.1, 0.01)]),
        ({"axesLengths": [2, 4, 0.0009]}, [("thin_box", 0.0009, 0.001)]),
        ({"axesLengths": [2, 4, 0.001]}, []),
        ({"axesLengths": [50, 4, 6]}, []),
        ({"centroid": [1, -10_000, 3]}, []),
        ({"normalizedAxes": [0, 1.0004, 0, -1, 0, 0, 0, 0, 1]}, []),
        ({"axesLengths": [2, -4, 6]}, ["negative_length"]),
        ({"axesLengths": [2, 4, 0.9e-6]}, ["degenerate_box"]),
        ({"axesLengths": [50.1, 4, 6]}, ["implausible_length"]),
        ({"centroid": [1, -10_001, 3]}, ["implausible_position"]),
        ({"normalizedAxes": [0, 1.0006, 0, -1, 0, 0, 0, 0, 1]}, ["axes_not_orthonormal"]),
        ({"normalizedAxes": [0, 1e300, 0, -1, 0, 0, 0, 0, 1]}, ["axes_not_orthonormal"]),
        ({"centroid": [1, True, 3]}, ["wrong_type"]),
        ({"centroid": [1, 10**400, float("nan")]}, ["not_finite", "not_finite"]),
        ({"centroid": [1, 2]}, ["wrong_shape"]),
        ({"centroid": None}, ["wrong_shape"]),
        ({"min": [0, 0, 0]}, ["missing_key"]),
        ({"colour": 1}, ["unknown_key"]),
    ],
)
def test_boxes_at_their_limits(changes: dict[str, Any], told: list[Any]) -> None:
    """What makes one unusable has a name; what is only doubtful a measure and a limit."""
    findings = Findings()
    box = check_box(BOX | changes, "chair 1", "chair", findings)
    assert [
        one.name if one.measured is None else (one.name, pytest.approx(one.measured), one.limit)
        for one in findings.items
    ] == told
    assert (box is None) == any(name not in {"missing_key", "unknown_key"} for name in told if isinstance(name, str))
    if box is not None and not changes:
        assert box == OrientedBox(center=(1, 2, 3), lengths=(2, 4, 6), axes=((0, 1, 0), (-1, 0, 0), (0, 0, 1)))


@pytest.mark.parametrize(
    ("name", "sound"),
    [
        ("chair", True), ("tv stand", True), ("x" * 100, True), ("x" * 101, False), ("a, b", False), ("a  b", False),
        ("on the wall", False), (" chair", False), ("chair ", False), ("", False), ("_x", False),
    ],
)  # fmt: skip
def test_names_that_can_stand_in_a_question(name: str, sound: bool) -> None:
    findings = Findings()
    assert check_name(name, findings) is sound
    assert [one.name for one in findings.items] == ([] if sound else ["unusable_category"])


@given(st.lists(st.tuples(st.sampled_from(["chair", "stool"]), *[st.integers(0, 9)] * 2), max_size=12))
def test_boxes_in_one_place_are_those_of_a_plain_search(places: list[tuple[str, int, int]]) -> None:
    """Each box and the next one in the list that fills the same place; of places a quarter of a side apart."""
    axes: Any = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    boxes = [(name, OrientedBox(center=(x / 4, y / 4, 1), lengths=(1, 1, 1), axes=axes)) for name, x, y in places]
    names = [f"{name} #{sum(other == name for other, _, _ in places[:n])}" for n, (name, _, _) in enumerate(places)]
    told: dict[str, list[tuple[float, float, str]]] = {}
    for i, (name, x, y) in enumerate(places):
        for j, (other, u, v) in list(enumerate(places))[i + 1 :]:
            both = max(0.0, 1 - abs(x - u) / 4) * max(0.0, 1 - abs(y - v) / 4)
            share = both / (2 - both)
            if share > (limit := 0.5 if name == other else 0.9):
                for category in {name, other}:
                    told.setdefault(category, []).append((round(share, 4), limit, f"{names[i]} and {names[j]}"))
                break
    findings = Findings()
    check_repeats(boxes, findings)
    assert [(one.subject, one.measured, one.limit) for one in findings.items] == [
        (category, pytest.approx(max(pairs)[0], abs=1e-4), max(pairs)[1]) for category, pairs in sorted(told.items())
    ]
    for one in findings.items:
        assert f": {', '.join(pair for _, _, pair in told[one.subject])} share" in one.message
