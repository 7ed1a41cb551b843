"""Stage `verify`: a model says how many it sees of the things that questions name, and people judge its doubts first.

The gate (`pipeline.questions.gate`) holds what a question names against what the log knows. A model that takes pictures
is shown the part of the video that the question is about. Where it sees none of what is named, or several, and says so
again when the choices stand in the other order, the question is in doubt. It stays in the release: `scan2qa review`
shows it before all others, and after the answer what the model said.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.core.parquet import arrow_bytes, read_table
from pipeline.core.tables import SIGHTINGS, selected_questions
from pipeline.engine.stage import Ask, Stage, StageContext
from pipeline.llm.base import Request, record, user
from pipeline.llm.failures import ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.llm.visual_inputs import VisualInputs, visual_inputs

if TYPE_CHECKING:
    from pipeline.engine.config import BuildConfig
    from pipeline.llm.base import ModelSpec

PROMPT: Final = "verify_things"
NONE, ONE, SEVERAL, UNCLEAR = "none", "one", "several", "unclear"
DOUBTS: Final = (NONE, SEVERAL)  # of a question that names a thing as if there were one
CALLS: Final = 2  # about each part of a video, at most

Part = tuple[float | None, float | None]  # of a video: from and until which second


def run(context: StageContext) -> bytes:
    """What a model sees of the things that the questions of a scene name (`SIGHTINGS`); empty without a video."""
    (ask,) = context.models
    films, rows = _films(context), list[dict[str, Any]]()
    for part, questions in sorted(
        named_by_part(selected_questions(read_table(context.needed("select")))).items(), key=str
    ):
        film = films.get(part)
        if film is None:
            continue
        shown = visual_inputs(context.folder / film, *context.settings["shows"], last=True)
        if shown is None:
            raise ValueError("this stage asks a model that takes pictures")
        things = sorted({thing for named in questions.values() for thing in named})
        rows += _rows(questions, things, shown, ask)
    return arrow_bytes(pa.Table.from_pylist(rows, schema=SIGHTINGS))


def named_by_part(questions: pa.Table) -> dict[Part, dict[int, list[str]]]:
    """The things that questions name, by part of the video and id; a part of which none names any is left out."""
    found: dict[Part, dict[int, list[str]]] = defaultdict(dict)
    for row in questions.select(["id", "named", "from_s", "until_s"]).to_pylist():
        if row["named"]:
            found[row["from_s"], row["until_s"]][row["id"]] = row["named"]
    return found


def seen(things: Iterable[str], shown: VisualInputs, ask: Ask) -> dict[str, str]:
    """How many of each thing a model sees: what it says twice where that is a doubt. Raises ModelError."""
    named = list(things)
    first = _answers(named, shown, ask, backwards=False)
    doubted = [thing for thing in named if first[thing] in DOUBTS]
    again = _answers(doubted, shown, ask, backwards=True) if doubted else {}
    return {thing: answer if again.get(thing, answer) == answer else UNCLEAR for thing, answer in first.items()}


def doubts_in(tables: Iterable[pa.Table]) -> dict[int, list[dict[str, Any]]]:
    """The evidence against questions, by their ids, in results of this stage (`SIGHTINGS`)."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    number = {"value": float(CALLS), "relation": None, "limit": None, "unit": "answers of a model"}
    for row in (row for table in tables for row in table.to_pylist()):
        if row["said"] in DOUBTS:
            found[row["id"]].append({"name": f"sees_{row['said']}", "subject": row["thing"]} | number)
    return dict(found)


def _rows(
    questions: Mapping[int, list[str]], things: list[str], shown: VisualInputs, ask: Ask
) -> Iterable[dict[str, Any]]:
    answers, failed = dict[str, str](), None
    try:
        answers = seen(things, shown, ask)
    except ModelError as failure:
        refuse_stopped(failure)
        failed = failure.kind
    for number, named in sorted(questions.items()):
        for thing in named:
            yield {"id": number, "thing": thing, "said": answers.get(thing), "failure": failed}


def _answers(things: list[str], shown: VisualInputs, ask: Ask, *, backwards: bool) -> dict[str, str]:
    choices = [*((SEVERAL, ONE, NONE) if backwards else (NONE, ONE, SEVERAL)), UNCLEAR]
    keys = {f"thing_{number}": thing for number, thing in enumerate(things, start=1)}
    schema = record(**{key: {"enum": choices} for key in keys})
    prompt = load_prompt(PROMPT)
    quoted = {key: json.dumps(thing, ensure_ascii=False) for key, thing in keys.items()}
    words = prompt.render(shown=shown, things=quoted, choices=choices)
    reply = structured(ask(Request((user(words, *shown.parts),), schema, prompt=prompt.version)))
    return {thing: reply[key] for key, thing in keys.items()}


def _films(context: StageContext) -> dict[Part, str]:
    """The file of each part of the scene's video, below the build's folder."""
    films: dict[Part, str] = {}
    for raw in map(context.bytes_of, ("bev_video", "video")):
        if raw is not None and (film := json.loads(raw)["video"]) is not None:
            films[None, None] = film
    for made in json.loads(context.bytes_of("clip") or b'{"clips": []}')["clips"]:
        films[made["from_s"], made["until_s"]] = made["clip"]
        if not made["from_s"]:
            films[None, made["until_s"]] = made["clip"]
    return films


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether every call had an answer: those that had none are made again in the next build."""
    return not any(read_table(result)["failure"].to_pylist())


def settings(config: BuildConfig) -> dict[str, Any]:
    """The model, what it is shown, and what it is asked with."""
    model = config.describe.model
    return {
        "model": model.identity() if model else None,
        "shows": [list(model.inputs), model.frames, model.fps] if model else None,
        "prompt": load_prompt(PROMPT).version,
    }


def is_wanted(config: BuildConfig) -> bool:
    """Whether there are videos, and a model to look at them."""
    return config.video and config.describe.questions and config.describe.model is not None


def models_of(config: BuildConfig) -> tuple[ModelSpec, ...]:
    """The model that looks."""
    return (config.describe.model,) if config.describe.model and is_wanted(config) else ()


VERIFY: Final = Stage(
    name="verify",
    suffix=".zst",
    module=__name__,
    run=run,
    requires=("select",),
    optional=("video", "bev_video", "clip"),
    settings=settings,
    is_wanted=is_wanted,
    is_complete=is_complete,
    models=models_of,
)
