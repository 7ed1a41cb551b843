"""Files within a zip of untrusted origin, read one at a time; nothing is extracted to the disk."""

import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from pipeline.core.files import read_file, size_of_file

MAX_MEMBERS: Final = 400_000
MAX_MEMBER_BYTES: Final = 64 * 2**20
ENCRYPTED: Final = 0x1
# What zipfile raises on broken archives; ValueError includes names that are no UTF-8.
_UNREADABLE: Final = (RuntimeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


@dataclass
class Archive:
    """An opened zip. Its file stays open until the object goes."""

    path: Path
    _zip: zipfile.ZipFile | None = field(default=None, init=False, repr=False)

    def opened(self) -> zipfile.ZipFile:
        """The zip, opened when first asked for. Raises OSError."""
        if self._zip is None:
            try:
                size_of_file(self.path)
                self._zip = zipfile.ZipFile(self.path)
            except _UNREADABLE as error:
                raise OSError(f"{self.path.name} is no readable zip: {error}") from error
        return self._zip

    def __del__(self) -> None:
        if self._zip is not None:
            self._zip.close()


@dataclass(frozen=True)
class ZipMember:
    """A file in a zip, with those attributes of a path that readers of pictures use."""

    archive: Archive
    member: str

    @property
    def name(self) -> str:
        """The last part of its name."""
        return PurePosixPath(self.member).name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.member).stem

    @property
    def suffix(self) -> str:
        """The suffix, with its dot."""
        return PurePosixPath(self.member).suffix

    def read_bytes(self) -> bytes:
        """The whole file. Raises OSError where it is broken, encrypted or larger than `MAX_MEMBER_BYTES`."""
        try:
            info = self.archive.opened().getinfo(self.member)
            if info.flag_bits & ENCRYPTED or info.file_size > MAX_MEMBER_BYTES:
                raise OSError(f"{self.member}: encrypted, or {info.file_size} bytes, over {MAX_MEMBER_BYTES}")
            with self.archive.opened().open(info) as member:
                raw = member.read(MAX_MEMBER_BYTES + 1)
        except _UNREADABLE as error:
            raise OSError(f"{self.member}: {error}") from error
        if len(raw) > MAX_MEMBER_BYTES:
            raise OSError(f"{self.member}: over {MAX_MEMBER_BYTES} bytes")
        return raw


def zip_members(path: Path) -> list[ZipMember]:
    """All files of a zip that have a name. Raises OSError where it cannot be read or has more than `MAX_MEMBERS`."""
    archive = Archive(path)
    entries = archive.opened().infolist()
    if len(entries) > MAX_MEMBERS:
        raise OSError(f"{path.name}: {len(entries)} members, over {MAX_MEMBERS}")
    return [ZipMember(archive, entry.filename) for entry in entries if entry.filename and not entry.is_dir()]


def bytes_of(path: Path | ZipMember) -> bytes:
    """A whole file, of a disk or of a zip. Raises OSError."""
    return path.read_bytes() if isinstance(path, ZipMember) else read_file(path)
