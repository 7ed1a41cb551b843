"""LICENSES.md: the sources of a release's data and their terms."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.release.media import VIDEO_FOLDER

TERMS_FILE: Final = "LICENSES.md"
NOT_STATED: Final = "not stated: find them out before you publish this release, and state them under `export.terms`"
PROCEDURAL: Final = "procedural, made by scan2qa in the form of this dataset, of whose data it has nothing: free"
ALL_SAMPLES: Final = (
    "procedural scenes that scan2qa made, in the form of the datasets whose names they bear, with nothing of their "
    "data. They are free of any terms."
)


def terms_of(
    datasets: Mapping[str, int], settings: Mapping[str, Any], benchmark: Benchmark[Any, Any]
) -> list[tuple[str, int, str]]:
    """Dataset, its number of scenes as given, its terms: as a configuration states them, else as the benchmark does.

    Sample scenes have the form of datasets, and nothing of their data or terms.
    """
    stated = settings["export"]["terms"]
    known = dict.fromkeys(datasets, PROCEDURAL) if are_samples(settings) else dict(benchmark.card.terms)
    terms = {name: _in_cell(words) for name, words in (known | stated).items()}
    return [(name, n, terms.get(name, NOT_STATED)) for name, n in sorted(datasets.items())]


def _in_cell(markdown: str) -> str:
    """Markdown for a cell of a table: on one line, without HTML, and without what ends the cell."""
    return " ".join(markdown.split()).replace("<", "&lt;").replace("|", r"\|")


def are_samples(settings: Mapping[str, Any]) -> bool:
    """Whether all scenes are scan2qa's own samples; ``settings``: what a release depends on."""
    return bool(settings.get("samples"))


def licences(
    datasets: Mapping[str, int], settings: Mapping[str, Any], benchmark: Benchmark[Any, Any], folders: Collection[str]
) -> str:
    """The text of LICENSES.md; ``datasets``: their scenes; ``folders``: those of the release."""
    units, pixels = units_of(benchmark), passed_on(settings, benchmark, folders)
    rows = [f"| {one_line(name)} | {n} | {terms} |" for name, n, terms in terms_of(datasets, settings, benchmark)]
    invented = [f"All {units} are samples: {ALL_SAMPLES}", ""] if are_samples(settings) else []
    return "\n".join(
        [
            "# Terms of what this release rests on",
            "",
            *invented,
            f"This release passes on questions, numbers measured in the {units}, and pictures drawn of them: no scan, "
            f"no mesh{'' if VIDEO_FOLDER in folders else ', no video'}{'; of the raw data it has ' if pixels else ''}"
            f"{pixels}. Who wants those asks their owners. The terms of a source bind what "
            "is derived from it as far as its owners say.",
            "",
            f"| source | {units} | terms |",
            "|---|---|---|",
            *rows,
            "",
            f"The form of the questions follows {benchmark.title}; see the citation in README.md. They were made with "
            "scan2qa, whose own licence binds its code and not what it makes.",
            "",
        ]
    )


def units_of(benchmark: Benchmark[Any, Any]) -> str:
    """The word for its scenes, of all its worlds."""
    *most, last = (world.units for world in benchmark.worlds)
    return f"{', '.join(most)} and {last}" if most else last


def passed_on(settings: Mapping[str, Any], benchmark: Benchmark[Any, Any], folders: Collection[str]) -> str:
    """The pictures of the raw data in a release with these folders, in words; empty: none."""
    found = [f"{what} in `{folder}/`" for folder, what in benchmark.card.pixels.items() if folder in folders]
    named = settings["export"].get("frames") or ()
    if settings.get("pictures") and (are_samples(settings) or named):
        of = "" if are_samples(settings) else f" of {', '.join(named)}"
        found.append(f"single pictures of the videos{of} in `pictures/`")
    if VIDEO_FOLDER in folders:
        found.append(f"the videos of {', '.join(settings['export']['videos'])} in `{VIDEO_FOLDER}/`")
    return " and ".join(found)


def one_line(text: str) -> str:
    """Text on one line, or in a cell of a table, where nothing of it is markup."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", " ".join(text.split()))
