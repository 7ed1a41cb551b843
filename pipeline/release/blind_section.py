"""The part of the card that says what the questions give away without their videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipeline.llm.base import UNPAID

_RULES: Final = {
    "all_correct": "all of them answered right",
    "majority": "more than half of them answered right",
    "any": "any of them answered right",
}
ATTACKERS: Final[Mapping[str, str]] = {
    "most frequent": "the answer that is right most often",
    "median": "the median of the answers",
    "by name": "what is asked about, and the usual answer to that",
    "by length": "which options are long",
    "by letter": "the letter that is right most often",
    "by likeness": "how like an option is to the others",
    "by text": "how much of an option the question says, and where it stands in a list",
    "by time": "the time that the question names",
    "interpolated": "the step of a printed list at that time",
    "by clip": "the length of the video",
    "clip interpolated": "the step of a printed list after that length",
    "by words": "words of the question beside which an answer was right",
    "by rivals": "words of options against those of their rivals",
    "by number": "multiples of the numbers in the question or of the video's length",
    "forest": "all of it, 50 extremely randomised trees",
}
Row = Mapping[str, Any]
_NOTHING: Final = "**No question was removed for being answered without its video.**"


def blind_section(
    rows: Sequence[Row],
    settings: Mapping[str, Any],
    models: Sequence[Row],
    given_away: Mapping[str, Mapping[str, float]],
) -> list[str]:
    """Lines of Markdown; ``rows`` are `blind.text_only.TextOnly`, ``models`` `blind.totals.ModelTotals`.

    ``given_away``: what attackers earn on the published benchmark (`benchmarks.benchmark.Card`).
    """
    lines = ["## Without the video", "", *_about_panel(rows, settings), *_costs(models, settings["prices_of"])]
    if settings["prune"] is None:
        lines += ["No bias pruning was run: `pruned` is False throughout.", ""]
    else:
        lines += [
            "Split `debiased` leaves out what is guessed from question and options alone, most guessable first, with",
            "the attackers fitted again on other folds each time, until the best of them is within a standard error of",
            f"chance, nothing is guessed {settings['prune']['tau']:g} above it, or 10 questions of the task are left",
            "(after arXiv 2511.04655).",
            "",
        ]
    if not rows:
        return lines
    return [*lines, *_attackers(rows), *_beside_published(rows, given_away), *_panel(rows), ""]


def _about_panel(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    models = settings["blind"]["models"]
    if not rows or not any(row["voters"] for row in rows):
        return _nobody(models)
    names = list(dict.fromkeys(name for row in rows for name in row["voters"]))
    lines = [
        f"{len(names)} {'model' if len(names) == 1 else 'models'} answered every question without its video: "
        f"{', '.join(names)}."
    ]
    panel = [model for model in models if model["provider"] != "embedded"]
    rule = _RULES.get(settings["blind"]["remove"])
    if not panel:
        lines += [
            f"{_NOTHING} No large language model was asked: the embedded model is a",
            "smoke-test model of 135 million parameters and is only reported, as the priors are; nothing is said about",
            "what a large model knows. For a benchmark to be published, configure at least three (`blind.models`).",
        ]
    elif rule is None:
        lines.append(f"{_NOTHING} Their answers are only reported (`blind.remove: none`).")
    else:
        lines += [
            "A model has a vote in a task where it is right more often than if truths were shuffled",
            f"and does not answer a constant. Where at least two have one, a question was removed that {rule}",
            "(`answered_blind` in `rejected`), and what would have left an answer more frequent than the most frequent",
            "was before (`blind_balance`).",
        ]
        if len(panel) < 3:
            lines.append(f"A panel of {len(panel)} is small; at least three models are recommended.")
    return [*lines, "", *_troubles(rows)]


def _nobody(models: Sequence[Row]) -> list[str]:
    """Nobody answered: nobody was to, or too much of the asking failed."""
    panel = [model["name"] for model in models if model["provider"] != "embedded"]
    if not panel:
        return ["Nobody was asked without the video: no question was removed for that.", ""]
    return [f"{_NOTHING} No verdict: of the panel ({', '.join(panel)}) some model failed for too many questions.", ""]


def _costs(models: Sequence[Row], prices_of: str) -> list[str]:
    """What the replies of hosted models took."""
    lines = []
    for model in models:
        if model["provider"] in UNPAID:
            continue
        usd = model["cost_usd"]
        price = "of unknown price" if usd is None else f"{usd:.2f} USD at prices of {prices_of}"
        unreported = f", {model['unreported_usage']} of unknown length" if model["unreported_usage"] else ""
        lines.append(
            f"- {model['model']}: {model['requests']} replies{unreported}, {model['input_tokens']} tokens read and "
            f"{model['output_tokens']} written, {price}."
        )
    return [*lines, ""] if lines else []


def _attackers(rows: Sequence[Row]) -> list[str]:
    """Table of what guessing earns on each split."""
    names = sorted({name for row in rows for name in row["asked"]["earned"]}, key=lambda name: (name == "forest", name))
    header = ["task", "questions", "n", "chance", *names]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        for split, label in (("asked", "asked"), ("released", "released"), ("debiased", "`debiased`")):
            if (found := row[split]) is None or (split == "released" and found == row["asked"]):
                continue
            both = split == "asked" and found == row["released"]
            cells = [row["task"], "asked and released" if both else label, str(found["n"]), _share(found["chance"])]
            cells += [_share(found["earned"].get(name)) for name in names]
            if found["error"] is not None:
                cells[-1] += f" ± {found['error']:.3f}"
            lines.append("| " + " | ".join(cells) + " |")
    return [
        *lines,
        "",
        "Accuracy for options, mean relative accuracy for numbers, each fitted on other scenes, on folds that neither",
        "filtering nor pruning saw; ± is the standard error of the forest's. Of numbers, a best constant always earns",
        "more than chance, which is a random answer of other scenes. For programs: `without_video.json`.",
        "",
        f"What they know: {'; '.join(f'{name}: {ATTACKERS[name]}' for name in names)}.",
        "",
    ]


def _beside_published(rows: Sequence[Row], given_away: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Table of the best attacker of each task, beside the best on the published benchmark."""
    if not given_away:
        return []
    lines = ["| task | best attacker, asked | released | `debiased` | published benchmark |", "|---|---|---|---|---|"]
    for row in rows:
        splits = [row[split] and row[split]["earned"] for split in ("asked", "released", "debiased")]
        cells = [_best(earned) for earned in (*splits, given_away.get(row["task"]))]
        lines.append(f"| {row['task']} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "The last column is what they earn on the published questions.",
        "",
    ]


