"""Topics of a ULog file as tables. Format: docs.px4.io, "ULog File Format", version 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.formats.logs.log import Damage, Records, damage_findings, file_bytes, table

MAGIC: Final = b"ULog\x01\x12\x35"
_HEADER_BYTES: Final = 16
_SYNC: Final = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
_FORMAT, _ADD, _DATA, _DROPOUT, _FLAGS = b"FADOB"
_OTHER: Final = frozenset(b"IMPQRSLC")  # information, parameters, removals, synchronisation, texts
_LARGEST: Final = 0xFFFF  # bytes of a message
_DEEPEST: Final = 8  # formats within formats
_KNOWN_FLAGS: Final = 1  # of the first incompatible byte: data appended
_TYPES: Final[dict[str, str]] = load_table("logs/formats")["ulog"]


class UlogRecording(NamedTuple):
    """The logged values of the topics asked for.

    Attributes:
        topics: of each topic its instance with most messages, (N,) with the fields of its format.
        dropouts_ms: durations for which the logger lost messages.
        findings: about damage of the file.
    """

    topics: Mapping[str, Records]
    dropouts_ms: list[int]
    findings: tuple[Finding, ...]


@dataclass
class _Subscription:
    """One instance of a topic. Padding at the end of a format may be logged or not."""

    name: str
    instance: int
    dtype: np.dtype[Any]
    most: int
    starts: list[int] = field(default_factory=list)


def read_topics(path: Path, wanted: Collection[str]) -> UlogRecording:
    """The wanted topics of a file; of a damaged one, all that can be told apart. Raises RawDataError."""
    raw = file_bytes(path)
    if not raw.startswith(MAGIC):
        raise RawDataError(path, "not_ulog", "the file does not begin as a ULog does", "give a .ulg file of PX4")
    definitions = _Definitions(path, wanted)
    damages: list[Damage] = []
    at, end, search = _HEADER_BYTES, len(raw), _HEADER_BYTES
    while at < end:
        size = raw[at] | raw[at + 1] << 8 if at + 3 <= end else end
        body, after = at + 3, at + 3 + size
        whole = after <= end and size > 0
        if whole and raw[at + 2] == _DATA:
            topic = definitions.topics.get(raw[body] | raw[body + 1] << 8, _UNKNOWN) if size > 2 else _UNKNOWN
            if topic is not None:
                whole = topic.dtype.itemsize <= size - 2 <= topic.most
                if whole:
                    topic.starts.append(body + 2)
        elif whole:
            whole = definitions.take(raw[at + 2], raw[body:after])
        if whole:
            search = body + 1  # not from here on: the size of a message, when wrong, hides others
        else:
            sync = raw.find(_SYNC, search)
            stop = sync if sync >= 0 else end
            damages.append(Damage(min(at, stop), stop))
            after = search = stop + len(_SYNC)
        at = after
    return UlogRecording(definitions.tables(raw), definitions.dropouts_ms, damage_findings(end, damages))


class _Definitions:
    """The formats, and the number of each topic, as the messages other than data have them."""

    def __init__(self, path: Path, wanted: Collection[str]) -> None:
        self.path = path
        self.wanted = wanted
        self.formats: dict[str, str] = {}
        self.layouts: dict[str, tuple[np.dtype[Any], int] | None] = {}  # None: broken
        self.topics: dict[int, _Subscription | None] = {}  # None: a topic that nobody asked for
        self.wanted_topics: list[_Subscription] = []
        self.dropouts_ms: list[int] = []

    def take(self, kind: int, body: bytes) -> bool:
        """Takes one message; False where the bytes cannot be one."""
        if kind == _FORMAT:
            name, _, fields = body.decode("utf-8", "replace").partition(":")
            self.formats[name] = fields
        elif kind == _ADD and len(body) > 3:
            name = body[3:].decode("utf-8", "replace")
            layout = self._layout(name) if name in self.wanted else None
            topic = None if layout is None else _Subscription(name, body[0], *layout)
            self.topics[body[1] | body[2] << 8] = topic
            if topic is not None:
                self.wanted_topics.append(topic)
        elif kind == _DROPOUT and len(body) == 2:
            self.dropouts_ms.append(body[0] | body[1] << 8)
        elif kind == _FLAGS:
            if len(body) >= 16 and (body[8] & ~_KNOWN_FLAGS or any(body[9:16])):
                message = f"incompatible flags {body[8:16].hex()} are set"
                raise RawDataError(self.path, "unknown_ulog", message, "convert it with PX4's own tools to version 1")
        else:
            return kind in _OTHER
        return True

    def _layout(self, name: str) -> tuple[np.dtype[Any], int] | None:
        """Fields as logged and most bytes of a message; looked up once, for all formats come before the topics."""
        if name not in self.layouts:
            try:
                logged, full = (_dtype(name, self.formats, padded=padded) for padded in (False, True))
                self.layouts[name] = (logged, full.itemsize) if logged.itemsize else None
            except (ValueError, TypeError, KeyError, OverflowError):
                self.layouts[name] = None
        return self.layouts[name]

    def tables(self, raw: bytes) -> dict[str, Records]:
        """Of each topic the instance with most messages, the first of equals."""
        found: dict[str, Records] = {}
        for topic in sorted(self.wanted_topics, key=lambda one: (-len(one.starts), one.instance)):
            if topic.starts and topic.name not in found:
                found[topic.name] = table(raw, topic.starts, topic.dtype)
        return found


def _dtype(name: str, formats: Mapping[str, str], *, padded: bool = True, depth: int = 0) -> np.dtype[Any]:
    """Layout of a format, for example "uint64_t timestamp;float[4] q;uint8_t[4] _padding0;"."""
    if depth > _DEEPEST:
        raise ValueError("formats within formats without end")
    fields = [tuple(one.split(" ")) for one in formats[name].split(";") if one]
    while not padded and fields and fields[-1][-1].startswith("_padding"):
        fields.pop()
    layout, size = [], 0
    for kind, label in fields:
        base, _, written = kind.rstrip("]").partition("[")
        length = int(written) if written else 1
        one = np.dtype(_TYPES[base]) if base in _TYPES else _dtype(base, formats, depth=depth + 1)
        size += length * one.itemsize
        if length < 1 or size > _LARGEST:  # looked at field by field: a trap of formats within formats ends early
            raise ValueError("larger than any message")
        layout.append((label, one, (length,)) if written else (label, one))
    return np.dtype(layout)


# Of a topic that was never announced no message has the right size.
_UNKNOWN: Final = _Subscription("", 0, np.dtype("V65535"), 0)
