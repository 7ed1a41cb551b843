"""Training examples: questions of a release as conversations, in the forms that trainers read.

Rationales: the chain of numbers that proves an answer, in words, and proved again from these words alone.
"""

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.errors import ConfigError, TemplateError
from pipeline.core.identity import digest
from pipeline.core.schema import Model
from pipeline.core.templates import Template, load_table, load_template
from pipeline.questions.asking import QuestionPrompt
from pipeline.questions.published import Published, published_rows

TOO_COMMON: Final = "answer_too_common"  # more questions of a task have this answer than any other
PAST_CAP: Final = "past_the_cap"  # the task has as many questions as were asked for
NOTHING_SHOWN: Final = "nothing_shown"  # the question shows neither video nor picture, or is answered by acting
_BATCH: Final = 2_000
_THOUSANDTHS: Final = 1000
_EDGES: Final = ("left_edge", "upper_edge", "right_edge", "lower_edge")
_WORDS: Final[Mapping[str, Any]] = load_table("train/words")


@dataclass(frozen=True)
class TrainingExample:
    """One conversation about what is shown.

    Attributes:
        turns: what is asked and replied, in order; the media come before the first.
        videos: their paths.
        images: theirs.
        columns: further columns: ids, groups, the canary.
    """

    turns: tuple[tuple[str, str], ...]
    videos: tuple[str, ...]
    images: tuple[str, ...]
    columns: Mapping[str, Any]


def evened(proofs: pa.Table, per_task: int | None) -> tuple[set[int], dict[int, str]]:
    """The ids that stay, and why others do not.

    Of each task the most frequent answer is cut to the next one, so that it cannot be learnt; then each answer has its
    turn until the task has ``per_task``. Ids are digests: the lowest stay, and nobody chose them.

    Args:
        proofs: id, task and answer of each question.
        per_task: the most of each task; None: all.
    """
    rows = proofs.select(["id", "task", "answer"]).to_pandas().sort_values("id")
    rows["turn"] = rows.groupby(["task", "answer"]).cumcount()
    sizes = rows.groupby(["task", "answer"]).size()
    second = sizes.groupby("task").transform(lambda own: own.nlargest(2).iloc[1] if len(own) > 1 else 0)
    common = rows["turn"].to_numpy() >= second.loc[pd.MultiIndex.from_frame(rows[["task", "answer"]])].to_numpy()
    dropped = dict.fromkeys(rows.loc[common, "id"].tolist(), TOO_COMMON)
    left = rows[~common].sort_values(["turn", "id"])
    if per_task is not None:
        past = left.groupby("task").cumcount() >= per_task
        dropped |= dict.fromkeys(left.loc[past, "id"].tolist(), PAST_CAP)
        left = left[~past]
    return set(left["id"].tolist()), dropped


def questions_of(
    questions: Sequence[Path], provenance: Sequence[Path], benchmark: Benchmark[Any, Any], wanted: set[int]
) -> Iterator[tuple[Published, dict[str, Any]]]:
    """Each wanted question of a split with its row of `provenance`, a batch held at a time: both go by shard and id.

    Raises ConfigError where a question has no row.
    """
    proofs = (row for batch in _batches(provenance, wanted) for row in batch)
    for batch in _batches(questions, wanted):
        for asked in published_rows(questions[0], batch, benchmark.all_columns):
            proof = next((row for row in proofs if row["id"] == int(asked.id)), None)
            if proof is None:
                raise ConfigError(f"{provenance[0].parent}: has no row of question {asked.id}; copy the release again")
            yield asked, proof


def _batches(paths: Sequence[Path], wanted: set[int]) -> Iterator[list[dict[str, Any]]]:
    ids = pa.array(sorted(wanted), pa.int64())
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                own = pc.cast(batch.column(0), pa.int64())  # some benchmarks' ids are texts
                yield batch.filter(pc.is_in(own, ids)).to_pylist()


