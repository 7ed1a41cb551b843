"""Results on disk: a file per stage and unit, named by the digests of its inputs and of its content; many, in packs.

``<store>/<stage>/<dataset>/<unit>.<key>.<digest><suffix>``: the key is a digest of everything the result depends on,
the digest is that of stage, unit and the file's bytes. So a listing of the folder is its index, and a file that was
cut, changed or given another's name is noticed when it is read. Files are written to a temporary name and
renamed: after a kill at any point a result is there completely or not at all. They are not synced: what a power cut
takes is noticed by its digest, and made again.

Where a stage has more than `PACK_RESULTS` results, the end of a build, or of a round, moves them into packs,
``<store>/<stage>/packs/<bits>.<digest>.zip``: uncompressed archives with the same names, of the units whose hash begins
with these bits. New results stay files until a fourth of their pack has changed, so that a fix rewrites few packs.
"""

import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, write_atomically
from pipeline.core.groups import grouped
from pipeline.core.identity import DIGEST_CHARS, digest_of, shard_of

PACK_RESULTS: Final = 256  # in a new pack at most, on average over a stage; at least half of it
PACKED_BYTES: Final = 2**18  # a larger result stays a file
PACK_CHANGED: Final = 4  # a pack is written anew once a fourth of it has changed
PACKS: Final = "packs"  # folder of a stage
_ALL: Final = "all"  # in place of no bits
_PACK: Final = re.compile(rf"(?:{_ALL}|[01]+)\.[0-9a-f]{{{DIGEST_CHARS}}}\.zip")
_HEADER_BYTES: Final = 30  # of a member in an archive, before its name


class Result(NamedTuple):
    """A finished result: the digest of its stage, unit and bytes, and its name, that of its file or of a pack's member.

    A build has some ten results a scene in memory; a Path of each would take most of it.
    """

    digest: str
    root: Path
    name: str

    @property
    def path(self) -> Path:
        """Where its bytes lie, unless they are in a pack."""
        return self.root / self.name


