"""Maps a dataset's labels to categories of questions: ``meta_schemas/categories/<dataset>.yaml``.

Of ScanNet++ also ``map_benchmark.csv``: which label stands for which class of its benchmark, and which for none.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.core.csv_tables import csv_rows
from pipeline.core.errors import ConfigError, first_fault
from pipeline.core.files import read_file
from pipeline.reading.checks import CATEGORY

CATEGORIES_DIR: Final = Path(__file__).resolve().parents[4] / "meta_schemas" / "categories"


_JOINTS: Final = re.compile(r"[-/_]")


class CategoryFile(BaseModel):
    """The file as written.

    Attributes:
        dataset: name of the dataset.
        categories: category -> the raw labels that become it.
        doubtful: category -> raw labels that stand for several objects at once, or that a viewer may or may not call
            by the category's name; where one occurs, the category's count is in doubt. Such a label may stand under
            ``categories`` too: then it is an object, as VSI-Bench's authors count it, and the profile `official`, which
            heeds no doubts, asks about it. Here `strict` departs from them.
        left_out: reason -> raw labels that nothing is asked about.
        unlisted_in_doubt: whether a label of no list puts the category in doubt whose name it contains.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    categories: dict[str, tuple[str, ...]]
    doubtful: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    unlisted_in_doubt: bool = False


@dataclass(frozen=True)
class Curation:
    """The mapping of raw labels; they are compared without regard to case and blanks around them.

    Attributes:
        dataset: name of the dataset.
        category: raw label -> category.
        doubtful: raw label -> the category that it puts in doubt.
        left_out: raw labels that are left out on purpose.
        unlisted_in_doubt: see `CategoryFile`.
        sha256: digest of the file, for the stage's settings.
    """

    dataset: str
    category: dict[str, str]
    doubtful: dict[str, str]
    left_out: frozenset[str]
    unlisted_in_doubt: bool
    sha256: str

    def knows(self, label: str) -> bool:
        """Whether the file says anything about a label."""
        key = normal(label)
        return key in self.category or key in self.doubtful or key in self.left_out

    def hinted(self, label: str) -> str | None:
        """The category whose name is part of an unlisted label, word by word; the longest of several."""
        if not self.unlisted_in_doubt or self.knows(label):
            return None
        words = f" {normal(label)} "
        named = sorted({name for name in self.category.values() if f" {name} " in words}, key=lambda n: (-len(n), n))
        return named[0] if named else None


def normal(label: str) -> str:
    """A raw label as it is looked up: case, blanks, and what joins words ("-", "/", "_") make no difference."""
    return " ".join(_JOINTS.sub(" ", label.lower()).split())


@cache
def load_curation(dataset: str, folder: Path = CATEGORIES_DIR) -> Curation:
    """The curation of a dataset. Raises ConfigError where the file is missing, unreadable or contradicts itself."""
    path = folder / f"{dataset}.yaml"
    try:
        raw = path.read_bytes()
        parsed = CategoryFile.model_validate(yaml.load(raw, Loader=yaml.CSafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_fault(error)}") from error
    if parsed.dataset != dataset:
        raise ConfigError(f"{path}: dataset is {parsed.dataset!r}, not {dataset!r}")
    for name in parsed.categories:
        if not CATEGORY.fullmatch(name):
            raise ConfigError(f"{path}: the category {name!r} cannot stand in a question; rename it")
    for name in parsed.doubtful:
        if name not in parsed.categories:
            raise ConfigError(f"{path}: doubtful names {name!r}, which is no category; add it or take it out")
    category, doubtful, left_out = map(_inverse, (parsed.categories, parsed.doubtful, parsed.left_out))
    _check_once(path, parsed)
    return Curation(
        dataset, category, doubtful, frozenset(left_out), parsed.unlisted_in_doubt, hashlib.sha256(raw).hexdigest()
    )


def _inverse(lists: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {normal(label): name for name, labels in lists.items() for label in labels}


def _check_once(path: Path, parsed: CategoryFile) -> None:
    objects, doubtful, left_out = (
        [normal(label) for names in part.values() for label in names]
        for part in (parsed.categories, parsed.doubtful, parsed.left_out)
    )
    twice = sorted({label for labels in (objects, doubtful, left_out) for label in labels if labels.count(label) > 1})
    twice += sorted({*objects, *doubtful} & set(left_out))
    if twice:
        raise ConfigError(f"{path}: these labels are in more than one place: {', '.join(twice)}; keep each once")


PLACES: Final = ("metadata/semantic_benchmark/map_benchmark.csv", "metadata/map_benchmark.csv", "map_benchmark.csv")
NO_CLASS: Final = "None"  # as the file writes it; an empty field leaves the label as it is

BenchmarkMap = Mapping[str, str | None]


def map_bytes(root: Path) -> bytes:
    """The file below the root, or below the folder above it; nothing where there is none. Raises ConfigError."""
    top = root.absolute()
    for path in (folder / place for folder in (top, top.parent) for place in PLACES):
        if path.is_file():
            try:
                return read_file(path)
            except OSError as error:
                raise ConfigError(f"{path}: {error.strerror}. Make the file readable") from error
    return b""


def benchmark_map(raw: bytes) -> BenchmarkMap:
    """Label -> the label that stands for it among instances, None for those that the benchmark leaves out.

    Labels that stand for themselves are not in it. Raises ConfigError where the columns are not there.
    """
    if not raw:
        return {}
    rows = csv_rows(raw, "map_benchmark.csv", ("class", "instance_map_to"), "fetch ScanNet++'s own file")
    named = ((normal(row["class"]), row["instance_map_to"].strip()) for row in rows)
    return {label: None if target == NO_CLASS else target for label, target in named if target}
