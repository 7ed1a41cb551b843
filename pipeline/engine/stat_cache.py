"""What of a build need not be read again while its files are as they were: listings of roots, and its results.

As in git's index, a file is as it was while its size, its inode and its times of modification and of change are those
noted. Nobody sets the last of these: a file that another one is copied over, with its time, is read again.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from pipeline.core.budget import WorkerLimits
from pipeline.core.files import write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.mirrors import mirror_of
from pipeline.engine.code import code_digest
from pipeline.reading.files import Listing, SceneRef
from pipeline.reading.folders import SAFE_NAME
from pipeline.reading.listing import list_within
from pipeline.reading.reader import Reader
from pipeline.release.history import RELEASE

STAT_CACHE_FILE: Final = "stat-cache.json"
SETTLED_NS: Final = 2 * 10**9  # what changed less than this ago may change again within the same tick of the clock
_State = tuple[int, ...]
_Refs = list[tuple[str, tuple[str, ...], str, tuple[int, int] | None]]


class StatCache:
    """The stat cache of a build; empty where there is none, or a damaged one.

    Args:
        folder: of the build.
        inner: the folders below it that hold results, and what belongs to these.
    """

    def __init__(self, folder: Path, inner: Iterable[str]) -> None:
        self._folder, self._inner = folder, sorted(set(inner))
        self._results, self._known, self._listed = "", dict[str, Any](), dict[str, _Refs]()
        with suppress(OSError, ValueError, TypeError, KeyError):
            found = json.loads((folder / STAT_CACHE_FILE).read_bytes())
            self._results, self._known = str(found["results"]), dict(found["listings"])

    def listing(self, reader: Reader, root: Path, limits: WorkerLimits) -> Listing:
        """The scenes of a root (`list_within`): as noted, while the files that tell all of them are as they were."""
        files = None if mirror_of(root) else reader.listed_from(root)
        states = [] if files is None else [(os.path.relpath(path, root), state_of(path)) for path in files]
        if not states or max(max(state[2:], default=0) for _, state in states) > time.time_ns() - SETTLED_NS:
            return list_within(reader, root, limits)
        code = code_digest((type(reader).__module__,))
        key = digest_of([repr(reader), code, str(root.resolve()), states])
        with suppress(ValidationError):
            refs = _REFS.validate_python(self._known.get(key))
            if all(SAFE_NAME.fullmatch(part) for ref in refs for part in ref[0].partition("/")[::2]):
                self._listed[key] = refs
                return Listing(tuple(SceneRef(*ref) for ref in refs), ())
        listing = list_within(reader, root, limits)
        if not listing.broken and not any(ref.compared_with for ref in listing.scenes):
            self._listed[key] = [(ref.id, ref.files, ref.stamp, ref.span) for ref in listing.scenes]
        return listing

    @cached_property
    def are_results_as_noted(self) -> bool:
        """Whether each file of the results is as it was when all of them were whole; looked at once."""
        return bool(self._results) and self._results == self._state_of_results()

    def write(self) -> None:
        """Notes the listings of this build, and its results: all of them are whole."""
        if not self.are_results_as_noted or self._listed.keys() != self._known.keys():
            document = {"results": self._state_of_results(), "listings": self._listed}
            write_atomically(self._folder / STAT_CACHE_FILE, json.dumps(document).encode(), sync=False)

    def _state_of_results(self) -> str:
        link = self._folder / RELEASE
        newest = str(link.readlink()) if link.is_symlink() else ""
        return digest_of([newest, [[name, sorted(_states_below(self._folder / name))] for name in self._inner]])


_REFS: Final = TypeAdapter(_Refs)


def _states_below(folder: Path | str) -> Iterator[tuple[str, _State]]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _states_below(entry.path)
            else:
                yield entry.path, state_of(entry)


def state_of(file: Path | os.DirEntry[str]) -> _State:
    """What changes when a file is written or replaced; empty where it cannot be looked at: who reads it says why."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
