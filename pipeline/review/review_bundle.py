"""The review bundle: the items that reviewers see and, apart from them, the truths and the maps of the scenes.

Three tables. `ITEMS` is all that a reviewer may open. `TRUTHS` is for the server and the import alone; nor may the maps
be opened, since boxes tell counts and sizes.
"""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from pipeline.benchmarks.benchmark import RAW_POSE, RAW_TASK
from pipeline.core.spatial import TopDownMap
from pipeline.core.tables import QUESTIONS, fields_of, texts
from pipeline.core.video_spec import video_file
from pipeline.questions.choices import offered

ITEMS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        *texts("content", "scene", "task", "question"),
        pa.field("options", pa.list_(pa.string())),  # null: a number is asked for
        pa.field("video", pa.string()),  # below the build's folder of videos; null: there is none
        pa.field("pictures", pa.list_(pa.string())),  # in the order of the question, below the build's folder
        pa.field("map", pa.list_(pa.string())),  # what of the map may be seen before the answer
    ]
)
TRUTHS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("truth", pa.string()),
        *fields_of(QUESTIONS, "operands", "evidence", "proof", "from_s", "until_s"),
        pa.field("asked", pa.list_(pa.int64())),  # of a raw task: the questions that it was made into
    ]
)
MAPS: Final = pa.schema(texts("scene", "map"))
CATEGORY_CHECK: Final = "category_check"  # of `checks`
SCENE_CHECK: Final = "scene_check"
FIXED: Final = frozenset({CATEGORY_CHECK, SCENE_CHECK})  # verdicts on these become fixes
# Tasks of what is no question, and comes before all that are: option -> the reason for which whoever chooses it flags.
CHECKS: Final[Mapping[str, Mapping[str, str]]] = {
    CATEGORY_CHECK: dict.fromkeys("BCD", "bad_metadata"),
    SCENE_CHECK: dict.fromkeys("BC", "bad_metadata"),
    RAW_TASK: {"B": "wrong_answer", "C": "duplicate", "D": "invalid_wording"},
    RAW_POSE: dict.fromkeys("BC", "wrong_pose"),
}
CONTENT_CHARS: Final = 32  # hex; 128 bits


@dataclass(frozen=True)
class ReviewItem:
    """One question as a reviewer sees it before the answer; the columns of `ITEMS`."""

    id: int
    content: str
    scene: str
    task: str
    question: str
    options: tuple[str, ...] | None
    video: str | None
    pictures: tuple[str, ...]
    map: tuple[str, ...]


@dataclass(frozen=True)
class ReviewTruth:
    """The truth, shown after the answer; the columns of `TRUTHS`."""

    id: int
    truth: str
    operands: tuple[str, ...]
    evidence: tuple[Mapping[str, Any], ...]
    proof: str | None
    from_s: float | None
    until_s: float | None
    asked: tuple[int, ...] = ()


class ReviewBundle(NamedTuple):
    """Everything that is reviewed: checks, doubts, the rest by scene, round of its group, and id; maps by scene."""

    items: tuple[ReviewItem, ...]
    truths: Mapping[int, ReviewTruth]
    maps: Mapping[str, TopDownMap]

    @property
    def raw(self) -> dict[int, list[int]]:
        """Questions -> the checks of the raw task that each was made from."""
        found: dict[int, list[int]] = {}
        for check in self.truths.values():
            for question in check.asked:
                found.setdefault(question, []).append(check.id)
        return found


def flag_of(task: str, answer: str) -> tuple[str, str | None] | None:
    """Reason and right answer of the flag that an answer other than "A" to a check is by itself; None: it is none."""
    reason = CHECKS.get(task, {}).get(answer)
    return None if reason is None else (reason, answer if task in FIXED else None)


