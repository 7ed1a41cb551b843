"""Results on disk: one file per stage and unit, named by the digests of its inputs and of its content.

``<store>/<stage>/<dataset>/<unit>.<key>.<digest><suffix>``: the key is a digest of everything the result depends on,
the digest is that of stage, unit and the file's bytes. So a listing of the folder is its index, and a file that was
cut, changed or given another's name is noticed when it is read. Files are written to a temporary name and
renamed: after a kill at any point a result is there completely or not at all. They are not synced: what a power cut
takes is noticed by its digest, and made again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, write_atomically
from pipeline.core.identity import DIGEST_CHARS, digest_of


class Result(NamedTuple):
    """A finished result: the digest of its stage, unit and bytes, and where they lie."""

    digest: str
    path: Path


class Store:
    """The results of one build. Raises StoreError, in one line, when the disk refuses."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def index(self, stage: str) -> dict[tuple[str, str], Result]:
        """All results of a stage by (unit, key), from one listing of its folders."""
        found: dict[tuple[str, str], Result] = {}
        for folder in sorted(p for p in (self.root / stage).glob("*") if p.is_dir()):
            for path in folder.iterdir():
                name, key, digest = _parts(path)
                if digest:
                    found[f"{folder.name}/{name}", key] = Result(digest, path)
        return found

    def put(self, stage: str, unit: str, key: str, raw: bytes, suffix: str) -> Result:
        """Writes one result."""
        digest = _digest(stage, unit, raw)
        dataset, _, name = unit.partition("/")
        path = self.root / stage / dataset / f"{name}.{key}.{digest}{suffix}"
        write_atomically(path, raw, sync=False)
        return Result(digest, path)

    def get(self, result: Result) -> bytes:
        """The bytes of a result. Raises StoreError if they are not what the name says."""
        try:
            raw = result.path.read_bytes()
        except OSError as error:
            raise StoreError(f"{result.path}: cannot be read ({error.strerror}); run the build again") from error
        folder, name = result.path.parent, result.path.name.rsplit(".", 3)[0]
        if _digest(folder.parent.name, f"{folder.name}/{name}", raw) != result.digest:
            raise StoreError(f"{result.path}: damaged since it was written; remove it and run the build again")
        return raw

    def prune(self, keep: Iterable[Path]) -> None:
        """Removes every result that is not in ``keep``, and what killed processes left; no file of anybody else's."""
        kept = set(keep)
        for path in sorted(self.root.rglob("*")):
            ours = path.name.startswith(TEMPORARY) or _parts(path)[0]
            if ours and path not in kept and not path.is_dir():
                path.unlink(missing_ok=True)


def _digest(stage: str, unit: str, raw: bytes) -> str:
    return digest_of([stage, unit, digest_of(raw)])


def _parts(path: Path) -> tuple[str, str, str]:
    """Unit name, key and digest of a result's file name; empty strings for a temporary or foreign file."""
    name, _, rest = path.name.rpartition(".")
    name, _, digest = name.rpartition(".")
    name, _, key = name.rpartition(".")
    sound = name and rest and len(key) == len(digest) == DIGEST_CHARS and not path.name.startswith(TEMPORARY)
    return (name, key, digest) if sound else ("", "", "")