def example_of(
    asked: Published, proof: Mapping[str, Any], shown: QuestionPrompt, canary: str, *, prove: bool
) -> TrainingExample:
    """A question as a conversation, in one of its wordings; with what proves the answer where ``prove`` asks for it.

    Args:
        asked: the question.
        proof: its row of `provenance`.
        shown: what a model is shown with it.
        canary: of the export.
        prove: whether the reply begins with the rationale, where there is one.
    """
    found = rationale_of(proof)
    reasoned = prove and not found.refused
    template = _drawn(asked.id, _WORDS["prove" if reasoned else "choice" if asked.options else "open"], "told")
    before = f"{found.text}\n{_WORDS['answer']}" if reasoned else ""
    turns = [("\n".join([_reworded(asked, proof), *(asked.options or ()), template]), before + asked.ground_truth)]
    box = _box(proof) if len(shown.images) == 1 and proof["task"] in _WORDS["boxed"] else None
    if box is not None:
        turns.append((_WORDS["box"], json.dumps(box)))
    names = {"id": str(asked.id), "scene": proof["scene"], "task": proof["task"]}
    group = "#".join(filter(None, (proof["scene"], proof["group"])))
    rest = {"group": group, "wording": proof["template"], "rationale": found.refused or "proved", "canary": canary}
    return TrainingExample(tuple(turns), (shown.video,) if shown.video else (), shown.images, names | rest)


def _drawn(question: int | str, among: Sequence[Any], what: str) -> Any:
    return among[int.from_bytes(digest("train", what, str(question))[:8], "big") % len(among)]


def _reworded(asked: Published, proof: Mapping[str, Any]) -> str:
    """The question in one of its wordings; as it was released where it is not that of a template with several."""
    own, *others = _wordings().get(proof["template"], (None,))
    fields = own.parse(asked.question) if own is not None else None
    other: Template | None = _drawn(asked.id, (None, *others), "wording")
    if fields is None or other is None:
        return asked.question
    try:
        return other.render(fields)
    except TemplateError:  # a name would make this wording read in two ways
        return asked.question


@cache
def _wordings() -> Mapping[str, tuple[Template | None, ...]]:
    """Id of a template -> the template and its further wordings (``templates/tables/train/wordings.yaml``)."""
    found: dict[str, tuple[Template | None, ...]] = {}
    for name, texts in load_table("train/wordings").items():
        own = load_template(name)
        found[own.id] = (own, *(Template(id=own.id, version=1, text=text, lists=own.lists) for text in texts))
    return found


def _box(proof: Mapping[str, Any]) -> list[int] | None:
    """Left, top, right and bottom of the one thing that the evidence places in the picture, in thousandths of it."""
    found = {e["name"]: (e["subject"], e["value"]) for e in proof["evidence"] or () if e["name"] in _EDGES}
    if len(found) < len(_EDGES) or len({subject for subject, _ in found.values()}) > 1:
        return None
    left, top, right, bottom = (found[name][1] for name in _EDGES)  # half pictures from the middle, y up
    return [round((1 + value) / 2 * _THOUSANDTHS) for value in (left, -top, right, -bottom)]


def _conversations(one: TrainingExample) -> list[dict[str, str]]:
    """The turns as ShareGPT and LLaVA have them: tags for what is shown go before the first."""
    tags = "<video>\n" * len(one.videos) + "<image>\n" * len(one.images)
    turns = [(("" if n else tags) + ask, reply) for n, (ask, reply) in enumerate(one.turns)]
    return [{"from": who, "value": text} for turn in turns for who, text in zip(("human", "gpt"), turn, strict=True)]


