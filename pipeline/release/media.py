"""Pictures of questions that other stages wrote beside the store: too many to be held in memory."""

import json
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import pyarrow as pa

from pipeline.core.errors import StoreError
from pipeline.core.files import sha256_of_file, translate_os_errors
from pipeline.core.identity import SHARD_BYTES, shard_of, shards_for
from pipeline.core.parquet import TableFile, shard_name
from pipeline.core.tables import VIDEO_FILES
from pipeline.core.video_spec import VIDEOS

DRAWINGS: Final = "pictures"  # folder of a release
FOLDER: Final = "pictures"  # of a build
VIDEO_FOLDER: Final = "media"  # of a release that has the videos


_BYTES: Final = pa.struct({"bytes": pa.binary(), "path": pa.string()})  # as `datasets` keeps images and videos
_AT_ONCE: Final = {"image": 100, "video": 1}  # rows that are held in memory


class MediaTable(NamedTuple):
    """A table of the pictures or videos of a folder, in it: what the Hugging Face hub shows as such.

    Attributes:
        column: "image" or "video", as the hub calls them.
        files: its files in the release -> SHA-256.
    """

    folder: str
    column: str
    files: dict[str, str]
    num_rows: int
    nbytes: int


def media_table(
    folder: Path, name: str, split: str, files: Iterable[str], most_bytes: int = SHARD_BYTES
) -> MediaTable | None:
    """Writes the table of a folder's pictures, or of its videos; None where it has none.

    Args:
        folder: of the release.
        name: of the folder below it.
        split: of the release.
        files: of the release.
        most_bytes: of a file of the table, on average: of more the hash of a picture's name says in which it is.
    """
    own = sorted(file for file in files if file.startswith(f"{name}/"))
    if not own:
        return None
    column = "video" if name == VIDEO_FOLDER else "image"
    features = {"file": {"dtype": "string", "_type": "Value"}, column: {"_type": column.capitalize()}}
    schema = pa.schema({"file": pa.string(), column: _BYTES})
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    of, sums, num_rows, nbytes = shards_for(sum((folder / file).stat().st_size for file in own) / most_bytes), {}, 0, 0
    for number in range(of):
        path, mine = f"{name}/{shard_name(split, number, of)}", [file for file in own if shard_of(file, of) == number]
        with TableFile(folder / path, schema, 1, described, _AT_ONCE[column]) as table:
            for start in range(0, len(mine), _AT_ONCE[column]):
                rows = [
                    {"file": file, column: {"bytes": (folder / file).read_bytes(), "path": file}}
                    for file in mine[start : start + _AT_ONCE[column]]
                ]
                table.append(pa.Table.from_pylist(rows, schema))
            table.finish()
            table.publish()
        sums[path], num_rows, nbytes = table.sha256, num_rows + table.num_rows, nbytes + table.nbytes
    return MediaTable(name, column, sums, num_rows, nbytes)


class MediaFile(NamedTuple):
    """A picture or video: its file in the release, where it is, its digest, and the questions of it; None: of any."""

    file: str
    path: Path
    sha256: str
    of: frozenset[int] | None


def media_of(results: Iterable[bytes], build: Path) -> Iterator[MediaFile]:
    """The pictures that results of stage `views` name, in a build's folder."""
    for raw in results:
        for one in json.loads(raw)["pictures"]:
            yield MediaFile(one["file"], build / one["picture"], one["sha256"], frozenset(one["of"]))


def videos_table(results: Iterable[bytes]) -> pa.Table:
    """The videos (`tables.VIDEO_FILES`) that results of stages `video`, `bev_video` and `clip` name, by file."""
    rows = []
    for raw in results:
        result = json.loads(raw)
        for one in result.get("clips", [result] if result.get("video") else []):
            file = PurePosixPath(one.get("video") or one["clip"])
            below = file.relative_to(file.parts[0])
            scene = "/".join(below.parts[:2]).removesuffix(".mp4")
            rows.append(one | {"file": below.as_posix(), "scene": scene})
    return pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["file"])), schema=VIDEO_FILES)


def videos_of(videos: pa.Table, datasets: Collection[str], folder: Path) -> Iterator[MediaFile]:
    """The videos of some datasets, of those that `videos_table` lists, in a build's folder of videos."""
    for row in videos.select(["scene", "file", "sha256"]).to_pylist():
        if dataset_of(row["scene"]) in datasets:
            yield MediaFile(f"{VIDEO_FOLDER}/{row['file']}", folder / row["file"], row["sha256"], None)


def videos_folder(release: Path) -> Path:
    """The folder of a release's videos: beside it, as builds and `videos make` write them, or its own.

    Its own may lack those of datasets whose terms forbid that, so the other one is taken where it has all datasets.
    """
    own, beside = release / VIDEO_FOLDER, release.parent / VIDEOS
    datasets = [path.name for path in own.iterdir() if path.is_dir()] if own.is_dir() else []
    return own if datasets and not all((beside / name).is_dir() for name in datasets) else beside


def drawings_of(raw: bytes, unit: str, build: Path, with_frames: bool) -> Iterator[MediaFile]:
    """The drawings that a result of stage `figures` names, as far as they may be passed on.

    Args:
        raw: the result.
        unit: its scene.
        build: folder of the build.
        with_frames: whether pictures of the scene's video may be passed on too.
    """
    for one in json.loads(raw)["pictures"]:
        kept = one["svg" if with_frames else "drawing"]
        file = f"{DRAWINGS}/{unit}/{one['id']}.svg"
        yield MediaFile(file, build / kept["file"], kept["sha256"], frozenset([one["id"]]))


def dataset_of(unit: str) -> str:
    """The dataset of a scene."""
    return unit.partition("/")[0]


def place_media(folder: Path, media: Iterable[MediaFile], kept: Collection[int]) -> dict[str, str]:
    """Puts the pictures of questions that are kept, and videos, into a release; gives the SHA-256 of each file.

    They are linked where the disk can: a build and its releases then hold each file once. Both replace files and
    never write into them, so that a release stays as it is. Raises StoreError where a picture is not what was written.
    """
    sums: dict[str, str] = {}
    for one in media:
        if one.of is not None and one.of.isdisjoint(kept):
            continue
        with translate_os_errors(one.path.parent):
            same = one.path.is_file() and sha256_of_file(one.path) == one.sha256
        if not same:
            raise StoreError(f"{one.path} is not what was written: remove it and build again")
        target = folder / one.file
        with translate_os_errors(target.parent):
            link_or_copy(one.path, target)
        sums[one.file] = one.sha256
    return sums


def link_or_copy(path: Path, target: Path) -> None:
    """Puts a file where there is none yet: as a link to it where the disk can."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(path.resolve())
    except OSError:
        shutil.copyfile(path, target)


@dataclass(frozen=True)
class ReleasedPicture:
    """The picture of a question.

    Attributes:
        id: of the question.
        svg: the drawing with pictures of the video, where there are any.
        png: the same; None where none was asked for.
        drawing: without pictures of the video; the same file as ``svg`` where it shows none.
    """

    id: int
    svg: Path
    png: Path | None
    drawing: Path


def pictures_of(results: Iterable[bytes], build: Path) -> dict[int, ReleasedPicture]:
    """The pictures that results of stage `figures` name, in a build's folder."""
    found = {}
    for raw in results:
        for one in json.loads(raw)["pictures"]:
            files = {kind: build / media["file"] for kind, media in one.items() if kind != "id"}
            found[one["id"]] = ReleasedPicture(one["id"], files["svg"], files.get("png"), files["drawing"])
    return found
