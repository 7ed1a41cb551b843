"""The command `scan2qa score`: what the replies of a model earn on a benchmark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from flows.console import console, print_json
from flows.progress import progress_shown
from flows.show_score import show_score
from flows.tables import FORMS, table_writer
from pipeline.benchmarks.registry import SCORES
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.engine.config import settings_of
from pipeline.llm.base import ModelSpec, Reply, Request
from pipeline.llm.budget import Money
from pipeline.llm.cache import ReplyCache
from pipeline.llm.failures import ModelError
from pipeline.llm.replay import record
from pipeline.llm.session import Session
from pipeline.questions.scoring_protocol import Ask
from pipeline.scoring.score import Scored, scored, split_of

# Behind the stem of --out: the judge's replies, as they are kept, and as provider `replay` reads them.
CACHE: Final = ".judge.sqlite"
RECORDING: Final = ".judge.jsonl"


def score(
    name: str,
    predictions: Sequence[Path],
    release: Path | None,
    split: str | None,
    questions: Path | None,
    out: Path | None,
    rows: Path | None,
    settings: Sequence[str],
    limit_cost: float | None,
) -> bool:
    """Scores result files; False where something in them could not be used."""
    if name not in SCORES:
        raise ConfigError(f"unknown benchmark {name!r}; replies to {', '.join(SCORES)} can be scored")
    if out is not None and out.suffix not in {".json", ".csv"}:
        raise ConfigError(f"{out}: scores are written as .json or .csv; give a name that ends so")
    write_rows = table_writer(rows) if rows else None
    how = SCORES[name]
    chosen = settings_of(how.settings, settings)
    if split is not None and release is None:
        raise ConfigError("--split names a split of --release")
    if release is not None and questions is None:
        source = split_of(release, split)
        file, blind, debiased = source.questions, source.blind, source.is_debiased
    elif questions is not None and release is None:
        file, blind, debiased = questions, None, False
    else:
        raise ConfigError("say what was asked: a release with --release, or a file of questions with --questions")
    with _judge(how.judge(chosen), out, limit_cost) as ask:
        found = scored(how, file, predictions, chosen, ask, blind, debiased)
    show_score(found, how, blind is not None)
    told = {"benchmark": name, "settings": _plain(chosen.model_dump(mode="json"))} | found.summary()
    if out:
        write_atomically(out, _json(told) if out.suffix == ".json" else _csv(found))
        console.print(f"Score: {out}", soft_wrap=True)
    if write_rows:
        write_rows(found.table())
        console.print(f"Every question: {rows}", soft_wrap=True)
    print_json(told)
    return not found.left_out


@contextmanager
def _judge(model: ModelSpec | None, out: Path | None, limit_cost: float | None) -> Iterator[Ask | None]:
    """What asks the judge; its replies are kept and released beside the score. None where there is none."""
    if model is None:
        yield None
        return
    if out is None:
        raise ConfigError("a judge's replies are kept beside the score: name it with --out")
    key = model.key_name
    keys = {key: os.environ[key]} if key and os.environ.get(key) else {}
    kept = out.with_suffix(CACHE)
    with Session([model], kept, keys, money=Money(limit_cost=limit_cost)) as session, progress_shown() as progress:

        def ask(requests: Sequence[Request]) -> list[Reply | ModelError]:
            done = 0

            def one(request: Request) -> Reply | ModelError:
                nonlocal done
                try:
                    return session.ask(model.name, request)
                except ModelError as failure:
                    return failure
                finally:
                    done += 1
                    progress("judge", done, len(requests))

            with ThreadPoolExecutor(model.concurrency) as threads:
                return list(threads.map(one, requests))

        yield ask
    if model.provider != "replay":  # which is a recording
        with ReplyCache(kept) as cache:
            n = record(cache, model.provider, model.model, out.with_suffix(RECORDING))
        console.print(f"{n} replies of the judge: {out.with_suffix(RECORDING)}", soft_wrap=True)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the paths of this machine."""
    judge = settings.get("judge")
    return settings | (
        {"judge": {k: v for k, v in judge.items() if k not in {"recording", "weights"}}} if judge else {}
    )


def _json(told: dict[str, Any]) -> bytes:
    return (json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _csv(found: Scored) -> bytes:
    return FORMS[".csv"](pa.Table.from_pylist(found.figures()))
