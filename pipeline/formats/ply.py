"""Triangle meshes in the PLY format: binary of either byte order, and ASCII."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError

# Names of both generations of the format -> numpy's, without byte order.
SCALARS: Final = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"},
}
BYTE_ORDERS: Final = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}
MAX_HEADER_BYTES: Final = 65536
MAX_WORD: Final = 64  # characters of a number in an ASCII file
QUAD: Final = 4  # corners
INDEX_NAMES: Final = ("vertex_indices", "vertex_index")
REMEDY: Final = "fetch the file again; what is needed is a triangle mesh as the dataset gives it"


@dataclass(frozen=True)
class PlyMesh:
    """Vertices (V, 3) as stored, triangles (F, 3) of vertex indices, and RGB (V, 3) where vertices have colours."""

    vertices: FloatArray
    faces: npt.NDArray[np.int32]
    colors: npt.NDArray[np.uint8] | None = None


@dataclass
class _Element:
    name: str
    count: int
    scalars: list[tuple[str, str]] = field(default_factory=list)
    lists: list[tuple[str, str, str, int]] = field(default_factory=list)  # name, count type, item type, place


def parse_ply(raw: bytes, points: bool = False) -> PlyMesh:
    """The mesh of a PLY file; with ``points`` its vertices alone, be they a mesh's or a cloud's. Raises FormatError.

    Every property besides x, y, z, red, green, blue and the vertex indices is passed over. Where all faces have four
    corners, as in Replica, each is cut from its first to its third; a face of another number than the first is refused.
    """
    order, elements, start = _header(raw)
    known = {e.name: e for e in elements}
    if "vertex" not in known:
        raise FormatError("ply_without_vertices", "the header declares no element vertex")
    vertex, face = known["vertex"], known.get("face")
    if points:
        elements = elements[: elements.index(vertex) + 1]
    elif face is None or face.count == 0:
        raise FormatError("ply_without_faces", f"{vertex.count} vertices and no faces: a point cloud, not a mesh")
    if vertex.count == 0:
        raise FormatError("ply_without_vertices", "the mesh has 0 vertices")
    read = _read_ascii if not order else _read_binary
    tables = read(raw, start, order, elements)
    vertices = _vertices(tables["vertex"])
    faces = np.empty((0, 3), np.int32) if points else _faces(tables["face"], vertex.count)
    return PlyMesh(vertices, faces, _colors(tables["vertex"]))


def _vertices(table: dict[str, Any]) -> FloatArray:
    missing = [axis for axis in "xyz" if axis not in table]
    if missing:
        raise FormatError("ply_without_positions", f"vertices have no {', '.join(missing)}")
    vertices = np.stack([table[axis] for axis in "xyz"], axis=1).astype(np.float64)
    bad = np.asarray(~np.isfinite(vertices).all(axis=1))
    if bad.any():
        message = f"{int(bad.sum())} of {len(bad)} vertices are not finite, the first is number {int(bad.argmax())}"
        raise FormatError(
            "vertices_not_finite", message, "remove these vertices from the mesh, or fetch the file again"
        )
    return vertices


def _colors(table: dict[str, Any]) -> npt.NDArray[np.uint8] | None:
    """Those stated as bytes; None where there are none, or others."""
    channels = [np.asarray(table.get(name)) for name in ("red", "green", "blue")]
    return np.stack(channels, axis=1) if all(one.dtype == np.uint8 for one in channels) else None


def _faces(table: dict[str, Any], vertices: int) -> npt.NDArray[np.int32]:
    indices = table["#indices"]
    outside = (indices < 0) | (indices >= vertices)
    if outside.any():
        message = f"{int(outside.any(axis=1).sum())} of {len(indices)} faces name a vertex that is not there: "
        message += f"{int(indices[outside][0])} of {vertices}"
        raise FormatError("face_index_out_of_range", message)
    if indices.shape[1] == QUAD:
        indices = indices[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    return np.ascontiguousarray(indices, dtype=np.int32)


def _check_corners(corners: npt.NDArray[Any], sides: int) -> None:
    odd = np.flatnonzero(corners != sides)
    if len(odd):  # from here on the records have another length, so the rest of the table means nothing
        message = f"face {odd[0]} has {corners[odd[0]]:g} corners, not {sides}"
        raise FormatError("faces_not_triangles", message, "cut the faces into triangles, or fetch the file again")


def _header(raw: bytes) -> tuple[str, list[_Element], int]:
    """Byte order ("" for ASCII), elements, and where the data start."""
    if not re.match(rb"ply\r?\n", raw):
        raise FormatError("not_a_ply", f"the file begins with {raw[:12]!r}, not with 'ply'")
    end = re.search(rb"\nend_header[ \t]*\r?\n", raw[:MAX_HEADER_BYTES])
    if end is None:
        raise FormatError("truncated_ply", "the header has no end_header")
    order: str | None = None
    elements: list[_Element] = []
    for line in raw[: end.start()].decode("latin-1").splitlines()[1:]:
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = BYTE_ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append(_Element(words[1], _count(words[2])))
            elif words[:2] == ["property", "list"]:
                last = elements[-1]
                last.lists.append((words[4], SCALARS[words[2]], SCALARS[words[3]], len(last.scalars)))
            elif words[:1] == ["property"]:
                elements[-1].scalars.append((words[2], SCALARS[words[1]]))
        except (IndexError, KeyError, ValueError) as error:
            raise FormatError("bad_ply_header", f"the header line {line.strip()!r} cannot be read") from error
    if order is None:
        raise FormatError("bad_ply_header", "the header names no format")
    for element in elements:
        names = [*(n for n, _ in element.scalars), *(n for n, *_ in element.lists)]
        if len(set(names)) < len(names) or sum(e.name == element.name for e in elements) > 1:
            raise FormatError("bad_ply_header", f"element {element.name} or one of its properties is declared twice")
    return order, elements, end.end()


def _count(word: str) -> int:
    if not word.isdecimal() or len(word) > 18:
        raise ValueError(word)
    return int(word)


def _face_list(element: _Element) -> tuple[str, str, str, int]:
    """The one list that a face may have."""
    if len(element.lists) == 1 and element.lists[0][0] in INDEX_NAMES:
        if "f" in element.lists[0][1] + element.lists[0][2]:
            raise FormatError("unsupported_ply", "the faces count or name their vertices in floating point")
        return element.lists[0]
    names = ", ".join(name for name, *_ in element.lists) or "none"
    raise FormatError("unsupported_ply", f"faces need one list, {' or '.join(INDEX_NAMES)}; found {names}")


def _read_binary(raw: bytes, at: int, order: str, elements: list[_Element]) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for element in elements:
        fields: list[Any] = [(name, order + kind) for name, kind in element.scalars]
        if element.name == "face":
            _, count, item, place = _face_list(element)
            before = sum(np.dtype(kind).itemsize for _, kind in element.scalars[:place])
            first = raw[at + before : at + before + np.dtype(count).itemsize]
            sides = QUAD if int.from_bytes(first, "big" if order == ">" else "little") == QUAD else 3
            fields[place:place] = [("#corners", order + count), ("#indices", order + item, (sides,))]
        else:
            _refuse_lists(element)
        record = np.dtype(fields)
        there = min(element.count, (len(raw) - at) // max(record.itemsize, 1))
        table = np.frombuffer(raw, record, there, at)
        if element.name == "face":
            _check_corners(table["#corners"], sides)
        if there < element.count:
            raise _truncated(element, there)
        tables[element.name] = {name: table[name] for name in record.names or ()}
        at += element.count * record.itemsize
        if {"vertex", "face"} <= set(tables):
            break  # what follows is of no use here
    return tables


def _read_ascii(raw: bytes, at: int, order: str, elements: list[_Element]) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    split = raw[at:].split()
    if max(map(len, split), default=0) > MAX_WORD:
        raise FormatError("bad_ply_number", f"a word of {max(map(len, split))} characters stands among the numbers")
    words, used = np.array(split, dtype=f"S{MAX_WORD}"), 0
    for element in elements:
        names = [name for name, _ in element.scalars]
        if element.name == "face":
            place = _face_list(element)[3]
            sides = QUAD if words[used + place : used + place + 1] == [str(QUAD).encode()] else 3
            names[place:place] = ["#corners", *(f"#{i}" for i in range(sides))]
        else:
            _refuse_lists(element)
        there = min(element.count, (len(words) - used) // max(len(names), 1))
        try:
            block = words[used : used + there * len(names)].reshape(there, len(names)).astype(np.float64)
        except ValueError as error:
            raise FormatError("bad_ply_number", f"element {element.name}: {error}") from error
        table: dict[str, Any] = dict(zip(names, block.T, strict=True))
        if element.name == "face":
            _check_corners(table["#corners"], sides)
            corners = np.stack([table.pop(f"#{i}") for i in range(sides)], axis=1)
            table["#indices"] = np.nan_to_num(corners, nan=-1.0).clip(-1, np.iinfo(np.int32).max).astype(np.int64)
        if there < element.count:
            raise _truncated(element, there)
        tables[element.name] = table
        used += element.count * len(names)
        if {"vertex", "face"} <= set(tables):
            break
    return tables


def _refuse_lists(element: _Element) -> None:
    if element.lists:
        raise FormatError("unsupported_ply", f"element {element.name} has lists, whose length is not known")


def ply_bytes(
    vertices: FloatArray, faces: npt.NDArray[np.int32], colors: npt.NDArray[Any], *, alpha: bool = False
) -> bytes:
    """A coloured mesh as binary little-endian PLY: vertices (V, 3), triangles (F, 3), colours (V, 3) from 0 to 255.

    With ``alpha`` each colour has a fourth channel of 255, as in ScanNet's ``_vh_clean_2.ply``.
    """
    channels = ["red", "green", "blue", *(["alpha"] if alpha else [])]
    points = np.zeros(len(vertices), [("place", "<f4", 3), ("color", "u1", len(channels))])
    points["place"], points["color"] = vertices, 255
    points["color"][:, :3] = colors
    corners = np.zeros(len(faces), [("count", "u1"), ("indices", "<i4", 3)])
    corners["count"], corners["indices"] = 3, faces
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(points)}",
        *(f"property float {name}" for name in "xyz"),
        *(f"property uchar {name}" for name in channels),
        f"element face {len(corners)}",
        "property list uchar int vertex_indices",
        "end_header\n",
    ]
    return "\n".join(header).encode() + points.tobytes() + corners.tobytes()


def _truncated(element: _Element, found: int) -> FormatError:
    message = f"the file breaks off: {element.count} entries of element {element.name} declared, {found} there"
    return FormatError("truncated_ply", message)
