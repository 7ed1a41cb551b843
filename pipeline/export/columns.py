"""What every column of a release holds, in words: for its card and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark

PUBLIC: Final = ("data", "accepted")  # folders with the benchmark's own columns
# Those are said by their benchmark (`Columns.said`).
SAID: Final[Mapping[str, str]] = {
    # provenance
    "id": "of the question, as in `default`; of a correction, its name",
    "scene": 'of the question: "dataset/name"',
    "task": "type of question",
    "task_version": "version of the code that made it",
    "template": "its wording, as a file of scan2qa's templates",
    "template_version": "of this wording",
    "operands": "what it speaks of, in the order of the task",
    "group": "questions of one group may give away one another's answers",
    "answer": "in words or as a number, whatever its letter; in `blind`, what was read from the reply",
    "choices": "four options of a numeric question, for evaluations that need letters",
    "choice": "letter of the right one of `choices`",
    "from_s": "second of the video at which the question begins; empty: with the video",
    "until_s": "second of the video at which the question ends; empty: with the video",
    "visible_in": "budgets of evenly sampled frames (16, 32, 64) that show all it speaks of; empty: not examined",
    "evidence": "the numbers behind the answer: name, subject, value, and where a rule bounds it relation, limit, unit",
    "proof": "why the answer is right, in the words of the model that wrote it; empty: the evidence proves it",
    "flags": "remarks",
    "bias_score": "how surely a forest answers it without the video, where stage prune ran",
    "chance": "of being right by luck",
    "removed_in_round": "round in which bias pruning took it out of `debiased`; empty: it stays",
    "profile": "of the ambiguity rules",
    "rules": "digest of the rules and their limits",
    "config": "digest of the whole configuration",
    "fixes": "corrections of metadata that the question rests on",
    "reader": "which reader read the scene",
    "reader_version": "of this reader",
    "source_files": "files that the scene was read from, relative to its root",
    "source_sha256": "digest of the raw data of the scene",
    # rejected
    "role": "set where a thing was refused in a role before any operands were formed",
    "reason": "why the candidate was dropped",
    "measured": "what was measured; empty: nothing is measured for this reason",
    "limit": "what it was held against",
    "unit": "of both",
    # blind
    "model": "who was asked without the video",
    "form": "letter, number or cloze",
    "rotation": "the option that was shown first; 0: in the order as released",
    "request": "digest of what was asked; rows that share it were asked once",
    "reply": "word for word; empty: failed",
    "finish": "why the reply ended, in the server's word",
    "scores": "cloze: of each option, in order",
    "unread": "why no answer could be read",
    "score": "0 or 1; of a number its mean relative accuracy",
    "right": "whether the answer is right",
    "input_tokens": "read by the model; empty: its server does not tell",
    "output_tokens": "written by the model",
    "failure": "kind of failure; empty: there is a reply",
    # review
    "state": "where the question stands after review",
    "reviewers": "how many people judged it",
    "reasons": "what they said is wrong with it",
    # fixes
    "subjects": 'what the correction is about, as operands name it; "" for all of the scene',
    "change": "what it changed",
    "why": "why",
    "who": "who made it",
    "date": "when",
}


def said_of(benchmark: Benchmark[Any, Any], folder: str) -> Mapping[str, str]:
    """Column -> what it holds, of the tables in a folder of a benchmark's release."""
    splits = benchmark.columns.splits
    return benchmark.columns.said if folder in PUBLIC or (splits and folder == splits.folder) else SAID
