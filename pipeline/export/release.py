"""The release folder: three configurations of one split, a dataset card, and checksums written last."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pydantic import BaseModel

from pipeline.errors import StoreError
from pipeline.export.card import dataset_card
from pipeline.export.tables import SCHEMA_METADATA, asked_and_rejected, default_table, provenance_table
from pipeline.schema import Scene
from pipeline.store import table_bytes, write_atomically

EXPORT_CODE: Final = ("export", "schema.py", "tables.py", "store.py", "builder.py")
ZSTD_LEVEL: Final = 9
CHECKSUMS: Final = "checksums.sha256"


class Released(BaseModel):
    """Summary of a release: what was written, and the counts that the final table shows."""

    files: dict[str, str]  # path within the release -> SHA-256
    questions: dict[str, int]  # task -> number
    rejections: dict[str, dict[str, int]]  # task -> reason -> number
    answers: dict[str, dict[str, int]]  # task -> answer -> number, multiple choice only
    letters: dict[str, dict[str, int]]
    flags: dict[str, int]
    findings: list[list[str]]  # scene, name, severity, message


def write_release(
    folder: Path, selected: Iterable[pa.Table], scenes: Sequence[Scene], settings: dict[str, Any]
) -> bytes:
    """Writes all files of the release, atomically one by one, and gives the summary (`Released` as JSON).

    Args:
        folder: the release folder; files of an older release that this one lacks are removed.
        selected: one table per scene (`questions.selection.SELECTED`), in the order of the scenes' ids.
        scenes: the scenes of the release.
        settings: the part of the configuration that a release depends on; its digest goes into the provenance.
    """
    asked, rejected = asked_and_rejected(selected)
    tables = {
        "data": default_table(asked),
        "provenance": provenance_table(asked, scenes, settings),
        "rejected": rejected,
    }
    repeated = [i for i, n in Counter(asked["id"].to_pylist()).items() if n > 1]
    if repeated:
        raise StoreError(f"two questions share the id {repeated[0]}: widen ID_BITS in pipeline/rng.py")
    split = settings["export"]["split"]
    files = {
        f"{name}/{split}-00000-of-00001.parquet": table_bytes(table, ZSTD_LEVEL, SCHEMA_METADATA)
        for name, table in tables.items()
    }
    summary = _summary(tables, scenes)
    card = dataset_card(tables, summary, scenes, settings)
    files["README.md"] = card.encode()
    sums = {name: hashlib.sha256(raw).hexdigest() for name, raw in sorted(files.items())}
    (folder / CHECKSUMS).unlink(missing_ok=True)
    for name, raw in files.items():
        write_atomically(folder / name, raw)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    write_atomically(folder / CHECKSUMS, _checksums(sums))
    return json.dumps(summary | {"files": sums}, sort_keys=True, indent=1).encode()


def release_is_whole(folder: Path, summary: bytes) -> bool:
    """Whether every file of the release is there with the bytes that the summary names."""
    files = Released.model_validate_json(summary).files
    try:
        found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
        return found == files and (folder / CHECKSUMS).read_bytes() == _checksums(files)
    except OSError:
        return False


def _checksums(sums: dict[str, str]) -> bytes:
    """In the form that ``sha256sum --check`` reads."""
    return "".join(f"{s}  {name}\n" for name, s in sorted(sums.items())).encode()


def _summary(tables: dict[str, pa.Table], scenes: Sequence[Scene]) -> dict[str, Any]:
    provenance = tables["provenance"].select(["task", "answer", "choice", "flags"]).to_pandas()
    letters = tables["data"].select(["question_type", "ground_truth", "options"]).to_pandas()
    chosen = provenance[provenance["choice"].isna()]
    lettered = letters[letters["options"].notna()]
    return {
        "questions": _counts(provenance["task"]),
        "rejections": _reasons(tables["rejected"]),
        "answers": {task: _counts(part["answer"]) for task, part in chosen.groupby("task")},
        "letters": {task: _counts(part["ground_truth"]) for task, part in lettered.groupby("question_type")},
        "flags": dict(sorted(Counter(f for flags in provenance["flags"].dropna() for f in flags).items())),
        "findings": [[s.id, f.name, f.severity, f.message] for s in scenes for f in s.findings],
    }


def _reasons(rejected: pa.Table) -> dict[str, dict[str, int]]:
    """Number of rejections by task and reason. Counted by Arrow: they are by far the most rows."""
    counted = rejected.group_by(["task", "reason"]).aggregate([([], "count_all")])
    numbers: dict[str, dict[str, int]] = {}
    for row in counted.sort_by([("task", "ascending"), ("reason", "ascending")]).to_pylist():
        numbers.setdefault(row["task"], {})[row["reason"]] = row["count_all"]
    return numbers


def _counts(column: Any) -> dict[str, int]:
    return {str(k): int(n) for k, n in sorted(column.value_counts().items())}
