"""The mesh reader against hand-made files, trimesh as an oracle, and the ways in which files go wrong."""

import io
import struct
from contextlib import suppress

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import FormatError
from pipeline.formats.ply import parse_ply
from tests.worlds.indoor.readers.tiny_scans import ply

VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.5]])
FACES = np.array([[0, 1, 2], [0, 2, 3], [3, 1, 0]])
KINDS = ("binary_little_endian", "binary_big_endian", "ascii")


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_and_faces(kind: str) -> None:
    mesh = parse_ply(ply(VERTICES, FACES, kind))
    np.testing.assert_array_equal(mesh.vertices, VERTICES)
    np.testing.assert_array_equal(mesh.faces, FACES)
    assert mesh.vertices.dtype == np.float64
    assert mesh.faces.dtype == np.int32


@pytest.mark.parametrize("encoding", ["binary", "ascii"])
def test_reads_what_trimesh_writes(encoding: str) -> None:
    sphere = trimesh.creation.icosphere(subdivisions=2, radius=2.0)
    mesh = parse_ply(sphere.export(file_type="ply", encoding=encoding))
    np.testing.assert_allclose(mesh.vertices, sphere.vertices, atol=1e-6)
    np.testing.assert_array_equal(mesh.faces, sphere.faces)


def test_trimesh_reads_the_same() -> None:
    raw = ply(VERTICES, FACES)
    theirs = trimesh.load(io.BytesIO(raw), file_type="ply", process=False)
    np.testing.assert_array_equal(parse_ply(raw).faces, theirs.faces)


def test_other_properties_elements_and_orders_are_passed_over() -> None:
    header = (
        b"ply\r\nformat binary_little_endian 1.0\r\nobj_info none\r\nelement camera 1\r\nproperty double focus\r\n"
        b"element face 1\r\nproperty uchar flag\r\nproperty list int ushort vertex_index\r\nproperty float quality\r\n"
        b"element vertex 3\r\nproperty int label\r\nproperty double z\r\nproperty float y\r\nproperty float x\r\n"
        b"element edge 1\r\nproperty list uchar int corners\r\nend_header\r\n"
    )
    camera = np.array([1.5], "<f8").tobytes()
    face = (
        b"\x07" + np.array([3], "<i4").tobytes() + np.array([2, 0, 1], "<u2").tobytes() + np.array([1], "<f4").tobytes()
    )
    vertex = np.zeros(3, [("label", "<i4"), ("z", "<f8"), ("y", "<f4"), ("x", "<f4")])
    vertex["x"], vertex["y"], vertex["z"] = [1, 2, 3], [4, 5, 6], [7, 8, 9]
    mesh = parse_ply(header + camera + face + vertex.tobytes())
    np.testing.assert_array_equal(mesh.vertices, [[1, 4, 7], [2, 5, 8], [3, 6, 9]])
    np.testing.assert_array_equal(mesh.faces, [[2, 0, 1]])


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_a_cut_file_is_never_half_a_mesh(seed: int, kind: str) -> None:
    raw = ply(VERTICES, FACES, kind)
    cut = raw[: seed % (len(raw) - (2 if kind == "ascii" else 0))]
    with pytest.raises(FormatError):
        parse_ply(cut)


@given(st.binary(max_size=60), st.integers(0, 400))
def test_noise_gives_a_mesh_or_a_named_error(noise: bytes, at: int) -> None:
    raw = ply(VERTICES, FACES)
    with suppress(FormatError):
        mesh = parse_ply(raw[:at] + noise + raw[at + len(noise) :])
        assert np.isfinite(mesh.vertices).all()
        assert mesh.faces.min() >= 0
        assert mesh.faces.max() < len(mesh.vertices)


def edited(old: str, new: str, kind: str = "ascii") -> bytes:
    raw = ply(VERTICES, FACES, kind)
    assert old.encode() in raw
    return raw.replace(old.encode(), new.encode(), 1)