class Store:
    """The results of one build. Raises StoreError, in one line, when the disk refuses."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def index(self, stage: str, units: Collection[str] | None = None) -> dict[tuple[str, str], Result]:
        """The results of a stage, of all units or some, by (unit, key), from one listing of its folders and packs."""
        found: dict[tuple[str, str], Result] = {}
        packs = _packs_in(self.root / stage)
        if units is not None:
            wanted = {bits[:depth] for bits in map(hash_bits, units) for depth in packs.depths}
            packs = Packs({bits: own for bits, own in packs.items() if bits in wanted})
        for name in chain((name for pack in chain(*packs.values()) for name in _members(pack)), self._loose(stage)):
            unit, key, digest = _parts(name)
            if digest and (units is None or unit in units):
                found[unit, key] = Result(digest, self.root, f"{stage}/{name}")
        return found

    def put(self, stage: str, unit: str, key: str, raw: bytes, suffix: str) -> Result:
        """Writes one result."""
        digest = _digest(stage, unit, raw)
        result = Result(digest, self.root, f"{stage}/{unit}.{key}.{digest}{suffix}")
        write_atomically(result.path, raw, sync=False)
        return result

    def get(self, result: Result) -> bytes:
        """The bytes of a result. Raises StoreError if they are not what the name says."""
        stage, _, name = result.name.partition("/")
        unit, damaged = _unit_of(name), False
        try:
            for _ in range(2):
                for raw in self._copies(result, packs_of(name, _known_packs(self.root / stage))):
                    if _digest(stage, unit, raw) == result.digest:
                        return raw
                    damaged = True
                _known_packs.cache_clear()  # packs may have been replaced since they were listed
                _members_of_whole.cache_clear()
            if not damaged:
                result.path.read_bytes()  # which says why it cannot be
        except OSError as error:
            raise StoreError(f"{result.path}: cannot be read ({error.strerror}); run the build again") from error
        raise StoreError(f"{result.path}: damaged since it was written; run the build again")

    def _copies(self, result: Result, packs: Iterable[Path]) -> Iterator[bytes]:
        """What is stored under the name of a result, in packs and in a file."""
        name = result.name.partition("/")[2]
        for pack in packs:
            if name in (members := _members(pack)):
                with suppress(FileNotFoundError):
                    yield _read_member(pack, *members[name])
        with suppress(FileNotFoundError):
            yield result.path.read_bytes()

    def is_sound(self, result: Result) -> bool:
        """Whether a result can be read: a pack is examined once as a whole, a file of its own is read."""
        stage, _, name = result.name.partition("/")
        packs = packs_of(name, _known_packs(self.root / stage))
        if any(name in _members(pack) and _is_sound_pack(pack) for pack in packs):
            return True
        try:
            self.get(result)
        except StoreError:
            return False
        return True

    def are_sound(self, results: Sequence[Result], bits: str) -> bool:
        """Whether all of some results of a stage can be read, whose units' hashes begin with these bits."""
        if not results:
            return True
        stage = results[0].name.partition("/")[0]
        packs = [
            pack
            for own, found in _known_packs(self.root / stage).items()
            for pack in (found if own.startswith(bits) or bits.startswith(own) else ())
            if _is_sound_pack(pack)
        ]
        held = [_members(pack) for pack in packs]
        names = (result.name.partition("/")[2] for result in results)
        unheld = (result for name, result in zip(names, results, strict=True) if not any(name in own for own in held))
        return all(map(self.is_sound, unheld))

    def sizes(self, stage: str, results: Iterable[Result]) -> list[int]:
        """The bytes that each result of a stage takes; 0 where it is gone."""
        packs, sizes = _packs_in(self.root / stage), []
        for result in results:
            name = result.name.partition("/")[2]
            try:
                sizes.append(result.path.stat().st_size)
            except FileNotFoundError:
                found = (_members(pack).get(name) for pack in packs_of(name, packs))
                sizes.append(next((size for _, size in filter(None, found)), 0))
        return sizes

    def prune(self, keep: Iterable[Result]) -> None:
        """Removes every result that is not in ``keep``, and what killed processes left; no file of anybody else's.

        Packs keep what they hold until they are written anew.
        """
        kept: dict[str, set[str]] = {}
        for result in keep:
            stage, _, name = result.name.partition("/")
            kept.setdefault(stage, set()).add(name)
        for place, _, files in os.walk(self.root):
            stage, _, dataset = Path(place).relative_to(self.root).as_posix().partition("/")
            for file in files:
                name = f"{dataset}/{file}"
                if file.startswith(TEMPORARY) or (_parts(name)[0] and name not in kept.get(stage, ())):
                    Path(place, file).unlink(missing_ok=True)
        for folder in sorted(path for path in self.root.glob("*") if path.is_dir()):
            self._pack(folder, kept.get(folder.name, set()))

    def pack(self, stage: str, units: int) -> None:
        """Moves the results of a stage that has, or is to have, so many units into packs, in the midst of a build."""
        self._pack(self.root / stage, None, units)

    def _loose(self, stage: str) -> Iterator[str]:
        """The names, below the stage's folder, of the files in its folders."""
        for folder in sorted(path for path in (self.root / stage).glob("*") if path.is_dir()):
            yield from (f"{folder.name}/{file}" for file in os.listdir(folder))  # noqa: PTH208 # there are millions

    def _pack(self, folder: Path, kept: Set[str] | None, units: int = 0) -> None:
        """Moves results of a stage into packs where it has many, and replaces the packs of which much has changed.

        It will have so many units at least. A new pack is there before anything that it replaces is removed.
        Where all is kept (None), packs that get nothing new are not read: a round costs no more in a larger build.
        """
        old = _packs_in(folder)
        depths = {len(bits) for bits in old}
        loose = {
            name
            for name in self._loose(folder.name)
            if (_parts(name)[0] if kept is None else name in kept) and (folder / name).stat().st_size <= PACKED_BYTES
        }
        depth = _new_depth(units, depths)
        if kept is None and depths == {depth}:
            old = Packs({b: old[b] for b in {hash_bits(_unit_of(name))[:depth] for name in loose} & old.keys()})
        held = {pack: set(_members(pack)) for pack in chain(*old.values())}
        there = set().union(*held.values())
        wanted = sorted(loose | (there if kept is None else kept & there))
        if kept is not None:
            depth = _new_depth(len(wanted), depths)
        if depth is None:
            return
        members = grouped(wanted, lambda name: hash_bits(_unit_of(name))[:depth])
        replaced = {pack for bits in old.keys() - members for pack in old[bits]}
        moved: set[str] = set()
        for bits, mine in sorted(members.items()):
            own = old.get(bits, [])
            there = set().union(*(held[pack] for pack in own))
            changed = len(there ^ set(mine)) + len(there & loose)
            if len(own) != 1 or changed * PACK_CHANGED > len(mine):
                replaced |= {*own} - {self._write_pack(folder, bits, mine)}
                moved |= loose & set(mine)
        for path in (*(folder / name for name in moved), *replaced):
            path.unlink(missing_ok=True)

    def _write_pack(self, folder: Path, bits: str, names: Sequence[str]) -> Path:
        """Writes a pack; a damaged result is left out, and the next build makes it again."""
        archive = io.BytesIO()
        with ZipFile(archive, "w") as pack:
            for name in names:
                with suppress(StoreError):
                    found = Result(_parts(name)[2], self.root, f"{folder.name}/{name}")
                    pack.writestr(ZipInfo(name), self.get(found))
        path = folder / PACKS / f"{bits or _ALL}.{digest_of(archive.getvalue())}.zip"
        write_atomically(path, archive.getvalue())
        return path