def content_of(salt: bytes, row: Mapping[str, Any]) -> str:
    """The digest that a verdict is bound to: of everything that a reviewer judges about a question, the truth included.

    Keyed with a secret of the build, since reviewers see it: else whoever knows the question could try the answers.

    Args:
        salt: the secret.
        row: of `tables.QUESTIONS`.
    """
    parts = [row["scene"], row["task"], row["text"], row["options"], row["ground_truth"], row["until_s"]]
    parts += [] if row["from_s"] is None else [row["from_s"]]
    raw = json.dumps(parts, ensure_ascii=False).encode()
    return hmac.new(salt, raw, hashlib.sha256).hexdigest()[:CONTENT_CHARS]


def make_review_bundle(
    questions: Iterable[Mapping[str, Any]],
    maps: Mapping[str, TopDownMap],
    videos: Collection[str],
    map_before: Mapping[str, Collection[str]],
    salt: bytes,
    pictures: Mapping[int, Sequence[str]] | None = None,
    doubts: Mapping[int, Sequence[Mapping[str, Any]]] | None = None,
) -> ReviewBundle:
    """The pack of some questions (rows of `tables.QUESTIONS`).

    Args:
        questions: in any order.
        maps: of their scenes.
        videos: the files below the build's folder of videos.
        map_before: as in `Benchmark`.
        salt: as in `content_of`.
        pictures: that questions show, files below the build's folder whose names tell nothing, by the questions' ids.
        doubts: evidence against questions, by their ids: these come first, and it is shown after the answer.
    """
    against = doubts or {}
    items, truths, rounds = [], {}, {}
    before = Counter[tuple[str, str]]()
    for row in sorted(map(offered, questions), key=lambda row: int(row["id"])):
        if group := row.get("group"):  # whose questions may answer one another: a round of the others is between them
            rounds[row["id"]] = before[row["scene"], group]
            before[row["scene"], group] += 1
        film = video_file(row["scene"], row["until_s"], row["from_s"])
        items.append(
            ReviewItem(
                id=row["id"],
                content=content_of(salt, row),
                scene=row["scene"],
                task=row["task"],
                question=row["text"],
                options=tuple(row["options"]) if row["options"] else None,
                video=film if film in videos else None,
                pictures=tuple((pictures or {}).get(row["id"], ())),
                map=tuple(map_before.get(row["task"], ())),
            )
        )
        truths[row["id"]] = ReviewTruth(
            id=row["id"],
            truth=row["ground_truth"],
            operands=tuple(row["operands"] or ()),
            evidence=(*against.get(row["id"], ()), *(row["evidence"] or ())),
            proof=row["proof"],
            from_s=row["from_s"],
            until_s=row["until_s"],
            asked=tuple(row.get("asked", ())),
        )
    needed = sorted({item.scene for item in items})
    return ReviewBundle(
        tuple(
            sorted(items, key=lambda i: (i.task not in CHECKS, i.id not in against, i.scene, rounds.get(i.id, 0), i.id))
        ),
        truths,
        {scene: maps[scene] for scene in needed},
    )


def pack_tables(pack: ReviewBundle) -> dict[str, pa.Table]:
    """The tables of a pack: "items", "truths", "maps"."""
    maps = [{"scene": scene, "map": sketch.model_dump_json()} for scene, sketch in pack.maps.items()]
    return {
        "items": pa.Table.from_pylist([vars(item) for item in pack.items], ITEMS),
        "truths": pa.Table.from_pylist([vars(pack.truths[item.id]) for item in pack.items], TRUTHS),
        "maps": pa.Table.from_pylist(maps, MAPS),
    }


def read_review_bundle(tables: Mapping[str, pa.Table]) -> ReviewBundle:
    """The pack of `pack_tables`."""
    items = [ReviewItem(**_tuples(row)) for row in tables["items"].to_pylist()]
    truths = [ReviewTruth(**_tuples(row)) for row in tables["truths"].to_pylist()]
    maps = {row["scene"]: TopDownMap.model_validate_json(row["map"]) for row in tables["maps"].to_pylist()}
    return ReviewBundle(tuple(items), {truth.id: truth for truth in truths}, maps)


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
