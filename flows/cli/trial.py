"""The command `scan2qa trial`: prepares questions of a build for people to answer from the videos."""

from collections import defaultdict
from pathlib import Path
from shlex import quote
from typing import Final

from rich.table import Table

from flows.cli.output.console import console, count_of
from flows.cli.output.tables import numbers, print_table, sentences
from flows.cli.review import video_remedy
from flows.orchestration.saved_build import read_saved_build
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import released_files
from pipeline.core.tables import TINY
from pipeline.core.video_spec import VIDEOS
from pipeline.questions.published import Published, read_published
from pipeline.release.trial import TrialMedia, answer_sheet, answers_by_id, choose, key_sheet, marked, page, video_of

TRIAL: Final = "trial"


def trial(folder: Path, questions: int, answers: Path | None) -> None:
    """Writes a sheet of questions for a person to answer from the videos, and its key; or marks a filled one."""
    place = folder / TRIAL
    if answers is not None:
        told = place / "people.csv"
        write_atomically(told, _print_score(answers, place / "key.csv", _released(folder)))
        console.print(f"Beside a model's score: scan2qa score … --people {quote(str(told))}")
        return
    has_tiny = bool(released_files(folder / "release" / "data", TINY))
    released = _released(folder, TINY) if has_tiny else []  # so that people answer what models are tried on
    if len(released) < questions:
        released = _released(folder)
    media = {question.id: shown for question in released if (shown := _media_of(folder, question)) is not None}
    if not media:
        raise ConfigError(f"{folder}: nothing is there to be seen, neither videos nor pictures. {video_remedy(folder)}")
    chosen = choose([question for question in released if question.id in media], questions)
    write_atomically(place / "sheet.html", page(chosen, [media[question.id] for question in chosen]))
    write_atomically(place / "answers.csv", answer_sheet(chosen))
    write_atomically(place / "key.csv", key_sheet(chosen))
    console.print(
        f"{count_of(len(chosen), 'question')}: {place / 'sheet.html'}, or {place / 'answers.csv'} to fill by hand."
    )
    then = f"Then: scan2qa trial {quote(str(folder))} --answers FILE."
    console.print(f"{then} The reference answers are in {place / 'key.csv'}.")


def _media_of(folder: Path, question: Published) -> TrialMedia | None:
    """The video of a question, if it has one, and its pictures; None where there is nothing to see."""
    drawn = [b.scene_pictures.folder for b in BENCHMARKS.values() if b.scene_pictures is not None]
    files = [*question.rest.get("images", ()), *(f"{name}/{question.id}.png" for name in drawn)]
    pictures = tuple(f"../release/{file}" for file in files if (folder / "release" / file).is_file())
    video = folder / VIDEOS / video_of(question)
    if not video.exists() and not pictures:
        return None
    return TrialMedia(f"../{VIDEOS}/{video_of(question)}" if video.exists() else None, pictures)


def _released(folder: Path, split: str | None = None) -> list[Published]:
    """The questions of a split of a build's release; None: of the full one."""
    columns = [columns for benchmark in BENCHMARKS.values() for columns in benchmark.all_columns]
    split = split or read_saved_build(folder).configured.get("export", {}).get("split", "test")
    paths = released_files(folder / "release" / "data", split)
    if not paths:
        raise ConfigError(f"{folder}/release holds no questions: build first, and give the build's folder")
    return [question for path in paths for question in read_published(path, columns)]


def _print_score(answers: Path, key: Path, released: list[Published]) -> bytes:
    """Prints how a person did; gives the answers by the questions' ids."""
    try:
        raw = answers.read_bytes(), key.read_bytes()
    except OSError as error:
        remedy = "write the sheet first, without --answers" if Path(error.filename) == key else "check the path"
        raise ConfigError(f"{error.filename}: cannot be read ({error.strerror}); {remedy}") from error
    scores: dict[str, list[float | None]] = defaultdict(list)
    wrong = Table(*sentences("number", "task", "answered", "reference"), title="Not right")
    found = marked(*raw, released)
    for one in found:
        if one.score is not None and one.score < 1:
            wrong.add_row(str(one.number), one.task, one.reply, one.truth)
        scores[one.task].append(one.score)
        scores["all"].append(one.score)
    if all(score is None for score in scores["all"]):
        raise ConfigError(f"{answers}: no answer is filled in; fill in the column answer")
    heads = numbers("answered", "left out", "score")
    table = Table("task", *heads, title="Trial: choices right or wrong, numbers by mean relative accuracy")
    for task in (*sorted(scores.keys() - {"all"}), "all"):
        given = [score for score in scores[task] if score is not None]
        mean = f"{sum(given) / len(given):.3f}" if given else ""
        table.add_row(task, str(len(given)), str(len(scores[task]) - len(given)), mean)
    print_table(table)
    if wrong.row_count:
        print_table(wrong)
    return answers_by_id(found)
