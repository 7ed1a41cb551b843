"""ScanNet's two-dimensional instance labels: one PNG per frame in a zip, read without trusting the archive."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.findings import Findings, note
from pipeline.formats.images import decode_numbers
from pipeline.reading.files import SceneFiles

MEMBER: Final = re.compile(r"(?:instance|instance-filt)/(\d{1,7})\.png", re.ASCII)
MAX_MEMBERS: Final = 200_000
MAX_MEMBER_BYTES: Final = 16 * 2**20  # 1296 x 968 pixels of 16 bits are 2.5 MB before they are packed
MAX_OBJECT_ID: Final = 65_534  # images of 16 bits hold objectId + 1
ENCRYPTED: Final = 0x1
# What zipfile raises on broken archives; ValueError includes names that are no UTF-8.
_UNREADABLE: Final = (OSError, RuntimeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


class LabelZipError(Exception):
    """The file is no usable zip."""


@dataclass(frozen=True)
class LabelImages:
    """The members of an instance zip that are label images. Nothing is ever extracted to the disk.

    Attributes:
        path: the zip.
        members: frame number -> member name.
        refused: what is wrong with each of the other members, "name: reason".
    """

    path: Path
    members: dict[int, str]
    refused: tuple[str, ...]

    def object_ids(self, number: int) -> npt.NDArray[np.int32] | None:
        """The objectId (h, w) of each pixel of a frame, -1 for none; None where there is no readable image."""
        name = self.members.get(number)
        if name is None:
            return None
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(name) as member:
                raw = member.read(MAX_MEMBER_BYTES + 1)
        except _UNREADABLE:
            return None
        pixels = decode_numbers(raw) if len(raw) <= MAX_MEMBER_BYTES else None
        return None if pixels is None else pixels.astype(np.int32) - 1  # 0 is none, else objectId + 1


def open_labels(path: Path) -> LabelImages:
    """Looks through the zip's directory. Raises LabelZipError."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except _UNREADABLE as error:
        raise LabelZipError(f"this is no readable zip: {error}") from error
    if len(entries) > MAX_MEMBERS:
        raise LabelZipError(f"{len(entries)} members, over {MAX_MEMBERS}")
    members: dict[int, str] = {}
    refused: list[str] = []
    for entry in entries:
        match = MEMBER.fullmatch(entry.filename)
        if entry.is_dir() and MEMBER.fullmatch(f"{entry.filename}0.png"):
            continue
        if match is None:
            refused.append(f"{entry.filename!r}: not the name of a label image")
        elif entry.flag_bits & ENCRYPTED:
            refused.append(f"{entry.filename!r}: encrypted")
        elif entry.file_size > MAX_MEMBER_BYTES:
            refused.append(f"{entry.filename!r}: {entry.file_size} bytes unpacked, over {MAX_MEMBER_BYTES}")
        elif int(match[1]) in members:
            refused.append(f"{entry.filename!r}: a second image of frame {int(match[1])}")
        else:
            members[int(match[1])] = entry.filename
    return LabelImages(path, members, tuple(refused))


@dataclass(frozen=True)
class ObjectImages:
    """Instance images in terms of a scene's objects."""

    labels: LabelImages
    object_of: dict[int, int]

    def objects(self, number: int) -> npt.NDArray[np.int32] | None:
        """Index (h, w) into ``Scene.objects``, -1 for none, in the frame whose file is named by ``number``."""
        ids = self.labels.object_ids(number)
        if ids is None:
            return None
        table = np.full(MAX_OBJECT_ID + 2, -1, dtype=np.int32)
        for object_id, index in self.object_of.items():
            if 0 <= object_id <= MAX_OBJECT_ID:
                table[object_id] = index
        return table[ids]  # the id -1 takes the last entry, which is -1


def check_labels(files: SceneFiles, path: Path, findings: Findings) -> None:
    """Reports what is wrong with an instance zip, if there is one; no answer depends on it."""
    if not path.is_file():
        return
    where = files.relative(path)
    remedy = "fetch the file again; label images are not needed for questions"
    try:
        labels = open_labels(path)
    except LabelZipError as error:
        findings.add(note("unreadable_zip", "label images", f"{where}: {error}", remedy))
        return
    if labels.refused:
        shown = "; ".join(labels.refused[:3])
        message = f"{where}: {len(labels.refused)} members are not read: {shown}"
        findings.add(note("refused_zip_member", "label images", message, remedy, len(labels.refused), 0, "members"))