class Packs(dict[str, list[Path]]):
    """The packs of a stage, by the bits in their names."""

    @cached_property
    def depths(self) -> list[int]:
        """How many bits they have."""
        return sorted(set(map(len, self)))


def packs_of(name: str, packs: Packs) -> list[Path]:
    """The packs of a stage that may hold a result, by its name below the stage's folder."""
    bits = hash_bits(_unit_of(name))
    return [pack for depth in packs.depths for pack in packs.get(bits[:depth], ())]


def by_bits(files: Iterable[Path]) -> Packs:
    """The packs among some files."""
    found = Packs()
    for file in sorted(files):
        if _PACK.fullmatch(file.name):
            bits = file.name.partition(".")[0]
            found.setdefault("" if bits == _ALL else bits, []).append(file)
    return found


def _packs_in(folder: Path) -> Packs:
    """The packs of a stage."""
    with suppress(FileNotFoundError):
        return by_bits((folder / PACKS).iterdir())
    return Packs()


_known_packs = lru_cache(64)(_packs_in)


def _members(pack: Path) -> dict[str, tuple[int, int]]:
    """Where the results in a pack are, and their lengths; none in a damaged one, or one that is gone."""
    # A directory of damaged bytes may state another version of zip, or names in no encoding.
    with suppress(OSError, BadZipFile, NotImplementedError, ValueError):
        return _members_of_whole(pack)
    return {}


@lru_cache(512)  # a pack's name is that of its content
def _members_of_whole(pack: Path) -> dict[str, tuple[int, int]]:
    with ZipFile(pack) as archive:
        return {
            member.filename: (member.header_offset + _HEADER_BYTES + len(member.filename.encode()), member.file_size)
            for member in archive.infolist()
            if member.file_size <= PACKED_BYTES and member.header_offset >= 0  # less: damaged
        }


def _is_sound_pack(pack: Path) -> bool:
    """Whether a pack is there, with the content that its name tells."""
    with suppress(FileNotFoundError):  # it was replaced since packs were listed
        return _is_as_named(pack, pack.stat().st_ctime_ns)
    return False


@lru_cache(4096)
def _is_as_named(pack: Path, changed_at: int) -> bool:
    return digest_of(pack.read_bytes()) == pack.name.split(".")[1]


def _read_member(pack: Path, offset: int, size: int) -> bytes:
    with pack.open("rb") as file:
        return os.pread(file.fileno(), size, offset)


def _new_depth(count: int, depths: Set[int]) -> int | None:
    """How many bits of the hash tell the packs of ``count`` results apart, after these; None: results stay files."""
    if not depths and count <= PACK_RESULTS:
        return None
    if len(depths) == 1:
        depth = min(depths)
        if count <= 2 * PACK_RESULTS << depth and (not depth or count >= PACK_RESULTS << depth >> 2):
            return depth
    return depth_of(count)


def depth_of(units: int) -> int:
    """How many bits of the hash part so many units into packs of at most `PACK_RESULTS` on average."""
    return max(0, -(-units // PACK_RESULTS) - 1).bit_length()


@lru_cache(2**14)
def hash_bits(unit: str) -> str:
    """The hash of a unit, by which it is in a pack."""
    return f"{shard_of(unit, 2**32):032b}"


def _unit_of(name: str) -> str:
    return name.rsplit(".", 3)[0]


def _digest(stage: str, unit: str, raw: bytes) -> str:
    return digest_of([stage, unit, digest_of(raw)])


def _parts(name: str) -> tuple[str, str, str]:
    """Unit, key and digest of a result's name below the folder of its stage; empty for a temporary or foreign file."""
    dataset, _, file = name.partition("/")
    rest, _, suffix = file.rpartition(".")
    rest, _, digest = rest.rpartition(".")
    unit, _, key = rest.rpartition(".")
    sound = unit and suffix and len(key) == len(digest) == DIGEST_CHARS and not file.startswith(TEMPORARY)
    return (f"{dataset}/{unit}", key, digest) if sound else ("", "", "")
