"""Files of scenes, JSON and Parquet: which bytes are whose, what is refused, and which way is up."""

import json
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import FormatError
from pipeline.formats.json_scenes import split_scenes, text_digest
from pipeline.formats.parquet_rows import read_rows
from pipeline.formats.scene_folder import CAMERA_AXES, DocumentAxes, Unit, Up


def test_scenes_have_the_bytes_of_their_values() -> None:
    raw = '\ufeff {"räum": {"n": 1},\n "b": [2] }'.encode()
    first, second = split_scenes(raw)
    assert [(one.name, one.value) for one in (first, second)] == [("räum", {"n": 1}), ("b", [2])]
    for one, body in ((first, b'{"n": 1}'), (second, b"[2]")):
        assert raw[slice(*one.span)] == body
        assert one.sha256 == text_digest(body)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('ab \t\n"\\é', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a b"', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(_VALUES, _VALUES, st.sampled_from([None, 0, 1, 4]))
def test_digests_of_scenes_are_those_of_their_values_whatever_the_layout(
    one: object, other: object, indent: int | None
) -> None:
    plain, laid_out = (json.dumps(one, indent=n, ensure_ascii=False) for n in (None, indent))
    if "\\" not in plain:
        assert text_digest(plain.encode()) == text_digest(laid_out.encode())
    changed = json.dumps(other, ensure_ascii=False)
    assert (text_digest(plain.encode()) == text_digest(changed.encode())) == (plain == changed)


def test_a_blank_in_a_name_is_no_layout() -> None:
    texts = (b'{"a b":1}', b'{"ab":1}', b'{"a b" : 1}', b'{"a  b":1}')
    assert [text_digest(text) for text in texts].count(text_digest(texts[0])) == 2


@pytest.mark.parametrize(
    ("raw", "finding"),
    [
        (b"", "empty_file"),
        (b" \n", "empty_file"),
        (b"\x80{}", "not_utf8"),
        (b"\xff{}", "not_utf8"),
        (b"[]", "not_an_object"),
        ("é".encode(), "not_an_object"),
    ],
)
def test_what_is_no_object_of_scenes_is_named(raw: bytes, finding: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(split_scenes(raw))
    assert caught.value.finding == finding


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(("episode", "rows"), [(1, [0, 1]), (2, [2]), (3, [3]), (4, [])])
def test_rows_of_an_episode_whatever_the_file_tells_of_its_groups(
    tmp_path: Path, statistics: bool, episode: int, rows: list[int]
) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"episode": [1, 1, 2, 3], "row": [0, 1, 2, 3], "word": ["a", "b", "c", "d"]})
    pq.write_table(table, path, row_group_size=2, write_statistics=statistics)
    assert read_rows(path, ["episode", "row"], ("episode", episode))["row"] == rows


def test_columns_that_are_not_there_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="without the columns b; there are a"):
        read_rows(tmp_path / "a.parquet", ["a", "b"])


@pytest.mark.parametrize(("up", "hand"), [*product(get_args(Up), ("right", "left"))])
def test_a_frame_of_any_axes_becomes_one_with_z_up(up: str, hand: str) -> None:
    axes = DocumentAxes("cm", up, hand)
    way = np.zeros(3)
    way["xyz".index(up[-1])] = -100 if up[0] == "-" else 100
    corners = np.vstack([way, np.eye(3)])
    assert axes.points(corners)[0].tolist() == [0, 0, 1]
    assert np.array_equal(axes.turn @ axes.turn.T, np.eye(3))
    assert np.linalg.det(axes.turn) == pytest.approx(1 if hand == "right" else -1)
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[:, :3, 3] = corners
    for kind, ahead in {"opencv": 1, "opengl": -1, "unity": 1}.items():
        found = axes.poses(poses, kind)  # type: ignore[arg-type]
        assert found[:, :3, 3] == pytest.approx(axes.points(corners))
        assert np.array_equal(found[0, :3, 2], ahead * axes.turn[:, 2])  # what is ahead in the file is ahead
        assert np.prod(CAMERA_AXES[kind]) == (-1 if kind == "unity" else 1)  # Unity's cameras are left-handed


def test_units_are_what_they_are_in_metres() -> None:
    units = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048, "unknown": 1.0}
    assert {unit: DocumentAxes(unit, "z", "right").scale for unit in get_args(Unit)} == units
