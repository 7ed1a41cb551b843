"""The dataset card: YAML header of Hugging Face datasets, then what is in the release and how it was made.

The words stand in ``templates/tables/card/sections.yaml``; here is what they are filled with.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import jinja2
import pyarrow as pa
import yaml

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.blind.totals import FINE_TUNED, ModelTotals, unanswered
from pipeline.core.groups import by_frequency
from pipeline.core.identity import digest_of
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import TINY_PER_TASK, budget_folder
from pipeline.core.templates import load_table
from pipeline.llm.base import UNPAID
from pipeline.release.contents import EVERY, SceneTotals
from pipeline.release.media import MediaTable
from pipeline.release.metadata import DTYPES, CroissantPart, configurations, header
from pipeline.release.released import HELD
from pipeline.release.tables import columns_of
from pipeline.release.terms import ALL_SAMPLES, TERMS_FILE, are_samples, one_line, passed_on, terms_of, units_of
from pipeline.review.reviewed import Reviewed
from pipeline.review.verdicts import RAW_REJECTED, REASONS, STATES

OVERVIEW_FILE: Final = "overview.png"
TOOL: Final = "scan2qa"  # the distribution
GUESSED_ABOVE: Final = 8.0  # points above chance and the best constant: what is guessed better is a known weakness
FEW: Final = 50  # questions: of 50 right or wrong the standard error is up to 0.07
VALUES_TOLD: Final = 4  # of one remark
SCENES_TOLD: Final = 20  # whose findings stand in the card in full
SPLITS: Final = {  # of `blind.totals.TextOnly`
    "asked": "asked",
    "released": "released",
    "debiased": "`debiased`",
    "choices": "among `choices`",
}
ATTACKERS: Final[Mapping[str, str]] = load_table("card/attackers")
Row = Mapping[str, Any]


def dataset_card(
    parts: Sequence[CroissantPart],
    summary: Row,
    scenes: SceneTotals,
    settings: dict[str, Any],
    remarked: Sequence[str],
    states: Mapping[str, int],
    reviewed: Reviewed,
    benchmark: Benchmark[Any, Any],
    folders: Collection[str],
    images: Sequence[MediaTable] = (),
) -> str:
    """README.md of a release.

    Args:
        parts: the tables of the release.
        summary: the counts of `writer.Released`.
        scenes: what all scenes of the release come to.
        settings: the part of the configuration that the release depends on.
        remarked: what the benchmark says of its questions.
        states: number of questions by review status.
        reviewed: what people said of them.
        benchmark: what it says of itself.
        folders: of the release.
        images: tables of its pictures.
    """
    described = header(parts, settings, benchmark, bool(reviewed.stands), images)
    context = (
        {
            "benchmark": benchmark,
            "digest_of": digest_of,
            "folders": folders,
            "profile": settings["generate"]["profile"],
            "reviewed": reviewed,
            "samples": ALL_SAMPLES if are_samples(settings) else "",
            "settings": settings,
            "splits": benchmark.columns.splits,
            "version": version(TOOL),
        }
        | _of_tables(parts, benchmark)
        | _of_scenes(scenes, settings, benchmark)
        | _of_counts(summary)
        | {"told": _finding_lines(summary, benchmark.card.full_findings), "own_remarks": remarked}
        | text_only_context(summary["blind"], settings, summary["models"], benchmark.card.given_away)
        | {name: sum(row.get(r, 0) for row in summary["rejections"].values()) for r, name in HELD.items()}
        | {"unanswered": unanswered([ModelTotals.model_validate(model) for model in summary["models"]])}
        | _of_review(states, reviewed)
        | {"units": units_of(benchmark), "pixels": passed_on(settings, benchmark, folders)}
    )
    top = yaml.dump(described, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{top}---\n\n" + "".join(section(name, context) for name in sections().list_templates())[:-1]


@cache
def sections() -> jinja2.Environment:
    """The sections of the card, in their order."""
    environment = jinja2.Environment(
        loader=_Sections(load_table("card/sections")),
        autoescape=False,  # noqa: S701 - Markdown: `plain` escapes what others wrote
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["table"] = table
    environment.filters["plain"] = one_line
    return environment


class _Sections(jinja2.DictLoader):
    """Templates that keep the order in which they stand."""

    def list_templates(self) -> list[str]:
        """Their names."""
        return list(self.mapping)


def section(name: str, context: Row) -> str:
    """One section of the card."""
    return sections().get_template(name).render(context)


def table(head: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = ["|" + "".join(f" {name} |" if name else " |" for name in head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _of_tables(parts: Sequence[CroissantPart], benchmark: Benchmark[Any, Any]) -> dict[str, Any]:
    """Tables and columns of a release; empty tables are no configurations for `datasets`."""
    columns = []
    for folder, schema in {part.folder: part.schema for part in parts}.items():
        known = columns_of(benchmark, folder)
        rows = [(f"`{field.name}`", _type(field.type), known[field.name]) for field in schema]
        columns.append(("default" if folder == "data" else folder, rows))
    return {
        "overview": OVERVIEW_FILE,
        "present": {part.folder for part in parts} | {f"{part.folder}/{part.split}" for part in parts},
        "key": next(part for part in parts if part.folder == "data").schema.names[0],
        "columns_of_tables": columns,
        "splits_of_configurations": [
            (f"`{name}`", f"`{split}`", part.num_rows or "0 (not to be loaded)")
            for name, splits in configurations(parts).items()
            for split, part in splits.items()
        ],
    }


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {'structs' if pa.types.is_struct(kind.value_type) else _type(kind.value_type)}"
    return DTYPES[str(kind)]


def _of_scenes(scenes: SceneTotals, settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> dict[str, Any]:
    """Datasets, readers, rules, corrections, limits of sight and terms."""
    per_dataset = sorted(scenes.datasets.items())
    fields = type(next(iter(benchmark.profiles.values()))).model_fields
    meanings = {name: one_line(field.description or "") for name, field in fields.items()}
    of_world = [(world, scenes.worlds[world.name]) for world in benchmark.worlds if world.name in scenes.worlds]
    # The papers of the datasets that it rests on, whose authors are to be cited too.
    cited = [] if are_samples(settings) else [benchmark.card.sources.get(name) for name, _ in per_dataset]
    return {
        "scenes_of_datasets": [f"{n} {one_line(name)}" for name, n in per_dataset],
        "schema_version": SCHEMA_VERSION,
        "readers": [f"`{name}` {number}" for name, number in sorted(scenes.readers)],
        "rules": [(f"`{name}`", value, meanings.get(name, "")) for name, value in sorted(settings["rules"].items())],
        "corrections": [tuple(map(one_line, row)) for row in scenes.fixes],
        "sight": [line for world, own in of_world for line in world.visibility(own[EVERY], own)],
        "tiny": TINY_PER_TASK,
        "caps": _caps(settings, benchmark),
        "terms": terms_of(scenes.datasets, settings, benchmark),
        "terms_file": TERMS_FILE,
        "cited": list(filter(None, cited)),
    }


def _caps(settings: dict[str, Any], benchmark: Benchmark[Any, Any]) -> str:
    """The most questions that are asked of a scene."""
    general, own = settings["select"]["per_scene_and_task"], settings["select"]["per_task"]
    if own is None:
        own = benchmark.asked_under(settings["generate"]["profile"])
    caps = [f"{n} of `{task}`" for task, n in own.items() if n is not None and task in settings["generate"]["tasks"]]
    if not caps:
        return f"at most {general} questions per scene and task"
    others = [f"{general} of each other task"] if len(caps) < len(settings["generate"]["tasks"]) else []
    return f"of a scene at most {', '.join([*caps, *others])}"


def _of_counts(summary: Row) -> dict[str, Any]:
    """Questions, rejections, answers, splits, findings and remarks."""
    counts, answers = [], []
    for task in sorted({*summary["questions"], *summary["rejections"]}):
        reasons = Counter(summary["rejections"].get(task, {}))
        top = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(3))
        counts.append((task, summary["questions"].get(task, 0), sum(reasons.values()), top))
    for task, given in sorted(summary["answers"].items()):
        common = [f"{one_line(answer)} {n}" for answer, n in Counter(given).most_common(4)]
        more = ["…"] if len(given) > len(common) else []
        letters = [f"{letter} {n}" for letter, n in sorted(summary["letters"].get(task, {}).items())]
        answers.append((task, ", ".join(common + more), ", ".join(letters)))
    guessed, few = known_weaknesses(summary["blind"], summary["questions"])
    findings = Counter(name for _, name, *_ in summary["findings"])
    return {
        "budgets": [(budget_folder(int(n)), _refused_in(own)) for n, own in summary["budgets"].items()],
        "questions_of_budgets": [
            (task, n, *(own.get(task, {}).get("", 0) for own in summary["budgets"].values()))
            for task, n in sorted(summary["questions"].items())
        ],
        "counts": counts,
        "answers": answers,
        "leaks": [(name, *counted) for name, counted in summary["splits"].items()],
        "findings": [f"{n} {name}" for name, n in sorted(findings.items())],
        "guessed": guessed,
        "guessed_above": f"{GUESSED_ABOVE:g}",
        "few": few,
        "few_questions": FEW,
        "remarks": remarks(summary["flags"]),
    }


def _finding_lines(summary: Row, names: Collection[str]) -> list[str]:
    """The findings of some names in full, of the first scenes; how many more there are."""
    found = [f"{scene}: {message}" for scene, name, _, message, *_ in summary["findings"] if name in names]
    return found[:SCENES_TOLD] + ([f"and {len(found) - SCENES_TOLD} more"] if len(found) > SCENES_TOLD else [])


def _refused_in(tasks: Mapping[str, Mapping[str, int]]) -> str:
    """How many questions a frame budget does not answer, by reason, the most frequent first."""
    reasons = Counter[str]()
    for own in tasks.values():
        reasons.update({reason: n for reason, n in own.items() if reason})
    return ", ".join(f"{n} {reason}" for reason, n in by_frequency(reasons))


def remarks(flags: Mapping[str, int]) -> str:
    """Every remark with its number; of one that says many things ("accepted: a cat") only how many these are."""
    groups: dict[str, dict[str, int]] = {}
    for flag, n in sorted(flags.items()):
        groups.setdefault(flag.partition(": ")[0], {})[flag] = n
    found = [
        f"{sum(own.values())} {one_line(name)} ({len(own)} different)"
        if len(own) > VALUES_TOLD
        else ", ".join(f"{n} {one_line(flag)}" for flag, n in own.items())
        for name, own in groups.items()
    ]
    return ", ".join(found) or "none"


def known_weaknesses(rows: Sequence[Row], questions: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Tasks that are guessed though nobody should, and tasks of few questions; ``rows``: `blind.totals.TextOnly`.

    Of a task that is guessed in any split, or of numbers among their choices: by how much in each, and what the
    attacker knows that guesses it best.
    """
    guessed, few = [], [f"{task} {n}" for task, n in sorted(questions.items()) if n < FEW]
    for row in rows:
        lines, weak = [], False
        for split, label in (("released", "all"), ("debiased", "`debiased`"), ("choices", "among `choices`")):
            if (found := row.get(split)) and found["earned"]:
                best = _best(found)
                weak |= best.points > GUESSED_ABOVE
                lines.append(f"{label} {found['n']} {best.in_words} ({best.attacker}: {_known_by(best.attacker)})")
        if weak:
            guessed.append(f"{row['task']}: {'; '.join(lines)}")
        if (left := row["debiased"]) and left["n"] < min(FEW, row["released"]["n"]):
            few.append(f"{row['task']} in `debiased` {left['n']}")
    return guessed, few


