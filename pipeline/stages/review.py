"""Stage `review`: reads the verdicts of reviewers that lie beside the store."""

from pathlib import Path
from typing import Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import StoreError
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.engine.stage import Stage, StageContext

FOLDER: Final = "review"  # of a build
VERDICTS_FILE: Final = "verdicts.parquet"
SALT_FILE: Final = "salt"


def run(context: StageContext) -> bytes:
    """Where each question with a verdict stands, and how far reviewers agree (`Reviewed` as JSON)."""
    from pipeline.review.reviewed import Reviewed, read_verdicts, review  # takes a moment to import

    folder = context.folder / FOLDER
    raw = _verdicts(folder)
    if raw is None:
        return Reviewed().model_dump_json().encode()
    try:
        verdicts, salt = read_verdicts(read_table(raw)), (folder / SALT_FILE).read_bytes()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"{folder}: the verdicts cannot be read ({error}); write them again: scan2qa import-review --from-page"
        ) from error
    # Table by table: the rejections of a thousand scenes would fill the memory.
    named, questions, checks = {verdict.item for verdict in verdicts}, [], []
    for table in context.tables("select"):
        rows = selected_questions(table).to_pylist()
        questions += [row for row in rows if row["id"] in named]
        checks += BENCHMARKS[context.settings["benchmark"]].checks(rows)
    return review(questions, verdicts, salt, checks).model_dump_json().encode()


def _verdicts(folder: Path) -> bytes | None:
    path = folder / VERDICTS_FILE
    return path.read_bytes() if path.exists() else None


def verdict_files(folder: Path) -> dict[str, str]:
    """The verdicts; nothing where there are none."""
    raw = _verdicts(folder / FOLDER)
    return {} if raw is None else {"verdicts": digest_of(raw)}


REVIEW: Final = Stage(
    name="review",
    suffix=".json",
    module=__name__,
    run=run,
    unit="build",
    requires=("select",),
    settings=lambda config: {"benchmark": config.benchmark},
    uses=lambda config, reader: (config.of_benchmark().checks.__module__,),
    other_files=verdict_files,
)
