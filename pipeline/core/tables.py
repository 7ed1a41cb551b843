"""Arrow schemas of the tables that stages exchange, and the checks of a release's files against its checksums."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core.arrays import IntArray
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.files import sha256_of_file
from pipeline.core.parquet import arrow_bytes, table_metadata
from pipeline.core.schema import SCHEMA_VERSION

CHECKSUMS: Final = "checksums.sha256"  # of a release, written last
WITHOUT_VIDEO: Final = "without_video.json"  # of a release: the blind table (`TextOnly` per task), for programs
DEBIASED: Final = "debiased"  # the split of a release that bias pruning left
_BUDGET: Final = re.compile(r"([1-9]\d*)_frame")  # configuration of a release
NUM_FRAMES: Final = "num_frames"  # column of what is asked in a frame budget
TWIN: Final = "twins"  # the one of questions whose evidence is not shown
NO_TWIN: Final = "twins_rejected"  # the one of why other questions have none
MAPS: Final = "cognitive_maps"  # the one of questions for a map of a scene, and of true maps
VIDEOS_TABLE: Final = "videos"  # the one of the delivered videos
SAMPLED: Final = "frames"  # the one of the frames of all budgets
BUDGETS: Final = "budgets"  # the one of all answers and refusals in frame budgets
TINY: Final = "tiny"  # the one of a few questions per task, for quick trials
TINY_PER_TASK: Final = 50
ONE_PER_SCENE: Final = "one_per_scene"  # the one of a question of each group, so that none tells another's answer
UNCHECKED: Final = "unchecked"  # the one of questions that no second model confirmed; their flag, and the reason
PART_SPLITS: Final = (DEBIASED, ONE_PER_SCENE, TINY)  # beside the full one, whose questions they repeat


def texts(*names: str) -> list[pa.Field]:
    """Columns of texts."""
    return [pa.field(name, pa.string()) for name in names]


def fields_of(schema: pa.Schema, *names: str) -> list[pa.Field]:
    """Columns that a table has as another one has them."""
    return [schema.field(name) for name in names]


EVIDENCE: Final = pa.struct(
    [
        *texts("name", "subject"),
        pa.field("value", pa.float64()),
        pa.field("relation", pa.string()),  # of the value to the limit, where a rule bounds it
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)
IN_BUDGET: Final = pa.struct(
    [
        pa.field("budget", pa.int32()),  # number of evenly spaced frames
        pa.field("answer", pa.string()),  # to whom these frames are shown; null: there is none
        pa.field("evidence", pa.list_(EVIDENCE)),
        pa.field("reason", pa.string()),  # why there is none
        pa.field("measured", pa.float64()),
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)
CANDIDATES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        *texts("scene", "task"),
        pa.field("role", pa.string()),  # set where a category was refused before any operands were formed
        pa.field("operands", pa.list_(pa.string())),
        pa.field("group", pa.string()),  # questions of one may give away one another's answers; null: those of a scene
        pa.field("named", pa.list_(pa.string())),  # things that the text names, as the gate examined them; null: none
        pa.field("answer", pa.string()),
        pa.field("wrong", pa.list_(pa.string())),  # wrong options; null: they follow from the operands
        pa.field("wording", pa.string()),  # the text where it is not the template's alone; null: it is
        pa.field("from_s", pa.float64()),  # second of the video at which the question begins; null: with it
        pa.field("until_s", pa.float64()),  # second of the video at which the question ends; null: it is of all of it
        pa.field("visible_in", pa.list_(pa.int32())),  # frame budgets with an answer; null: not examined
        pa.field("budgets", pa.list_(IN_BUDGET)),  # what becomes of it in each; null: not examined
        pa.field("evidence", pa.list_(EVIDENCE)),
        pa.field("proof", pa.string()),  # a model's own words of why its answer is right; null: the evidence proves it
        pa.field("flags", pa.list_(pa.string())),
        pa.field("share", pa.float64()),  # of such candidates that are asked, drawn by their ids; null: all
        pa.field("reason", pa.string()),  # null: a question
        pa.field("measured", pa.float64()),
        pa.field("limit", pa.float64()),
        pa.field("unit", pa.string()),
    ]
)
# Made once: it takes half a millisecond; of no batches, as ``empty_table`` imports pandas.
NO_CANDIDATES: Final = pa.Table.from_batches([], CANDIDATES)
QUESTIONS: Final = pa.schema(
    [
        *fields_of(CANDIDATES, "id", "scene", "task"),
        pa.field("task_version", pa.int32()),
        pa.field("template", pa.string()),
        pa.field("template_version", pa.int32()),
        *fields_of(CANDIDATES, "operands", "group", "named"),
        pa.field("text", pa.string()),
        pa.field("options", pa.list_(pa.string())),
        *texts("ground_truth", "answer"),
        pa.field("choices", pa.list_(pa.string())),
        pa.field("choice", pa.string()),
        *fields_of(CANDIDATES, "from_s", "until_s", "visible_in", "budgets", "evidence", "proof", "flags"),
    ]
)
# The columns that questions are asked, judged and guessed by without the video.
GUESSED: Final = (
    *("id", "scene", "task", "group", "text", "options", "ground_truth", "answer", "choices", "choice"),
    *("from_s", "until_s"),
)
SIGHTINGS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),  # of the question
        pa.field("thing", pa.string()),  # that it names
        pa.field("said", pa.string()),  # how many of it a model sees; null: there is no answer
        pa.field("failure", pa.string()),  # why not
    ]
)
PICTURES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),  # of the question
        pa.field("file", pa.string()),  # below the release
        pa.field("picture", pa.binary()),
    ]
)
FRAMES: Final = pa.schema(
    [
        pa.field("scene", pa.string()),
        pa.field("budget", pa.int32()),  # number of evenly spaced frames
        pa.field("k", pa.int32()),  # of them, from 0
        pa.field("index", pa.int32()),  # in the delivered video, from 0
        pa.field("frames", pa.int32()),  # of the delivered video
        pa.field("time_s", pa.float64()),  # at which it is shown
        pa.field("sha256", pa.string()),  # of its pixels: RGB, 8 bits, row by row
    ]
)
VIDEO_FILES: Final = pa.schema(
    [
        pa.field("scene", pa.string()),
        pa.field("file", pa.string()),  # below the folder of videos
        pa.field("frames", pa.int32()),
        pa.field("fps", pa.int32()),  # null: of a part, that of the whole
        pa.field("from_s", pa.float64()),  # second of the whole at which a part begins; null: it is the whole
        pa.field("until_s", pa.float64()),  # at which it ends; null likewise
        pa.field("bytes", pa.int64()),
        pa.field("sha256", pa.string()),  # of the file
        pa.field("frames_sha256", pa.string()),  # of its decoded pictures; null: it is a part of another one
        pa.field("pictures", pa.list_(pa.string())),  # hashes of evenly spaced ones; null likewise
    ]
)
TWINS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("of", pa.int64()),  # the question that asks the same of the video
        *fields_of(QUESTIONS, "scene", "task", "operands", "text", "options", "ground_truth"),
        pa.field("hidden", pa.string()),  # thing that none of the frames shows
        pa.field("frames", pa.list_(pa.int32())),  # that are shown, by their number in the delivered video
        *fields_of(CANDIDATES, "reason", "measured", "limit", "unit"),  # null: a twin
    ]
)
# A row with a reason is a rejection and has no text.
SELECTED: Final = pa.schema([*QUESTIONS, *fields_of(CANDIDATES, "role", "reason", "measured", "limit", "unit")])
REJECTIONS: Final = pa.schema(
    fields_of(SELECTED, "id", "scene", "task", "role", "operands", "reason", "measured", "limit", "unit")
)


def picture_file(folder: str, question: int | str) -> str:
    """The picture of a question below a release, in one of a hundred folders: hubs take 10,000 files in each."""
    return f"{folder}/{str(question)[-2:].zfill(2)}/{question}.png"


def budget_folder(budget: int) -> str:
    """The configuration, and folder, of a release for who is shown so many evenly spaced frames."""
    return f"{budget}_frame"


def budget_of(folder: str) -> int | None:
    """The number of frames that a configuration is for; None: it is no such one."""
    found = _BUDGET.fullmatch(folder)
    return int(found[1]) if found else None


def selected_questions(selected: pa.Table) -> pa.Table:
    """The questions (`QUESTIONS`) among selected rows. Raises StoreError for rows that another version selected."""
    lacking = [name for name in QUESTIONS.names if name not in selected.schema.names]
    if lacking:
        message = f"the stored questions have no column {lacking[0]}: another version of scan2qa made them"
        raise StoreError(f"{message}; run the build again")
    return selected.select(QUESTIONS.names).filter(pc.is_null(selected["reason"]))


def unchecked_in(questions: pa.Table) -> pa.ChunkedArray:
    """Whether each question (`QUESTIONS`) has the flag `UNCHECKED`."""
    flags = pa.concat_arrays([pa.array([], questions.schema.field("flags").type), *questions["flags"].chunks])
    rows = pc.list_parent_indices(flags).filter(pc.equal(pc.list_flatten(flags), UNCHECKED))
    return pc.is_in(pa.chunked_array([np.arange(questions.num_rows)], pa.int64()), rows)


def all_asked(selected: Iterable[pa.Table]) -> pa.Table:
    """The questions of the selected rows of all scenes, in their order, as they are read without the video (`GUESSED`).

    Unchecked ones are left out.
    """
    names = [*GUESSED, "flags"]
    parts = (selected_questions(table).select(names) for table in selected)
    questions = pa.concat_tables([QUESTIONS.empty_table().select(names), *parts])
    return questions.filter(pc.invert(unchecked_in(questions))).select(GUESSED)


def pictures_in(drawn: Iterable[pa.Table]) -> dict[int, bytes]:
    """The pictures of questions (`PICTURES`) of all scenes, by the questions' ids."""
    return {row["id"]: row["picture"] for table in drawn for row in table.select(["id", "picture"]).to_pylist()}