def text_only_context(
    rows: Sequence[Row],
    settings: Row,
    models: Sequence[Row],
    given_away: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """The values that section ``text_only`` is filled with.

    Args:
        rows: `blind.totals.TextOnly`.
        settings: the part of the configuration that the release depends on.
        models: `blind.totals.ModelTotals`.
        given_away: what attackers earn on the published benchmark (`benchmarks.benchmark.Card`).
    """
    names = list(dict.fromkeys(name for row in rows for name in row["voters"]))
    attacked = [row[split] for row in rows for split in ("asked", "choices") if row.get(split)]
    attackers = sorted({name for found in attacked for name in found["earned"]}, key=lambda n: (n == "forest", n))
    total = sum(row["asked"]["n"] for row in rows)
    troubles, sampled = [], []
    for name in names:
        found = [row["voters"][name] for row in rows if name in row["voters"]]
        if (n := sum(voter["asked"] for voter in found)) < total:
            sampled.append((name, n, total))
        failed, unread = (sum(voter[key] for voter in found) for key in ("unanswered", "unread"))
        if failed or unread:
            troubles.append((name, failed, unread))
    best = []
    splits = [split for split in SPLITS if split != "choices" or any(row.get(split) for row in rows)]
    for row in rows:
        cells = [str(_best(row[split])) if row.get(split) else "" for split in splits]
        if given_away:
            cells.append(_published(given_away.get(row["task"], {})))
        best.append((row["task"], *cells))
    return {
        "settings": settings,
        "rows": rows,
        "asked_models": names,
        "whole_models": [name for name in names if name not in {one for one, *_ in sampled}],
        "sampled_models": sampled,
        "panel": [model["name"] for model in settings["blind"]["models"] if model["provider"] != "embedded"],
        "remove": settings["blind"]["remove"],
        "troubles": troubles,
        "paid_models": [model for model in models if model["provider"] not in UNPAID],
        "attackers": attackers,
        "earned": [cells for row in rows for cells in _earned(row, attackers)],
        "knowledge": [f"{name}: {_known_by(name)}" for name in attackers],
        "attacked": [f"best attacker, {SPLITS[splits[0]]}", *(SPLITS[split] for split in splits[1:])],
        "best_attackers": best,
        "given_away": given_away,
        "votes": [_votes(row, names) for row in rows if names],
    }


def _known_by(attacker: str) -> str:
    return ATTACKERS[FINE_TUNED if attacker.startswith(FINE_TUNED) else attacker]


def _earned(row: Row, attackers: Sequence[str]) -> Iterable[list[object]]:
    """Scores of guessing on each split of a task."""
    for split, label in SPLITS.items():
        if (found := row.get(split)) is None or (split == "released" and found == row["asked"]):
            continue
        both = split == "asked" and found == row["released"]
        cells = [
            row["task"],
            "asked and released" if both else label,
            found["n"],
            _share(found["chance"]),
            _share(found.get("frequency")),
        ]
        cells += [_share(found["earned"].get(name)) for name in attackers]
        if attackers and attackers[-1] in found["errors"]:
            cells[-1] += f" ± {found['errors'][attackers[-1]]:.3f}"
        yield cells


class _Best(NamedTuple):
    """The best attacker of a task, and how many points it is above chance and the best constant."""

    attacker: str
    earned: float
    points: float
    error: float | None

    @property
    def in_words(self) -> str:
        """The points with their error."""
        return f"{self.points:.1f}" if self.error is None else f"{self.points:.1f} ± {100 * self.error:.1f}"

    def __str__(self) -> str:
        return f"{self.in_words} ({self.earned:.3f} {self.attacker})"


def _best(found: Row) -> _Best:
    """Of `blind.totals.GuessScores`, with some attacker."""
    name, earned = max(found["earned"].items(), key=lambda item: (item[1], item[0]))
    level = max(found["chance"], found.get("frequency") or 0.0)
    return _Best(name, earned, 100 * (earned - level), found["errors"].get(name))


def _published(earned: Mapping[str, float]) -> str:
    name = max(earned, key=lambda name: (earned[name], name), default=None)
    return "" if name is None else f"{earned[name]:.3f} {name}"


def _votes(row: Row, names: Sequence[str]) -> list[object]:
    """The models' right answers in a task, and the questions that these removed."""
    votes = [_vote(row["voters"].get(name)) for name in names]
    return [row["task"], *votes, _share(row["agreement"]), row["answered"], row["balanced"], f"{row['by_luck']:.1f}"]


def _vote(voter: Row | None) -> str:
    if voter is None:
        return ""
    after = "" if voter["right_released"] in {None, voter["right"]} else f" -> {voter['right_released']:.3f}"
    return f"{voter['right']:.3f}{after} ({voter['luck']:.3f}), {voter['standing']}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _of_review(states: Mapping[str, int], reviewed: Reviewed) -> dict[str, Any]:
    issues = Counter((reason, stand.state) for stand in reviewed.stands for reason in stand.reasons)
    return {
        "issues": [
            (words, sum(own.values()), *(own[state] for state in ("mended", "corrected", "rejected")))
            for reason, words in (REASONS | {RAW_REJECTED: "raw task rejected"}).items()
            if (own := Counter({state: n for (name, state), n in issues.items() if name == reason}))
        ],
        "states": [(state, states[state], words) for state, words in STATES.items() if states.get(state)],
        "agreements": [
            (row.task, f"{row.about}s", row.items, *(figure(value) for value in (row.raw, row.kappa, row.alpha)))
            for row in reviewed.agreements
        ],
    }


def figure(value: float | None) -> str:
    """A figure of agreement as text."""
    return "n/a" if value is None else f"{value:.3f}"