def _best(earned: Mapping[str, float] | None) -> str:
    """The best attacker and what it earns."""
    if not earned:
        return ""
    name = max(earned, key=lambda name: (earned[name], name))
    return f"{earned[name]:.3f} {name}"


def _panel(rows: Sequence[Row]) -> list[str]:
    """Table of what the models had right, and what that removed."""
    names = list(dict.fromkeys(name for row in rows for name in row["voters"]))
    if not names:
        return []
    header = ["task", *names, "agreement", "removed", "for balance", "by luck"]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [row["task"], *(_vote(row["voters"].get(name)) for name in names), _share(row["agreement"])]
        cells += [str(row["answered"]), str(row["balanced"]), f"{row['by_luck']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [
        *lines,
        "",
        "Models: share of the questions asked -> of those released that they have right, in all orders that options",
        "were shown in (in parentheses: if truths were shuffled), and their standing in the task. By luck: how many",
        "would be removed by the same answers if truths were shuffled.",
    ]


def _vote(voter: Row | None) -> str:
    if voter is None:
        return ""
    after = "" if voter["right_released"] in {None, voter["right"]} else f" -> {voter['right_released']:.3f}"
    return f"{voter['right']:.3f}{after} ({voter['luck']:.3f}), {voter['standing']}"


def _troubles(rows: Sequence[Row]) -> list[str]:
    """What of the asking came to nothing."""
    lines = []
    for name in dict.fromkeys(name for row in rows for name in row["voters"]):
        found = [row["voters"][name] for row in rows if name in row["voters"]]
        failed, unread = (sum(voter[key] for voter in found) for key in ("unanswered", "unread"))
        if failed or unread:
            lines.append(f"- {name}: {failed} requests failed, {unread} replies hold no answer. These count as wrong.")
    return [*lines, ""] if lines else []


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
