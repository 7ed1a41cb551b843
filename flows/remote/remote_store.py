"""A copy of a build in an object store: `--store s3://bucket/prefix`.

The folder of the build stays a local folder. Existing results are fetched before a build, new results are uploaded as
they are made, and at the end the store equals the folder. Results are named by their content, so that their names say
which are missing on either side; for all other files the state is recorded at which both sides were equal.
"""

import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from flows.orchestration.saved_build import SAVED_FILE, UNFINISHED_FILE
from flows.remote.object_store import Bucket, BucketLease
from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, write_atomically
from pipeline.engine.job import Job, JobResult
from pipeline.engine.manifest import MANIFEST_FILE, QUARANTINE_FILE
from pipeline.engine.run import Execute, LocalExecutor
from pipeline.engine.stage import REPLIES_FILE, STORE
from pipeline.release.history import RELEASE, RELEASES
from pipeline.stages.registry import STAGES
from pipeline.stages.review import FOLDER as REVIEW

# URL, and path -> tag, size and time of change of each file when both sides were alike.
ALIKE_FILE: Final = ".alike.json"
AT_ONCE: Final = 16  # requests
# What of a build's folder is on both sides; nothing else is sent, fetched or removed.
SHARED: Final = frozenset(
    {STORE, RELEASES, RELEASE, REVIEW, MANIFEST_FILE, QUARANTINE_FILE, SAVED_FILE, UNFINISHED_FILE, REPLIES_FILE}
    | {folder for stage in STAGES.values() for folder in stage.folders}
)


class RemoteBuildStore:
    """The far side of a build's folder, while its lease is held."""

    def __init__(self, bucket: Bucket, folder: Path, lease: BucketLease) -> None:
        self._bucket, self._folder, self._lease = bucket, folder, lease
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._alike: dict[str, list[object]] = {}
        with suppress(OSError, ValueError, KeyError, TypeError):  # none yet, or damaged: all files are compared anew
            known = json.loads((folder / ALIKE_FILE).read_bytes())
            self._alike = known["files"] if known["url"] == bucket.url else {}

    def fetch(self) -> None:
        """Makes the folder what the far side is. What is here alone stays; what both changed is as the other has it."""
        there = {path: one for path, one in self._bucket.objects().items() if is_shared(path)}
        wanted = [path for path, one in there.items() if self._is_newer(path, one.tag)]
        list(self._threads.map(self._fetch, wanted))
        for path in [path for path in self._alike if path not in there]:
            known = self._alike.pop(path)
            # Removed by another machine. Where there is no build at all somebody emptied the store: it is filled again.
            if MANIFEST_FILE in there and known[1:] == self._as_is(path):
                (self._folder / path).unlink(missing_ok=True)
        self._keep()

    def send(self) -> None:
        """Makes the far side what the folder is. Raises StoreError where another build has taken it over."""
        here = {path.relative_to(self._folder).as_posix() for path in _files(self._folder)}
        here = {path for path in here if is_shared(path)}
        changed = [path for path in here if path not in self._alike or self._alike[path][1:] != self._as_is(path)]
        # What names other files comes after them: whoever looks on meanwhile finds all that is named.
        for last in (False, True):
            self._lease.check()
            list(self._threads.map(self._send, [path for path in changed if ("/" not in path) == last]))
        self._bucket.remove([path for path in self._alike if path not in here])
        self._alike = {path: known for path, known in self._alike.items() if path in here}
        self._keep()

    def sending(self, execute: Execute) -> Execute:
        """Runs batches as before, and sends each result as soon as it is there."""
        return lambda stages, batches: self._sent(execute(stages, batches))

    def fetching(self, execute: Execute) -> Execute:
        """Runs batches on workers that send what they make, and fetches it in the end."""

        def run(stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
            yield from execute(stages, batches)
            self.fetch()

        return run

    def sending_here(self, here: LocalExecutor) -> LocalExecutor:
        """The same as `sending`, of what is done in the build's own process."""
        return lambda label, work: self._sent(here(label, work))

    def _sent(self, dones: Iterable[JobResult]) -> Iterator[JobResult]:
        under_way: list[Future[None]] = []
        for done in dones:
            for entry in done.entries:
                if entry.output is not None and entry.why != "reused":
                    path = entry.output.path.relative_to(self._folder).as_posix()
                    under_way.append(self._threads.submit(self._send, path))
            yield done
        for sent in under_way:
            sent.result()

    def _fetch(self, path: str) -> None:
        got = self._bucket.get(path)
        if got is None:  # nobody but us may remove
            raise StoreError(f"{self._bucket.url}/{path}: gone while it was to be fetched; run it again")
        raw, tag = got
        place = self._folder / path
        if path == RELEASE:
            with suppress(FileNotFoundError):
                place.unlink()
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(raw.decode())
        else:
            write_atomically(place, raw)
        self._alike[path] = [tag, *self._as_is(path)]

    def _send(self, path: str) -> None:
        self._lease.check_late()
        place = self._folder / path
        now = self._as_is(path)
        raw = str(place.readlink()).encode() if place.is_symlink() else place.read_bytes()
        self._alike[path] = [self._bucket.put(path, raw), *now]

    def _is_newer(self, path: str, tag: str) -> bool:
        """Returns whether an object must be fetched: no such file, or the object changed since both were equal."""
        now = self._as_is(path)
        if now and path.startswith(f"{STORE}/"):  # it is what its name says, or that is noticed when it is read
            self._alike.setdefault(path, [tag, *now])
        return not now or self._alike.get(path, [None])[0] != tag

    def _as_is(self, path: str) -> list[object]:
        """Size and time of change of a file; nothing where there is none."""
        try:
            stat = (self._folder / path).lstat()
        except FileNotFoundError:
            return []
        return [stat.st_size, stat.st_mtime_ns]

    def _keep(self) -> None:
        known = {"url": self._bucket.url, "files": self._alike}
        write_atomically(self._folder / ALIKE_FILE, json.dumps(known, sort_keys=True).encode())

    def close(self) -> None:
        """Ends its threads."""
        self._threads.shutdown()


@contextmanager
def remote_build_store(url: str, folder: Path) -> Iterator[RemoteBuildStore]:
    """Within the block the folder is what is kept at a URL, and nobody else builds there.

    However the block ends, what was finished is there afterwards. Raises StoreError where another build works there.
    """
    bucket = Bucket(url)
    with bucket.leased() as lease, closing(RemoteBuildStore(bucket, folder, lease)) as far:
        far.fetch()
        far.send()  # what is here alone, for workers elsewhere
        try:
            yield far
        finally:
            far.send()


def _files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, and the link to the newest release."""
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in files)
        yield from (Path(place, name) for name in folders if Path(place, name).is_symlink())


def is_shared(path: str) -> bool:
    """Returns whether a file or object belongs to both sides. Names that lead outside the folder are refused."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] in SHARED and ".." not in parts and not parts[-1].startswith(TEMPORARY)
