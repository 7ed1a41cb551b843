"""Reasons and findings: what they mean (``templates/glossary``), and the examples from which their pictures are drawn.

An example is what a test met, kept small.

A file of JSON lines per group (a benchmark, "shared", "findings/<world>"), a line per reason or finding, by name.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

import yaml
from pydantic import FiniteFloat, ValidationError

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.schema import Model
from pipeline.core.spatial import TopDownMap
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.rendering.glossary import SHARED, glossary
from pipeline.worlds.registry import WORLDS

FINDINGS: Final = TEMPLATES_DIR / "findings"
ANY: Final = "any"  # findings that several worlds share


@cache
def findings_of(world: str) -> dict[str, str]:
    """Finding -> what it means, of one world, or of `ANY`; empty where a world has none of its own."""
    file = FINDINGS / f"{world}.yaml"
    return dict(yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader)) if file.exists() else {}


EXAMPLES: Final = "examples"  # folder beside the pages
SUFFIX: Final = ".jsonl"

Pair = tuple[FiniteFloat, FiniteFloat]


class FileExcerpt(Model):
    """The content of a file at fault, as an editor shows it.

    Attributes:
        name: of the file, below its scene's folder.
        size: bytes; None: it is not there.
        lines: of its text, or of its bytes as hexadecimal numbers and letters.
        first: number of the first line.
        marked: number of the line that the finding is about.
    """

    name: str
    size: int | None
    lines: tuple[str, ...] = ()
    first: int = 1
    marked: int | None = None


class SeenObject(Model):
    """Something in a panorama: degrees, yaw clockwise from its middle column, pitch upwards."""

    label: str
    yaw_deg: FiniteFloat
    width_deg: FiniteFloat
    pitch_deg: Pair


class ReasonExample(Model):
    """One candidate that was refused, or one finding, as the code gave it.

    Attributes:
        name: of the reason or finding.
        task: that refused it.
        about: what it would have asked about; of a finding its subject.
        asked: the question's words.
        from_s: second of the video at which its part for the question begins, and ``until_s``, at which it ends.
        words: what else was written, each with its name: "answer", "wrong options".
        measured: with its limit and unit, as in `rejected/`.
        severity: of a finding, with its message and remedy.
        top_down_map: the scene from above.
        heights: of a flight: second, metres above take-off.
        stretches: of a flight, that a finding is about, seconds.
        around: what is seen of a panorama.
        file: at fault.
    """

    name: str
    task: str | None = None
    about: tuple[str, ...] = ()
    asked: str | None = None
    from_s: FiniteFloat | None = None
    until_s: FiniteFloat | None = None
    words: tuple[tuple[str, str], ...] = ()
    measured: FiniteFloat | None = None
    limit: FiniteFloat | None = None
    unit: str | None = None
    severity: Literal["fault", "doubt", "note"] | None = None
    message: str | None = None
    remedy: str | None = None
    top_down_map: TopDownMap | None = None
    heights: tuple[Pair, ...] = ()
    stretches: tuple[Pair, ...] = ()
    around: tuple[SeenObject, ...] = ()
    file: FileExcerpt | None = None


def everything() -> dict[str, Mapping[str, str]]:
    """Group -> reasons or findings with their words: the code's own tables."""
    shared = glossary(SHARED)
    reasons = {name: {r: w for r, w in glossary(name).items() if r not in shared} for name in BENCHMARKS}
    return {SHARED: shared, **reasons, **{f"findings/{w}": findings_of(w) for w in (ANY, *WORLDS)}}


def read_examples(folder: Path) -> dict[str, dict[str, ReasonExample]]:
    """Group -> name -> example. Raises ConfigError for a line that is none."""
    found: dict[str, dict[str, ReasonExample]] = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        group = path.relative_to(folder).with_suffix("").as_posix()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            try:
                example = ReasonExample.model_validate_json(line)
            except ValidationError as error:
                raise ConfigError(f"{path}: line {number} is no example: {error}; collect it again") from error
            found.setdefault(group, {})[example.name] = example
    return found


def write_examples(folder: Path, group: str, examples: Iterable[ReasonExample]) -> None:
    """Writes those of one group, by name."""
    ordered = sorted(examples, key=lambda example: example.name)
    text = "".join(f"{example.model_dump_json(exclude_defaults=True)}\n" for example in ordered)
    write_atomically(folder / f"{group}{SUFFIX}", text.encode())