def _messages(one: TrainingExample, media: Callable[[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns as chat messages, with all content in parts."""
    parts = [media("video", path) for path in one.videos] + [media("image", path) for path in one.images]
    found = []
    for n, (ask, reply) in enumerate(one.turns):
        found.append({"role": "user", "content": [*([] if n else parts), {"type": "text", "text": ask}]})
        found.append({"role": "assistant", "content": [{"type": "text", "text": reply}]})
    return found


def _sharegpt(one: TrainingExample) -> dict[str, Any]:
    return {"conversations": _conversations(one), "videos": list(one.videos), "images": list(one.images)} | dict(
        one.columns
    )


def _llava(one: TrainingExample) -> dict[str, Any]:
    images: Any = one.images[0] if len(one.images) == 1 else list(one.images)
    media = ({"video": one.videos[0]} if one.videos else {}) | ({"image": images} if one.images else {})
    return dict(one.columns) | media | {"conversations": _conversations(one)}


def _qwen(one: TrainingExample) -> dict[str, Any]:
    return {"messages": _messages(one, lambda kind, path: {"type": kind, kind: path})} | dict(one.columns)


def _openai(one: TrainingExample) -> dict[str, Any]:
    def part(kind: str, path: str) -> dict[str, Any]:
        return {"type": f"{kind}_url", f"{kind}_url": {"url": path}}

    return {"messages": _messages(one, part)} | dict(one.columns)


# Name of a form -> a line of its file.
FORMS: Final[Mapping[str, Callable[[TrainingExample], dict[str, Any]]]] = {
    "sharegpt": _sharegpt,
    "llava": _llava,
    "qwen": _qwen,
    "openai": _openai,
}
# What LLaMA-Factory wants to know of a file (its `dataset_info.json`).
LLAMA_FACTORY: Final = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "videos": "videos", "images": "images"},
}


def line_of(one: TrainingExample, form: str) -> bytes:
    """An example as a line of JSON."""
    return json.dumps(FORMS[form](one), ensure_ascii=False).encode() + b"\n"


def shards(folder: Path, samples: Iterable[tuple[str, bytes, Sequence[tuple[str, bytes]]]], most: int) -> list[str]:
    """Writes WebDataset shards, ``train-000000.tar`` and so on, the same bytes for the same samples; their names.

    Args:
        folder: of the shards.
        samples: key, JSON, and the media with their suffixes, of each.
        most: bytes of media in a shard, after which another one begins.
    """
    names: list[str] = []
    tar, size = None, 0
    for key, example, media in samples:
        if tar is None or size >= most:
            if tar is not None:
                tar.close()
            names.append(f"train-{len(names):06d}.tar")
            tar, size = tarfile.open(folder / names[-1], "w", format=tarfile.USTAR_FORMAT), 0  # noqa: SIM115
        for suffix, raw in (("json", example), *media):
            entry = tarfile.TarInfo(f"{key}.{suffix}")
            entry.size = len(raw)
            tar.addfile(entry, io.BytesIO(raw))
            size += len(raw)
    if tar is not None:
        tar.close()
    return names


PAIR: Final = " - "  # between the two things that a distance is measured between
_DIGITS: Final = (1, 2, 3, 6)  # after the point: as few as still prove the answer
_EPSILON: Final = 1e-9
NO_CHAIN: Final = "no_chain"  # the evidence has no chain of numbers that alone gives the answer
NOT_PROVED: Final = "not_proved"  # what the chain's words give is another answer
_STEP: Final = re.compile(r"multiple of ([\d.]+)")


class EvidenceChain(Model):
    """How the numbers of a task's evidence prove its answer (``templates/tables/train/rationales.yaml``)."""

    how: Literal["value", "longest", "least", "most", "ascending", "sector", "turns", "ratio"]
    of: tuple[str, ...]
    fact: str
    so: str | None = None
    scale: float = 1.0
    wraps: bool = False
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> Template:
        """The sentence about one number, both ways."""
        return Template(id="train.fact", version=1, text=self.fact)


class ChainNumber(NamedTuple):
    """One number of a chain: what it was measured of, as the evidence names it, and its digits."""

    subject: str
    value: float


class Rationale(NamedTuple):
    """A rationale, or why there is none (`NO_CHAIN`, `NOT_PROVED`)."""

    text: str
    refused: str = ""


@cache
def chains() -> Mapping[str, EvidenceChain]:
    """The chains, by task or by the id of a template."""
    return TypeAdapter(dict[str, EvidenceChain]).validate_python(load_table("train/rationales"))


def rationale_of(row: Mapping[str, Any]) -> Rationale:
    """The rationale of a question (a row of `provenance`), with as few digits as prove its answer."""
    chain = chains().get(row["task"]) or chains().get(row["template"])
    facts = [e for e in row["evidence"] or () if chain and e["name"] in chain.of and e["relation"] is None]
    if chain is None or not facts:
        return Rationale("", NO_CHAIN)
    for digits in _DIGITS:
        text = "\n".join([*(_fact_sentence(chain, fact, digits) for fact in facts), *([chain.so] if chain.so else [])])
        if proves(chain, text, row["answer"]):
            return Rationale(text)
    return Rationale("", NOT_PROVED)


def proves(chain: EvidenceChain, text: str, answer: str) -> bool:
    """Whether the numbers in a rationale's words, and nothing else, give the answer."""
    measured = [_parsed_number(found) for line in text.split("\n") if (found := chain.sentence.parse(line)) is not None]
    return bool(measured) and HOW[chain.how](chain, measured, answer)


def _fact_sentence(chain: EvidenceChain, fact: Mapping[str, Any], digits: int) -> str:
    subject, _, other = (
        fact["subject"].partition(PAIR) if "other" in chain.sentence.fields else (fact["subject"], "", "")
    )
    every = {"subject": subject, "other": other, "value": f"{fact['value']:.{digits}f}"}
    return chain.sentence.render({name: every[name] for name in chain.sentence.fields})


def _parsed_number(fields: Mapping[str, Any]) -> ChainNumber:
    subject = PAIR.join(str(fields[name]) for name in ("subject", "other") if name in fields)
    try:
        return ChainNumber(subject, float(fields["value"]))
    except ValueError:
        return ChainNumber(subject, np.nan)


def _is_value(value: float, answer: str, text: str) -> bool:
    """Whether a number is the answer, once rounded as ``text`` says, or as far as the answer has digits."""
    try:
        stated = float(answer)
    except ValueError:
        return False
    step = _STEP.search(text)
    unit = float(step[1]) if step else 10.0 ** -len(answer.partition(".")[2])
    return abs(value - stated) <= unit / 2 + _EPSILON


def _band_name(chain: EvidenceChain, value: float) -> str:
    """The sector or band of a number."""
    turned = value % 360 if chain.wraps else value
    return chain.names[int(np.searchsorted(chain.edges, turned, side="right")) - 1]


def _ratio(chain: EvidenceChain, measured: Sequence[ChainNumber], answer: str) -> bool:
    """Of two durations the longer one, and whether it is more than twice the other."""
    if len(measured) != 2:
        return False
    short, long = sorted(measured, key=lambda one: one.value)
    phrase = "more" if long.value > 2 * short.value else "but less"
    return answer.lower() == f"{long.subject}, {phrase} than twice as long".lower() and long.value > short.value


def _unique(best: Callable[..., ChainNumber]) -> Callable[[EvidenceChain, Sequence[ChainNumber], str], bool]:
    """Of distances the least or greatest one, unless two are as far."""

    def holds(chain: EvidenceChain, measured: Sequence[ChainNumber], answer: str) -> bool:
        found = best(measured, key=lambda one: one.value)
        return found.subject.rpartition(PAIR)[2] == answer and sum(one.value == found.value for one in measured) == 1

    return holds


def _rises(chain: EvidenceChain, measured: Iterable[ChainNumber], answer: str) -> bool:
    ranked = sorted(measured, key=lambda one: one.value)
    apart = len({one.value for one in ranked}) == len(ranked)
    return apart and ", ".join(one.subject for one in ranked) == answer


HOW: Final[Mapping[str, Callable[[EvidenceChain, Sequence[ChainNumber], str], bool]]] = {
    "value": lambda chain, of, answer: len(of) == 1 and _is_value(of[0].value * chain.scale, answer, of[0].subject),
    "longest": lambda chain, of, answer: _is_value(max(one.value for one in of) * chain.scale, answer, ""),
    "least": _unique(min),
    "most": _unique(max),
    "ascending": _rises,
    "sector": lambda chain, of, answer: len(of) == 1 and _band_name(chain, of[0].value) == answer,
    "turns": lambda chain, of, answer: ", ".join(_band_name(chain, one.value) for one in of) == answer,
    "ratio": _ratio,
}
