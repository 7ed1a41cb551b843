"""Results on disk: one file per stage and unit, named by the digests of its inputs and of its content.

``<store>/<stage>/<dataset>/<unit>.<key>.<digest><suffix>``: the key is a digest of everything the result depends on,
the digest is that of stage, unit and the file's bytes. So a listing of the folder is its index, and a file that was
cut, changed or given another's name is noticed when it is read. Files are written to a temporary name and
renamed: after a kill at any point a result is there completely or not at all. They are not synced: what a power cut
takes is noticed by its digest, and made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, write_atomically
from pipeline.core.identity import DIGEST_CHARS, digest_of


class Result(NamedTuple):
    """A finished result: the digest of its stage, unit and bytes, and the name of their file in the store's folder.

    A build has some ten results a scene in memory, twice; a Path of each would take most of it.
    """

    digest: str
    root: Path
    name: str

    @property
    def path(self) -> Path:
        """Where its bytes lie."""
        return self.root / self.name


class Store:
    """The results of one build. Raises StoreError, in one line, when the disk refuses."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def index(self, stage: str) -> dict[tuple[str, str], Result]:
        """All results of a stage by (unit, key), from one listing of its folders."""
        found: dict[tuple[str, str], Result] = {}
        for folder in sorted(p for p in (self.root / stage).glob("*") if p.is_dir()):
            for file in os.listdir(folder):  # noqa: PTH208 # names are enough, and there are millions
                name, key, digest = _parts(file)
                if digest:
                    found[f"{folder.name}/{name}", key] = Result(digest, self.root, f"{stage}/{folder.name}/{file}")
        return found

    def put(self, stage: str, unit: str, key: str, raw: bytes, suffix: str) -> Result:
        """Writes one result."""
        digest = _digest(stage, unit, raw)
        result = Result(digest, self.root, f"{stage}/{unit}.{key}.{digest}{suffix}")
        write_atomically(result.path, raw, sync=False)
        return result

    def get(self, result: Result) -> bytes:
        """The bytes of a result. Raises StoreError if they are not what the name says."""
        try:
            raw = result.path.read_bytes()
        except OSError as error:
            raise StoreError(f"{result.path}: cannot be read ({error.strerror}); run the build again") from error
        stage, _, file = result.name.partition("/")
        if _digest(stage, file.rsplit(".", 3)[0], raw) != result.digest:
            raise StoreError(f"{result.path}: damaged since it was written; remove it and run the build again")
        return raw

    def prune(self, keep: Iterable[Result]) -> None:
        """Removes every result that is not in ``keep``, and what killed processes left; no file of anybody else's."""
        kept = {result.name for result in keep}
        for path in sorted(self.root.rglob("*")):
            ours = path.name.startswith(TEMPORARY) or _parts(path.name)[0]
            if ours and path.relative_to(self.root).as_posix() not in kept and not path.is_dir():
                path.unlink(missing_ok=True)


def _digest(stage: str, unit: str, raw: bytes) -> str:
    return digest_of([stage, unit, digest_of(raw)])


def _parts(file: str) -> tuple[str, str, str]:
    """Unit name, key and digest of a result's file name; empty strings for a temporary or foreign file."""
    name, _, rest = file.rpartition(".")
    name, _, digest = name.rpartition(".")
    name, _, key = name.rpartition(".")
    sound = name and rest and len(key) == len(digest) == DIGEST_CHARS and not file.startswith(TEMPORARY)
    return (name, key, digest) if sound else ("", "", "")