def rejected_in(selected: pa.Table) -> pa.Table:
    """The rejections (`REJECTIONS`) among selected rows."""
    return selected.select(REJECTIONS.names).filter(pc.is_valid(selected["reason"]))  # most columns hold nothing


_SIZES: Final = "sizes"


def selected_bytes(selected: pa.Table) -> bytes:
    """Selected rows (`SELECTED`) as `arrow_bytes`, whose metadata tell the sizes of their two parts (`sizes_in`)."""
    parts = (selected_questions(selected), rejected_in(selected))
    sizes = [size for part in parts for size in (part.num_rows, part.nbytes)]
    return arrow_bytes(selected, metadata={_SIZES: json.dumps(sizes)})


def sizes_in(raw: bytes) -> IntArray:
    """Rows and bytes of the questions, rows and bytes of the rejections in the bytes of `selected_bytes`."""
    return np.array(json.loads(table_metadata(raw)[_SIZES.encode()]))


_VERSION: Final = b"scan2qa_schema_version"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "copy the release again"


def sums_of(release: Path) -> dict[str, str]:
    """File below a release -> its SHA-256. Raises ConfigError where the folder is no whole release."""
    try:
        lines = (release / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        if not release.is_dir():
            to = f"leads to {release.readlink()}, which is not there" if release.is_symlink() else "no such folder"
            raise ConfigError(f"{release}: {to}; give that of a release, such as outputs/BUILD/release") from None
        inner = release / "release"
        hint = f"is it {inner}?" if (inner / CHECKSUMS).is_file() else f"give its folder, or {_AGAIN}"
        raise ConfigError(f"{release}: not a complete release: {CHECKSUMS} is missing; {hint}") from None
    found = {file: digest for digest, _, file in (line.partition("  ") for line in lines)}
    for number, (file, digest) in enumerate(found.items(), start=1):
        if not _DIGEST.fullmatch(digest) or not file or not is_below(file):
            raise ConfigError(f"{release / CHECKSUMS}, line {number}: is no digest of a file of a release; {_AGAIN}")
    return found


def is_below(file: str) -> bool:
    """Whether the name of a file leads nowhere but below its folder."""
    return not PurePosixPath(file).is_absolute() and ".." not in PurePosixPath(file).parts


def file_below(folder: Path, file: str) -> Path:
    """A file that a release names, which is to be sent or passed on. Raises ConfigError for one elsewhere."""
    path = folder / file
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{file}: lies outside of {folder}; a release names files below it alone")
    return path


def check_files(release: Path, sums: Mapping[str, str], files: Iterable[str]) -> None:
    """Raises ConfigError for the first of some files that is missing, or is not as it was released."""
    for file in files:
        path = release / file
        try:
            found = sha256_of_file(path)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); {_AGAIN}") from error
        if found != sums[file]:
            raise ConfigError(f"{path}: is not as it was released ({CHECKSUMS} has another digest); {_AGAIN}")


def check_version(path: Path) -> None:
    """Raises ConfigError for a table of a release that another version made."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet; {_AGAIN}") from error
    version = metadata.get(_VERSION, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise ConfigError(
            f"{path}: is of schema version {version}, and this scan2qa knows {SCHEMA_VERSION}; use the scan2qa that "
            "made it, or build it again"
        )


@dataclass(frozen=True)
class ReleaseListing:
    """One table.

    Attributes:
        title: above it.
        heads: of the columns; the first names the row.
        rows: a text per column.
        totals: a last row, below a line; empty: none.
        words: heads of columns that stand at the left, as the first does; the others are numbers.
        sentences: heads of columns that may wrap.
        note: below it.
        is_detail: whether the terminal shows it with ``--verbose`` alone.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    totals: Sequence[str] = ()
    words: Collection[str] = ()
    sentences: Collection[str] = ()
    note: str = ""
    is_detail: bool = False