@pytest.mark.parametrize(
    ("raw", "finding", "says"),
    [
        (b"", "not_a_ply", "begins with"),
        (edited("format ascii", "format utf8"), "bad_ply_header", "utf8"),
        (edited("format ascii 1.0\n", ""), "bad_ply_header", "names no format"),
        (edited("element vertex 4", "element vertex four"), "bad_ply_header", "four"),
        (edited("element vertex 4", "element vertex -1"), "bad_ply_header", "-1"),
        (edited("element vertex 4", "element vertex 0"), "ply_without_vertices", "0 vertices"),
        (edited("element vertex 4", "element corner 4"), "ply_without_vertices", "no element vertex"),
        (edited("element vertex 4", f"element vertex {10**17}"), "truncated_ply", "100000000000000000 entries"),
        (edited("property float y", "property float v"), "ply_without_positions", "no y"),
        (edited("property float y", "property quad y"), "bad_ply_header", "quad"),
        (edited("property float y", "property float x"), "bad_ply_header", "twice"),
        (edited("property float y", "property list uchar float y"), "unsupported_ply", "lists"),
        (edited("vertex_indices", "corners"), "unsupported_ply", "found corners"),
        (edited("uchar int vertex", "uchar float vertex"), "unsupported_ply", "floating point"),
        (edited("element face 3", "element face 0"), "ply_without_faces", "4 vertices and no faces"),
        (edited("element face 3", "element face 4"), "truncated_ply", "4 entries of element face declared, 3 there"),
        (edited("3 0 1 2", "4 0 1 2"), "faces_not_triangles", "corners, not 4"),
        (edited("3 0 1 2", "5 0 1 2"), "faces_not_triangles", "face 0 has 5 corners, not 3"),
        (edited("3 0 1 2", "3 0 1 4"), "face_index_out_of_range", "1 of 3 faces name a vertex that is not there"),
        (edited("3 0 1 2", "3 0 nan 2"), "face_index_out_of_range", "-1 of 4"),
        (edited("0 2 0 1", "0 2 zero 1"), "bad_ply_number", "vertex"),
        (edited("0 2 0 1", "0 2 inf 1"), "vertices_not_finite", "1 of 4 vertices are not finite"),
        (edited("0 2 0 1", "0 2 " + "0" * 70 + " 1"), "bad_ply_number", "70 characters"),
    ],
)  # fmt: skip
def test_faults_are_named(raw: bytes, finding: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_ply(raw)
    assert caught.value.finding == finding
    assert says in caught.value.message


@pytest.mark.parametrize("style", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_quads_are_cut_where_all_faces_are(style: str) -> None:
    """As in Replica; a scalar before the list moves the place of the count."""
    header = f"ply\nformat {style} 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
    header += "element face 2\nproperty ushort kind\nproperty list uchar int vertex_indices\nend_header\n"
    places, quads = np.arange(15.0).reshape(5, 3), [[0, 1, 2, 3], [3, 2, 1, 4]]
    if style == "ascii":
        rows = [*places.tolist(), *([7, 4, *quad] for quad in quads)]
        raw = header.encode() + "\n".join(" ".join(map(str, row)) for row in rows).encode()
    else:
        order = "<" if "little" in style else ">"
        raw = header.encode() + places.astype(f"{order}f4").tobytes()
        raw += b"".join(struct.pack(f"{order}HB4i", 7, 4, *quad) for quad in quads)
    mesh = parse_ply(raw)
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [3, 2, 1], [3, 1, 4]]
    assert mesh.vertices.tolist() == places.tolist()


def test_quads_in_a_binary_file_are_named_by_their_face() -> None:
    raw = bytearray(ply(VERTICES, FACES))
    raw[len(raw) - 2 * 13] = 4
    with pytest.raises(FormatError, match="face 1 has 4 corners, not 3"):
        parse_ply(bytes(raw))
