"""Questions and the replies of models of known accuracy, made for these tests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.blind.ask import REPLIES
from pipeline.blind.config import BlindConfig
from pipeline.blind.items import BlindItem, make_item, with_company
from pipeline.core.tables import QUESTIONS
from pipeline.core.templates import load_template

NAMES = ("bed", "chair", "door", "lamp", "sofa", "table", "tv", "window")


def number_item(
    id: int, truth: float | str, names: Sequence[str] = ("chair",), group: str = "", task: str = "object_counting"
) -> BlindItem:
    """A numeric question about names, in the wording of its task."""
    template = load_template(f"vsi/questions/{task}")
    text = template.render(dict(zip(template.fields, names, strict=True)))
    return make_item(id, task, group or f"scene{id}", text, None, str(truth))


def nearest_item(id: int, primary: str, options: Sequence[str], right: str, group: str = "") -> BlindItem:
    """A question of relative distance."""
    text = load_template("vsi/questions/object_rel_distance").render({"primary": primary, "choices": tuple(options)})
    lettered = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True)]
    return make_item(id, "object_rel_distance", group or f"scene{id}", text, lettered, "ABCD"[options.index(right)])


def nearest_items(n: int, shortcut: bool, per_scene: int = 2, seed: int = 0) -> list[BlindItem]:
    """Questions of relative distance in which the lamp is always right, or any option by chance."""
    rng = np.random.default_rng(seed)
    items = []
    for id in range(n):
        primary, *others = rng.permutation([name for name in NAMES if name != "lamp"])[:4].tolist()
        options = rng.permutation(["lamp", *others]).tolist()
        right = "lamp" if shortcut else options[int(rng.integers(4))]
        items.append(nearest_item(id, primary, options, right, f"scene{id // per_scene}"))
    return items


def counted(scenes: int, like: Callable[[int], bool] = lambda scene: True) -> list[BlindItem]:
    """A scene has one to five boxes, books or cubes; as many questions are about these where it is ``like`` that."""
    items: list[BlindItem] = []
    for n in range(scenes):
        kind, truth = ("box", "book", "cube")[n % 3], 1 + n // 3 % 5
        others = truth if like(n) else 1 + (n // 3 + n // 15) % 5
        texts = [f"Count the objects of the kind {kind}.", *(f"How heavy is the {kind} {m}?" for m in range(others))]
        texts += [f"How heavy is the lamp {m}?" for m in range(others, 5)]  # of each scene as much is asked
        items += [
            make_item(10 * n + m, "heavy" if m else "count", f"s{n}", text, None, str(1 if m else truth))
            for m, text in enumerate(texts)
        ]
    return with_company(items)


def size_items(n: int, spread: float, per_scene: int = 2, seed: int = 0) -> list[BlindItem]:
    """Questions of object size in which every category has its own size, give or take a factor."""
    rng = np.random.default_rng(seed)
    items = []
    for id in range(n):
        kind = int(rng.integers(len(NAMES)))
        truth = round(30 * 1.5**kind * float(np.exp(rng.uniform(-spread, spread))))
        items.append(
            number_item(id, truth, NAMES[kind : kind + 1], f"scene{id // per_scene}", "object_size_estimation")
        )
    return items


LETTERS = "ABCDEF"
SETS = {
    "object_rel_direction_medium": ("left", "right", "back"),
    "object_rel_direction_easy": ("left", "right"),
}
Answer = Callable[[dict[str, Any], np.random.Generator], str | None]


def question(
    id: int, options: Sequence[str] | None, truth: str, task: str = "object_rel_direction_medium", scene: str = ""
) -> dict[str, Any]:
    """A row of `QUESTIONS`; ``truth`` is the right option's text, or the number."""
    letter = LETTERS[list(options).index(truth)] if options else truth
    return {
        "id": id,
        "scene": scene or f"scannet/s{id // 3}",
        "task": task,
        "text": f"Question {id}?",
        "options": [f"{a}. {b}" for a, b in zip(LETTERS, options, strict=False)] if options else None,
        "ground_truth": letter,
        "answer": truth,
    }


def directions(counts: dict[str, int], seed: int = 0) -> list[dict[str, Any]]:
    """Questions of medium directions with so many lefts, rights and backs; nothing else tells the answer."""
    rng = np.random.default_rng(seed)
    truths = rng.permutation([answer for answer, n in counts.items() for _ in range(n)]).tolist()
    return [question(n, rng.permutation(list(counts)).tolist(), truth) for n, truth in enumerate(truths)]


def questions_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """`QUESTIONS`."""
    return pa.Table.from_pylist(list(rows), schema=QUESTIONS)


def meaning(text: str) -> Answer:
    """A model that always means the same text, wherever it stands."""

    def answer(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        options = [option[3:] for option in row["options"]]
        return LETTERS[options.index(text)] if text in options else "A"

    return answer


def knowing(share: float) -> Answer:
    """A model that knows the answer of so many questions, and says any letter else."""

    def answer(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        if rng.random() < share:
            return str(row["ground_truth"])
        return str(rng.choice(list(LETTERS[: len(row["options"])]))) if row["options"] else str(rng.integers(1, 9))

    return answer


def replies_table(rows: Sequence[dict[str, Any]], orders: int = 1, **models: Answer) -> pa.Table:
    """`REPLIES` of models that answer each question the same in every order; None is a failure."""
    replies = []
    for row in rows:
        for place, (model, answer) in enumerate(models.items()):
            said = answer(row, np.random.default_rng((row["id"], place)))
            for rotation in range(orders if row["options"] else 1):
                replies.append(reply(row, model, said, rotation))
    return pa.Table.from_pylist(replies, schema=REPLIES)


def reply(row: dict[str, Any], model: str, said: str | None, rotation: int = 0) -> dict[str, Any]:
    """A row of `REPLIES`; "?" is a reply without an answer."""
    right = said == row["ground_truth"]
    return {
        "id": row["id"],
        "task": row["task"],
        "model": model,
        "form": "letter" if row["options"] else "number",
        "rotation": rotation,
        "reply": said,
        "answer": said if said != "?" else None,
        "unread": "no_letter" if said == "?" else None,
        "failure": "timeout" if said is None else None,
        "score": float(right),
        "right": right,
        "chance": 0.25,
    }


def panel(*names: str, embedded: str | None = None, **settings: Any) -> BlindConfig:
    """A configuration of models that are asked over the network, and perhaps of the embedded one."""
    models = [{"provider": "openai", "model": name} for name in names]
    if embedded:
        models.append({"provider": "embedded", "model": embedded})
    return BlindConfig.model_validate({"models": models} | settings)
