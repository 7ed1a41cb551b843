"""A small pack made by hand, with text that a page must not run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pipeline.core.parquet import table_bytes
from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.review.review_bundle import ReviewBundle, ReviewItem, ReviewTruth, content_of
from pipeline.review.verdicts import Kind, ReviewEvent, Role

SALT: Final = b"salt"
AT: Final = "2026-01-01T00:00:00.000+00:00"
PAYLOAD: Final = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
OPTIONS: Final = ("A. lamp", "B. sofa", "C. stove", "D. table")
# Nothing else on a page reads like it: the words are looked for in all that the server sends.
EVIDENCE_NAME: Final = "proof_of_truth"
ROOM: Final = TopDownMap(
    ground=(((0.0, 0.0), (5.0, 0.0), (5.0, 4.0), (0.0, 4.0)),),
    things=(
        MappedThing(label="lamp", outline=((1.0, 1.0), (1.5, 1.0), (1.5, 1.5), (1.0, 1.5)), seen_s=0.5),
        MappedThing(label=PAYLOAD, outline=((3.0, 3.0),)),
    ),
    path=((0.0, 1.0, 3.0), (1.0, 2.0, 3.0), (2.0, 3.0, 1.0)),
)


def question(number: int, **changes: Any) -> dict[str, Any]:
    """A row of `tables.QUESTIONS` as far as the pack looks at it."""
    row = {
        "id": number,
        "scene": f"made/room{number // 10}",
        "task": "object_rel_distance",
        "text": f"Which is nearest to the stool, question {number}?",
        "options": list(OPTIONS),
        "ground_truth": "ABCD"[number % 4],
        "from_s": None,
        "until_s": None,
    }
    return row | changes


def item_of(
    row: Mapping[str, Any],
    video: str | None = None,
    layers: tuple[str, ...] = ("ground", "path"),
    pictures: tuple[str, ...] = (),
) -> ReviewItem:
    options = tuple(row["options"]) if row["options"] else None
    content = content_of(SALT, row)
    return ReviewItem(row["id"], content, row["scene"], row["task"], row["text"], options, video, pictures, layers)


def truth_of(row: Mapping[str, Any], operands: tuple[str, ...] = ("lamp",)) -> ReviewTruth:
    number = {"name": EVIDENCE_NAME, "subject": "lamp", "value": 1.25, "relation": None, "limit": None, "unit": "s"}
    return ReviewTruth(row["id"], row["ground_truth"], operands, (number,), None, row["from_s"], row["until_s"])


def pack_of(rows: list[dict[str, Any]], video: str | None = None) -> ReviewBundle:
    items = tuple(item_of(row, video) for row in rows)
    return ReviewBundle(items, {row["id"]: truth_of(row) for row in rows}, {item.scene: ROOM for item in items})


def rooms(n: int) -> list[dict[str, Any]]:
    """N questions: every third wants a number, and the second has payloads wherever text may stand."""
    rows = []
    for number in range(1, n + 1):
        if number % 3 == 0:
            text = "How wide is the lamp, in meters?"
            rows.append(question(number, task="object_abs_distance", options=None, ground_truth="2.5", text=text))
        elif number == 2:
            options = [f"{letter}. {PAYLOAD}" for letter in "ABCD"]
            rows.append(question(number, task=PAYLOAD, text=PAYLOAD, options=options))
        else:
            rows.append(question(number))
    return rows


def event(
    item: ReviewItem, reviewer: str, kind: Kind, role: Role = "review", at: str = AT, **told: str | None
) -> ReviewEvent:
    fields: dict[str, str | None] = {"answer": None, "reason": None, "note": None, **told}
    return ReviewEvent(
        item.id, item.content, reviewer, kind, role, fields["answer"], fields["reason"], fields["note"], at
    )


def write_table(path: Path, table: Any) -> Path:
    path.write_bytes(table_bytes(table))
    return path
