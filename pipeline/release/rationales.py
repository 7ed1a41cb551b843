"""Rationales: the chain of numbers that proves an answer, in words, and proved again from these words alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from pipeline.core.schema import Model
from pipeline.core.templates import Template, load_table

PAIR: Final = " - "  # between the two things that a distance is measured between
_DIGITS: Final = (1, 2, 3, 6)  # after the point: as few as still prove the answer
_EPSILON: Final = 1e-9
NO_CHAIN: Final = "no_chain"  # the evidence has no chain of numbers that alone gives the answer
NOT_PROVED: Final = "not_proved"  # what the chain's words give is another answer
_STEP: Final = re.compile(r"multiple of ([\d.]+)")


class Chain(Model):
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


class Measured(NamedTuple):
    """One number of a chain: what it was measured of, as the evidence names it, and its digits."""

    subject: str
    value: float


class Rationale(NamedTuple):
    """A rationale, or why there is none (`NO_CHAIN`, `NOT_PROVED`)."""

    text: str
    refused: str = ""


@cache
def chains() -> Mapping[str, Chain]:
    """The chains, by task or by the id of a template."""
    return TypeAdapter(dict[str, Chain]).validate_python(load_table("train/rationales"))


def rationale_of(row: Mapping[str, Any]) -> Rationale:
    """The rationale of a question (a row of `provenance`), with as few digits as prove its answer."""
    chain = chains().get(row["task"]) or chains().get(row["template"])
    facts = [e for e in row["evidence"] or () if chain and e["name"] in chain.of and e["relation"] is None]
    if chain is None or not facts:
        return Rationale("", NO_CHAIN)
    for digits in _DIGITS:
        text = "\n".join([*(_said(chain, fact, digits) for fact in facts), *([chain.so] if chain.so else [])])
        if proves(chain, text, row["answer"]):
            return Rationale(text)
    return Rationale("", NOT_PROVED)


def proves(chain: Chain, text: str, answer: str) -> bool:
    """Whether the numbers in a rationale's words, and nothing else, give the answer."""
    measured = [_heard(found) for line in text.split("\n") if (found := chain.sentence.parse(line)) is not None]
    return bool(measured) and HOW[chain.how](chain, measured, answer)


def _said(chain: Chain, fact: Mapping[str, Any], digits: int) -> str:
    subject, _, other = (
        fact["subject"].partition(PAIR) if "other" in chain.sentence.fields else (fact["subject"], "", "")
    )
    every = {"subject": subject, "other": other, "value": f"{fact['value']:.{digits}f}"}
    return chain.sentence.render({name: every[name] for name in chain.sentence.fields})


def _heard(fields: Mapping[str, Any]) -> Measured:
    subject = PAIR.join(str(fields[name]) for name in ("subject", "other") if name in fields)
    try:
        return Measured(subject, float(fields["value"]))
    except ValueError:
        return Measured(subject, np.nan)


def _is_value(value: float, answer: str, told: str) -> bool:
    """Whether a number is the answer, once rounded as ``told`` says, or as far as the answer has digits."""
    try:
        stated = float(answer)
    except ValueError:
        return False
    step = _STEP.search(told)
    unit = float(step[1]) if step else 10.0 ** -len(answer.partition(".")[2])
    return abs(value - stated) <= unit / 2 + _EPSILON


def _named(chain: Chain, value: float) -> str:
    """The sector or band of a number."""
    turned = value % 360 if chain.wraps else value
    return chain.names[int(np.searchsorted(chain.edges, turned, side="right")) - 1]


def _thing(one: Measured) -> str:
    return one.subject.rpartition(PAIR)[2]


def _ratio(chain: Chain, measured: Sequence[Measured], answer: str) -> bool:
    """Of two durations the longer one, and whether it is more than twice the other."""
    if len(measured) != 2:
        return False
    short, long = sorted(measured, key=lambda one: one.value)
    told = "more" if long.value > 2 * short.value else "but less"
    return answer.lower() == f"{long.subject}, {told} than twice as long".lower() and long.value > short.value


def _unique(best: Callable[..., Measured]) -> Callable[[Chain, Sequence[Measured], str], bool]:
    """Of distances the least or greatest one, unless two are as far."""

    def holds(chain: Chain, measured: Sequence[Measured], answer: str) -> bool:
        found = best(measured, key=lambda one: one.value)
        return _thing(found) == answer and sum(one.value == found.value for one in measured) == 1

    return holds


def _rises(chain: Chain, measured: Iterable[Measured], answer: str) -> bool:
    ranked = sorted(measured, key=lambda one: one.value)
    apart = len({one.value for one in ranked}) == len(ranked)
    return apart and ", ".join(one.subject for one in ranked) == answer


HOW: Final[Mapping[str, Callable[[Chain, Sequence[Measured], str], bool]]] = {
    "value": lambda chain, of, answer: len(of) == 1 and _is_value(of[0].value * chain.scale, answer, of[0].subject),
    "longest": lambda chain, of, answer: _is_value(max(one.value for one in of) * chain.scale, answer, ""),
    "least": _unique(min),
    "most": _unique(max),
    "ascending": _rises,
    "sector": lambda chain, of, answer: len(of) == 1 and _named(chain, of[0].value) == answer,
    "turns": lambda chain, of, answer: ", ".join(_named(chain, one.value) for one in of) == answer,
    "ratio": _ratio,
}
