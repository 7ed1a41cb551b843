"""Prompts without the video: for the letter, for the number, or by the likelihood of the options.

A model that likes the letter A is right about one question in four whatever it knows. So a question with k options is
put k times, its options moved on by one each time (rotation r begins with option r): a letter means another option in
every rotation, and only who knows the answer names the same option in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pipeline.blind.config import AskConfig
from pipeline.blind.items import LETTERS, BlindItem
from pipeline.llm.base import Image, ModelSpec, Request, user
from pipeline.llm.cache import request_digest
from pipeline.llm.prompts import load_prompt

Form = Literal["letter", "number", "cloze"]
PROMPTS: Final[Mapping[Form, str]] = {"letter": "blind_letter", "number": "blind_number", "cloze": "blind_cloze"}


@dataclass(frozen=True)
class Wording:
    """A question as a model is asked it.

    Attributes:
        chance: of being right by luck.
        rotation: the option that is shown first; 0: in the order as released.
        request: None where the question cannot be asked in this form.
        digest: of the request; questions that share it are asked once.
    """

    item: BlindItem
    form: Form
    chance: float
    rotation: int = 0
    request: Request | None = None
    digest: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The options in the order in which they are shown."""
        return self.item.options[self.rotation :] + self.item.options[: self.rotation]

    def released(self, shown: int) -> int:
        """Index among the options as released of the one that was shown at an index."""
        return (shown + self.rotation) % len(self.item.options)


def orders_of(config: AskConfig, model: ModelSpec) -> int | None:
    """In how many orders a model is shown the options; None: in as many as there are options."""
    return 1 if config.orders is None and model.provider == "embedded" else config.orders


def wordings(
    plain: BlindItem,
    offered: BlindItem,
    by_luck: float,
    model: ModelSpec,
    orders: int | None,
    picture: bytes | None = None,
) -> list[Wording]:
    """A question as a model is asked it, one per rotation.

    Args:
        plain: the question as released.
        offered: the same with choices, where it is a number that has them.
        by_luck: chance of a random number.
        model: its scoring decides the form.
        orders: see `orders_of`; likelihoods and numbers know no order and are asked once.
        picture: PNG of what the question names, for a model that takes pictures: it is part of the question.
    """
    if model.scoring == "cloze":
        return [_cloze(offered, by_luck)]
    legend = (Image(picture, "image/png"),) if picture is not None and "image" in model.inputs else ()
    if not plain.options:
        prompt = load_prompt(PROMPTS["number"])
        request = Request((user(prompt.render(text=plain.text), *legend),), prompt=prompt.version)
        return [Wording(plain, "number", by_luck, request=request, digest=request_digest(request))]
    options = len(plain.options)
    return [_letter(plain, rotation, legend) for rotation in range(min(orders or options, options))]


def _cloze(item: BlindItem, by_luck: float) -> Wording:
    if not item.options:
        return Wording(item, "cloze", by_luck)
    prompt = load_prompt(PROMPTS["cloze"])
    request = Request((user(prompt.render(text=item.text)),), options=item.options, prompt=prompt.version)
    return Wording(item, "cloze", 1 / len(item.options), request=request, digest=request_digest(request))


def _letter(item: BlindItem, rotation: int, legend: tuple[Image, ...]) -> Wording:
    prompt, letters = load_prompt(PROMPTS["letter"]), list(LETTERS[: len(item.options)])
    shown = item.options[rotation:] + item.options[:rotation]
    lines = [f"{letter}. {option}" for letter, option in zip(letters, shown, strict=True)]
    said = prompt.render(text=item.text, letters=letters, options=lines)
    request = Request((user(said, *legend),), prompt=prompt.version)
    return Wording(item, "letter", 1 / len(item.options), rotation, request, request_digest(request))
