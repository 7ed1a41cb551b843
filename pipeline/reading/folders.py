"""Scene folders below a root: which there are, which split they belong to, and a stamp that tells them changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError, RawDataError, unexpected
from pipeline.core.files import read_file
from pipeline.formats.nearest import nearest_format
from pipeline.reading.files import Listing, SceneRef
from pipeline.reading.reader import Reader

SAFE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,98}")  # of a scene or dataset: part of file names and ids
RENAME: Final = "rename it: it becomes part of file names"
SAFE: Final = "1 to 99 letters, digits, dots, dashes and underscores, the first a letter or a digit"


@dataclass(frozen=True)
class Layout:
    """Where the scenes of a dataset lie.

    Attributes:
        dataset: name of the dataset, first part of every scene's id.
        tops: folders below the root that may hold scene folders; "" is the root itself. Of several groups of them, the
            first one with a scene is taken.
        is_scene: whether a folder of a name is a scene.
        main_files: relative to the scene folder, the files and folders that a message may name.
        expected: what the user should give, for messages.
    """

    dataset: str
    tops: tuple[tuple[str, ...], ...]
    is_scene: Callable[[Path], bool]
    main_files: Callable[[str], tuple[str, ...]]
    expected: str


def list_scenes(
    root: Path,
    layout: Layout,
    chosen: Callable[[Path], bool] = lambda _: True,
    extra: Callable[[Path], bytes] = lambda _: b"",
) -> Listing:
    """All scenes below a root, sorted by id.

    Args:
        root: the dataset's top folder, or the one that holds the scene folders.
        layout: where to look.
        chosen: tells from its folder whether a scene belongs to the split asked for.
        extra: whatever else than the files in its folder a scene depends on, as bytes for its stamp.

    Raises:
        ConfigError: if the folder is missing or holds no scene of this layout.
    """
    if root.is_file():
        hint = nearest_format(root) or f"give the folder that it lies in, {root.resolve().parent}"
        raise ConfigError(f"{root} is a file: {hint}")
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder. Give {layout.expected}")
    folders: dict[str, list[Path]] = {}
    broken: list[RawDataError] = []
    groups = ([f for f in _folders(root, tops) if layout.is_scene(f)] for tops in layout.tops)
    for folder in next((group for group in groups if group), ()):
        if SAFE_NAME.fullmatch(folder.name):
            folders.setdefault(folder.name, []).append(folder)
        else:
            message = f"the folder name {folder.name!r} is not {SAFE}"
            remedy = "rename the folder: it becomes part of file names"
            broken.append(RawDataError(folder, "unsafe_scene_name", message, remedy))
    if not folders and not broken:
        near = nearest_format(root)
        raise ConfigError(
            f"{root}: no scene of {layout.dataset} here. Give {layout.expected}{f'; {near}' if near else ''}"
        )
    refs = []
    for name, places in sorted(folders.items()):
        scene = f"{layout.dataset}/{name}"
        if len(places) > 1:
            where = ", ".join(p.relative_to(root).as_posix() for p in places)
            message = f"the scene has {len(places)} folders, {where}, and which one is right is not known"
            broken.append(RawDataError(places[0], "duplicate_scene", message, "keep one of them", scene))
        elif chosen(places[0]):
            try:
                refs.append(_ref(root, places[0], scene, layout, extra(places[0])))
            except OSError as error:
                message = f"{error.filename}: {error.strerror}"
                remedy = "make the scene's folder and files readable"
                broken.append(RawDataError(places[0], "unreadable_file", message, remedy, scene))
            except Exception as error:
                broken.append(unexpected(error, places[0], scene))
    if not refs and not broken:
        raise ConfigError(
            f"{root}: none of the {len(folders)} scenes here is of the split asked for; take another or all"
        )
    return Listing(tuple(refs), tuple(broken))


def check_scene_name(path: Path, name: str, remedy: str) -> None:
    """Raises RawDataError where a name is none that a scene may have."""
    if not SAFE_NAME.fullmatch(name):
        raise RawDataError(path, "unsafe_scene_name", f"the name {name!r} is not {SAFE}", remedy)


class FolderReader(Reader):
    """Reader whose scenes are found place by place: in folders below the root, or in files there.

    Attributes:
        expected_root: what the user should give, where there is no such folder.
        expected_scenes: what is not there and what the user should give, where no place has a scene.
        scene_word: what a scene is called whose id several places have: it is refused. None: that is not looked for.
    """

    expected_root: str
    expected_scenes: str
    scene_word: str | None = None

    def places(self, root: Path) -> Iterable[Path]:
        """The folders or files that hold scenes, in any order."""
        raise NotImplementedError

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterable[SceneRef]:
        """The scenes of a place. Raises RawDataError, which costs what comes after it there.

        Args:
            root: the reader's.
            place: one of `places`.
            shared: what `shared` gave.
        """
        raise NotImplementedError

    def shared(self, root: Path) -> bytes:
        """The data that all scenes of a root share beside their own files, as bytes for their stamps."""
        return b""

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if not root.is_dir():
            raise ConfigError(f"{root}: no such folder. Give {self.expected_root}")
        shared = self.shared(root)
        found: dict[str, list[SceneRef]] = {}
        broken: list[RawDataError] = []
        for place in sorted(set(self.places(root))):
            try:
                for ref in self.refs(root, place, shared):
                    found.setdefault(ref.id, []).append(ref)
            except Exception as error:
                broken.append(unexpected(error, place))
        if not found and not broken:
            raise ConfigError(f"{root}: {self.expected_scenes}")
        for scene, several in found.items() if self.scene_word else ():
            if len(several) > 1:
                where = ", ".join(ref.files[-1] for ref in several)
                message = f"the {self.scene_word} is there {len(several)} times, as {where}"
                message += ", and which one is right is not known"
                path = root / several[0].files[-1]
                broken.append(RawDataError(path, "duplicate_scene", message, "keep one of them", scene))
        kept = (refs for _, refs in sorted(found.items()) if len(refs) == 1 or not self.scene_word)
        return Listing(tuple(ref for refs in kept for ref in refs), tuple(broken))


def split_names(root: Path, places: Sequence[str], split: str) -> frozenset[str]:
    """The scene names of a split file, one a line. Raises ConfigError where there is none."""
    for place in places:
        path = root / place
        if path.is_file():
            try:
                return frozenset(read_file(path).decode().split())
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"{path}: cannot be read: {error}") from error
    looked = ", ".join(places)
    raise ConfigError(
        f"{root}: no list of the split {split!r} (looked for {looked}). Put one there, or take all scenes"
    )


def digest_files(folder: Path, names: Iterable[tuple[str, os.stat_result]], extra: bytes) -> str:
    """Digest of names, sizes and modification times, and of bytes from elsewhere."""
    total = sha256(extra)
    for name, stat in names:
        total.update(f"\n{name}\0{stat.st_size}\0{stat.st_mtime_ns}".encode(errors="surrogateescape"))
    return total.hexdigest()


def _folders(root: Path, tops: Sequence[str]) -> Iterator[Path]:
    for top in tops:
        folder = root / top
        if folder.is_dir():
            try:
                yield from sorted(entry for entry in folder.iterdir() if entry.is_dir())
            except OSError as error:
                raise ConfigError(f"{folder}: {error.strerror}. Make the folder readable") from error


def _ref(root: Path, folder: Path, scene: str, layout: Layout, extra: bytes) -> SceneRef:
    there = [folder, *(p for n in layout.main_files(folder.name) if (p := folder / n).exists())]
    names = tuple(path.relative_to(root).as_posix() for path in there)
    return SceneRef(scene, names, digest_files(folder, _walk(folder, ""), extra))


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every file below a folder in order of its name, hidden ones apart."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            name = prefix + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _walk(Path(entry.path), name + "/")
            elif entry.is_file():
                yield name, entry.stat()
