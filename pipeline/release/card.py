"""The dataset card: YAML header of Hugging Face datasets, then what is in the release and how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

import pyarrow as pa
import yaml

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.identity import digest_of
from pipeline.core.schema import SCHEMA_VERSION, AnyScene
from pipeline.core.tables import DEBIASED, TINY
from pipeline.release.blind_section import blind_section
from pipeline.release.metadata import DTYPES, Part, configurations, header
from pipeline.release.tables import FIXES, said_of
from pipeline.release.terms import ALL_SAMPLES, TERMS_FILE, are_samples, passed_on, plain, terms_of, units_of

OVERVIEW_FILE: Final = "overview.png"
TOOL: Final = "scan2qa"  # the distribution
GUESSED_ABOVE: Final = 0.1  # chance: what is guessed better is a known weakness
FEW: Final = 50  # questions: of 50 right or wrong the standard error is up to 0.07
VALUES_TOLD: Final = 4  # of one remark
_CITED: Final = """
@software{{scan2qa,
  title = {{scan2qa: spatial question-answering benchmarks from scans, flights, maps, panoramas and logs}},
  author = {{{{The scan2qa authors}}}},
  version = {{{version}}},
  license = {{Apache-2.0}}
}}""".strip()
DRAWN: Final = "- `pictures/DATASET/SCENE/ID.svg`: what was measured for the answer, drawn, light or dark as one reads."
_OTHER_PARTS = {
    ("data", DEBIASED): "- Split `debiased` of `default`, also a configuration of that name: what bias pruning left.",
    ("data", TINY): "- Split `tiny` of `default`: a few questions of each task, for quick trials.",
    (FIXES, ""): "- `fixes`: what people corrected in the metadata before questions were made.",
    ("accepted", ""): "- `accepted`: what human review accepted, corrected questions with the right answer.",
    ("review", ""): "- `review`: by `id`, where each question of `default` stands after human review.",
    ("blind", ""): "- `blind`: what every model answered without the video, removed questions included.",
}


def dataset_card(
    parts: Sequence[Part],
    summary: dict[str, Any],
    scenes: Sequence[AnyScene],
    settings: dict[str, Any],
    review: Sequence[str],
    benchmark: Benchmark[Any, Any],
    folders: Collection[str],
) -> str:
    """README.md of a release.

    Args:
        parts: the tables of the release.
        summary: the counts of `release.Released`.
        scenes: all scenes of the release.
        settings: the part of the configuration that the release depends on.
        review: what it says of human review (`review_section`); empty where there was none.
        benchmark: what it says of itself.
        folders: of the release.
    """
    described = header(parts, settings, benchmark, bool(review))
    top = yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=1000)
    sections = [
        *_about(parts, scenes, settings, benchmark),
        *_tables(parts),
        *how_to_load(parts, settings),
        *_how_built(scenes, settings, benchmark),
        *_counts(summary),
        *_splits(summary, benchmark),
        *blind_section(summary["blind"], settings, summary["models"], benchmark.card.given_away),
        *_fixes(scenes, settings),
        *review,
        *_limits(summary, scenes, settings, bool(review), benchmark, folders),
        *_terms(scenes, settings, benchmark),
        *_columns(parts, benchmark),
    ]
    return f"---\n{top}---\n\n" + "\n".join(sections)


def _about(
    parts: Sequence[Part], scenes: Sequence[AnyScene], settings: dict[str, Any], benchmark: Benchmark[Any, Any]
) -> list[str]:
    folders = {(part.folder, "") for part in parts}
    per_dataset = Counter(scene.dataset for scene in scenes)
    return [
        f"# {plain(settings['export']['pretty_name'])}",
        "",
        benchmark.card.about,
        "",
        f"![A question with its map, and how many there are of each task, with their answers]({OVERVIEW_FILE})",
        "",
        f"Scenes: {', '.join(f'{n} {plain(name)}' for name, n in sorted(per_dataset.items())) or 'none'}.",
        *([f"All of them are samples: {ALL_SAMPLES}"] if are_samples(settings) else []),
        "",
        "## Configurations",
        "",
        "- `default`: the columns of the released benchmark, so that scorers load it unchanged. `full` is the same.",
        "- `provenance`: by `id`, the operands, the numbers that prove the answer with each rule's limit, template and",
        "  rule versions, and the digest of the raw data. Numeric questions carry four options here (`choices`).",
        "- `rejected`: every candidate that was dropped, with reason, measured value, limit and unit, scene by scene.",
        *([f"- `{splits.folder}`: {splits.said}"] if (splits := benchmark.columns.splits) else []),
        *(f"- {line}" for line in benchmark.card.parts.values()),
        *([DRAWN] if settings.get("pictures") else []),
        *(_OTHER_PARTS[key] for key in _OTHER_PARTS if key in {(part.folder, part.split) for part in parts} | folders),
        "",
    ]


def _tables(parts: Sequence[Part]) -> list[str]:
    """How many rows every split of every configuration has; empty ones are no configurations for `datasets`."""
    rows = [
        f"| `{name}` | `{split}` | {part.num_rows or '0 (not to be loaded)'} |"
        for name, splits in configurations(parts).items()
        for split, part in splits.items()
    ]
    return ["| configuration | split | rows |", "|---|---|---|", *rows, ""]


def _how_built(scenes: Sequence[AnyScene], settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> list[str]:
    fields = type(next(iter(benchmark.profiles.values()))).model_fields
    said = {name: plain(field.description or "") for name, field in fields.items()}
    readers = sorted({(scene.source.reader, scene.source.reader_version) for scene in scenes})
    return [
        "## How it was built",
        "",
        f"With scan2qa {version(TOOL)}, schema version {SCHEMA_VERSION}; reader "
        f"{', '.join(f'`{name}` {number}' for name, number in readers) or 'none'}. Versions of tasks and "
        "templates stand in `provenance`.",
        "",
        f"Ambiguity rules: {_profile(settings, benchmark)}digest `{digest_of(settings['rules'])}`; at most "
        f"{settings['select']['per_scene_and_task']} questions per scene and task"
        f"{', in the shares of the released benchmark' if len(set(benchmark.shares.values())) > 1 else ''}.",
        "",
        "| rule | limit | |",
        "|---|---|---|",
        *(f"| `{name}` | {value} | {said.get(name, '')} |" for name, value in sorted(settings["rules"].items())),
        "",
        f"Digest of the whole configuration: `{digest_of(settings)}`. `checksums.sha256` is written last: where it is "
        "missing, the release is not complete.",
        "",
    ]


def _profile(settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> str:
    """The profile in words; empty for a benchmark with only one set of rules."""
    return f"profile `{settings['generate']['profile']}`, " if len(benchmark.profiles) > 1 else ""


def how_to_load(parts: Sequence[Part], settings: dict[str, Any]) -> list[str]:
    """The lines of Python that load a release, its provenance beside it."""
    split = settings["export"]["split"]
    key = next(part for part in parts if part.folder == "data").schema.names[0]
    return [
        "## How to load it",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'questions = load_dataset("path/of/this/release", split="{split}")',
        f'provenance = load_dataset("path/of/this/release", "provenance", split="{split}")  # its id: {key}',
        "```",
        "",
        "Or with `pandas.read_parquet`. Before trusting a copy: `sha256sum --check checksums.sha256`. `croissant.json` "
        "describes all tables for machines.",
        "",
    ]


def _cited(scenes: Sequence[AnyScene], settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> list[str]:
    """The papers of the datasets that it rests on, whose authors are to be cited too."""
    if are_samples(settings):
        return []
    found = [benchmark.card.sources.get(name) for name in sorted({scene.dataset for scene in scenes})]
    return [line for citation in found if citation for line in ("", *citation.splitlines())]


def _terms(scenes: Sequence[AnyScene], settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> list[str]:
    """Whose data it rests on, whom to cite, and whom to ask."""
    stated = terms_of(scenes, settings, benchmark)
    contact = settings["export"]["contact"]
    return [
        "## Terms, citation, contact",
        "",
        *(f"- {plain(name)} ({n}): {words}" for name, n, words in stated),
        "",
        f"What this release passes on, and what not: `{TERMS_FILE}`. Cite the benchmark that it follows, the datasets "
        "and scan2qa:",
        "",
        "```bibtex",
        *benchmark.card.citation.splitlines(),
        *_cited(scenes, settings, benchmark),
        "",
        *_CITED.format(version=version(TOOL)).splitlines(),
        "```",
        "",
        "What a question came from stands under its `id` in `provenance`. "
        f"Contact: {contact or 'not stated yet (`export.contact`)'}.",
        "",
    ]


def _columns(parts: Sequence[Part], benchmark: Benchmark[Any, Any]) -> list[str]:
    """Every column of every table."""
    lines = ["## Columns", ""]
    for folder, schema in {part.folder: part.schema for part in parts}.items():
        said = said_of(benchmark, folder)
        lines += [f"`{'default' if folder == 'data' else folder}`:", "", "| column | type | |", "|---|---|---|"]
        lines += [f"| `{field.name}` | {_type(field.type)} | {said[field.name]} |" for field in schema]
        lines += [""]
    return lines


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {'structs' if pa.types.is_struct(kind.value_type) else _type(kind.value_type)}"
    return DTYPES[str(kind)]


def _counts(summary: dict[str, Any]) -> list[str]:
    lines = [
        "## Questions and dropped candidates",
        "",
        "| task | questions | dropped | most frequent reasons |",
        "|---|---|---|---|",
    ]
    for task in sorted({*summary["questions"], *summary["rejections"]}):
        reasons = Counter(summary["rejections"].get(task, {}))
        top = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(3))
        lines.append(f"| {task} | {summary['questions'].get(task, 0)} | {sum(reasons.values())} | {top} |")
    lines += [
        "",
        "Answers of multiple-choice tasks, and their letters:",
        "",
        "| task | answers | letters |",
        "|---|---|---|",
    ]
    for task, answers in sorted(summary["answers"].items()):
        common = Counter(answers).most_common(4)
        shown = ", ".join(f"{plain(answer)} {n}" for answer, n in common) + (
            ", …" if len(answers) > len(common) else ""
        )
        letters = ", ".join(f"{letter} {n}" for letter, n in sorted(summary["letters"].get(task, {}).items()))
        lines.append(f"| {task} | {shown} | {letters} |")
    return [*lines, ""]


def _splits(summary: dict[str, Any], benchmark: Benchmark[Any, Any]) -> list[str]:
    """How it is divided, and what the division leaks."""
    splits = benchmark.columns.splits
    if splits is None:
        return []
    rows = [f"| {name} | {' | '.join(map(str, counted))} |" for name, counted in summary["splits"].items()]
    return [
        "## Splits",
        "",
        f'{splits.said} `load_dataset(…, "{splits.folder}", split="{splits.names[0]}")`. What they leak, counted:',
        "",
        f"| split | questions | of how many (`{splits.group}`) | that other splits have too |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _fixes(scenes: Sequence[AnyScene], settings: dict[str, Any]) -> list[str]:
    """What people corrected, or that nothing was."""
    if not settings["applies_fixes"]:
        profile = settings["generate"]["profile"]
        return ["## Corrections", "", f"None: profile `{profile}` takes the metadata as they are published.", ""]
    made = [(scene.id, fix) for scene in scenes for fix in scene.fixes]
    if not made:
        return ["## Corrections", "", "None.", ""]
    rows = [[fix.id, scene, fix.change, fix.why, f"{fix.who}, {fix.date}"] for scene, fix in made]
    return [
        "## Corrections",
        "",
        "Corrected by people before questions were made; `provenance` names, in `fixes`, what a question rests on.",
        "",
        "| fix | scene | change | why | who |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(map(plain, row))} |" for row in rows),
        "",
    ]


def _remarks(flags: Mapping[str, int]) -> str:
    """Every remark with its number; of one that says many things ("accepted: a cat") only how many these are."""
    groups: dict[str, dict[str, int]] = {}
    for flag, n in sorted(flags.items()):
        groups.setdefault(flag.partition(": ")[0], {})[flag] = n
    told = [
        f"{sum(own.values())} {plain(name)} ({len(own)} different)"
        if len(own) > VALUES_TOLD
        else ", ".join(f"{n} {plain(flag)}" for flag, n in own.items())
        for name, own in groups.items()
    ]
    return ", ".join(told) or "none"


def _weak(summary: Mapping[str, Any]) -> list[str]:
    """Tasks that are guessed though nobody should, and those of which there are few questions."""
    guessed = []
    for row in summary["blind"]:
        last = row["debiased"] or row["released"]
        if not last or not last["earned"]:
            continue
        name, earned = max(last["earned"].items(), key=lambda item: (item[1], item[0]))
        if earned - last["chance"] > GUESSED_ABOVE:
            guessed.append(f"{row['task']} {earned:.3f} {name} (chance {last['chance']:.3f})")
    few = [f"{task} {n}" for task, n in sorted(summary["questions"].items()) if n < FEW]
    lines = []
    if guessed:
        lines.append(
            f"- Guessed without the video by more than {GUESSED_ABOVE:g} above chance, whatever was removed for it: "
            f"{', '.join(guessed)}."
        )
    if few:
        lines.append(f"- Too few questions for a figure of the task alone (under {FEW}): {', '.join(few)}.")
    return lines


def _limits(
    summary: dict[str, Any],
    scenes: Sequence[AnyScene],
    settings: dict[str, Any],
    was_reviewed: bool,
    benchmark: Benchmark[Any, Any],
    folders: Collection[str],
) -> list[str]:
    findings = Counter(name for _, name, *_ in summary["findings"])
    units, pixels = units_of(benchmark), passed_on(settings, benchmark, folders)
    whose = (
        f"The {units} are samples, and show nothing real." if are_samples(settings) else f"The {units}' own terms hold."
    )
    quirk = benchmark.card.quirks.get(settings["generate"]["profile"])
    of_world = [(world, [s for s in scenes if s.facts.world == world.name]) for world in benchmark.worlds]
    return [
        "## Known limits",
        "",
        *(line for world, own in of_world if own for line in world.sight(own)),
        *([] if was_reviewed else ["- No human review took place."]),
        f"- Findings in the raw data: {', '.join(f'{n} {name}' for name, n in sorted(findings.items())) or 'none'}.",
        *_weak(summary),
        f"- Remarks on questions: {_remarks(summary['flags'])}.",
        f"- {whose} This release holds {f'no video, but {pixels}' if pixels else 'no media'}; {benchmark.card.media}.",
        *([f"- {quirk}"] if quirk else []),
        "",
    ]
