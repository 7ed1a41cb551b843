"""The part of the card that says what the questions give away without their videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipeline.blind.without_video import is_prior

_RULES: Final = {
    "all_correct": "all of them answered right",
    "majority": "more than half of them answered right",
    "any": "any of them answered right",
}


def blind_section(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[str]:
    """Lines of Markdown; ``rows`` are `schema.WithoutVideo` as dictionaries."""
    lines = ["## Without the video", ""]
    voters = list(dict.fromkeys(name for row in rows for name in row["voters"]))
    lines += [*_about_voters(voters, settings), *_troubles(rows)]
    models = [name for name in voters if not is_prior(name)]
    if settings["prune"] is None:
        lines.append("No bias pruning was run: `pruned` is False throughout.")
    else:
        lines += [
            "Split `debiased` leaves out what a random forest, fitted on other scenes, guesses from question and",
            f"options alone: nothing more than {settings['prune']['tau']:g} above chance stays, but in tasks that are",
            "down to 10 questions or are on the whole guessed no better than by chance (arXiv 2511.04655).",
        ]
    if not rows:
        return [*lines, ""]
    header = ["task", "n", "chance", "most frequent", "median", "by name", "forest", *models]
    header += ["agreement", "removed", "by luck", "debiased", "forest there"]
    lines += ["", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = [row["task"], str(row["n"])]
        cells += [_share(row[name]) for name in ("chance", "most_frequent", "median", "by_name", "forest")]
        cells += [_share(row["voters"].get(name)) for name in models]
        cells += [_share(row["agreement"]), str(row["removed"]), f"{row['by_luck']:.1f}"]
        cells += ["" if row["debiased"] is None else str(row["debiased"]), _share(row["forest_left"])]
        lines.append("| " + " | ".join(cells) + " |")
    return [
        *lines,
        "",
        "Chance, priors and forest: accuracy for options, mean relative accuracy for numbers, fitted on other scenes.",
        "Models: share of right answers; a number is right from a mean relative accuracy of "
        f"{settings['blind']['number_threshold']:g}. By luck: how many would be",
        "removed if all of them guessed. The forest is that of the questions which were not removed.",
        "",
    ]


def _about_voters(voters: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    models = settings["blind"]["models"]
    if not voters:
        return ["Nobody was asked without the video: no question was removed for that.", ""]
    lines = [
        f"{len(voters)} voters answered every question without its video: {', '.join(voters)}. A question was removed "
        f"where {_RULES[settings['blind']['remove']]} (`answered_blind` in `rejected`).",
    ]
    if all(model["provider"] == "embedded" for model in models):
        lines += [
            "**No large language model was asked.** What frequencies and names give away is removed, and nothing is",
            "said about what a large model knows; the embedded model is a smoke-test model of 135 million parameters.",
            "For a benchmark to be published, configure at least three large models (`blind.models`).",
        ]
    elif len(models) < 3:
        lines.append(f"A panel of {len(models)} is small; at least three models are recommended.")
    return [*lines, ""]


def _troubles(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What of the asking came to nothing."""
    lines = []
    for name in dict.fromkeys(name for row in rows for name in row["voters"]):
        n = sum(row["n"] for row in rows)
        failed, unread = (sum(row[key].get(name, 0) for row in rows) for key in ("unanswered", "unread"))
        if failed or unread:
            lines.append(
                f"- {name} answered {n - failed - unread} of {n} questions: {failed} requests failed, {unread} replies "
                "hold no answer. These count as wrong."
            )
    return [*lines, ""] if lines else []


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
