"""Bytes of a PX4 ULog file. Source: docs.px4.io, "ULog File Format", version 1."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_MAGIC: Final = b"ULog\x01\x12\x35\x01"
_NO_FLAGS: Final = bytes(8 + 8 + 3 * 8)  # compatible, incompatible, offsets of appended data
_DTYPES: Final = {"uint64_t": "<u8", "int32_t": "<i4", "uint16_t": "<u2", "uint8_t": "u1", "bool": "?"} | {
    "double": "<f8",
    "float": "<f4",
}


@dataclass(frozen=True)
class Topic:
    """Messages of one kind.

    Attributes:
        name: of the topic and of its format.
        t_us: (N,) microseconds since boot, ascending.
        fields: type and values (N,) or (N, k) by name, the greater types first, so that no padding is needed.
    """

    name: str
    t_us: npt.NDArray[np.int64]
    fields: Mapping[str, tuple[str, Any]]


def ulog_bytes(topics: Sequence[Topic], information: Mapping[str, str]) -> bytes:
    """A whole file: definitions, then the data of all topics by time."""
    times = np.concatenate([topic.t_us for topic in topics])
    head = [_MAGIC + struct.pack("<Q", int(times.min())), _message(b"B", _NO_FLAGS)]
    for key, text in information.items():
        named = f"char[{len(text.encode())}] {key}".encode()
        head.append(_message(b"I", bytes([len(named)]) + named + text.encode()))
    head += [_message(b"F", _definition(topic).encode()) for topic in topics]
    head += [_message(b"A", struct.pack("<BH", 0, i) + topic.name.encode()) for i, topic in enumerate(topics)]
    rows = [row for i, topic in enumerate(topics) for row in _data(i, topic)]
    return b"".join([*head, *(rows[i] for i in np.argsort(times, kind="stable"))])


def _message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<H", len(body)) + kind + body


def _definition(topic: Topic) -> str:
    named = {"timestamp": ("uint64_t", topic.t_us)} | dict(topic.fields)
    parts = []
    for name, (kind, values) in named.items():
        width = np.shape(values)[1:]
        parts.append(f"{kind}[{width[0]}] {name};" if width else f"{kind} {name};")
    return f"{topic.name}:{''.join(parts)}"


def _data(number: int, topic: Topic) -> list[bytes]:
    """The data messages of a topic."""
    fields = {name: (_DTYPES[kind], np.shape(values)[1:], values) for name, (kind, values) in topic.fields.items()}
    layout = [("size", "<u2"), ("kind", "S1"), ("number", "<u2"), ("timestamp", "<u8")]
    table = np.zeros(len(topic.t_us), [*layout, *((name, kind, width) for name, (kind, width, _) in fields.items())])
    table["size"], table["kind"], table["number"] = table.dtype.itemsize - 3, b"D", number
    table["timestamp"] = topic.t_us
    for name, (_, _, values) in fields.items():
        table[name] = values
    raw, size = table.tobytes(), table.dtype.itemsize
    return [raw[i : i + size] for i in range(0, len(raw), size)]
