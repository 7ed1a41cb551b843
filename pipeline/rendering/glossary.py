"""What the reasons of rejections mean: ``templates/glossary``."""

from functools import cache
from typing import Final

import yaml

from pipeline.core.plugins import folders
from pipeline.core.templates import TEMPLATES_DIR

GLOSSARY: Final = TEMPLATES_DIR / "glossary"
SHARED: Final = "shared"


@cache
def glossary(benchmark: str) -> dict[str, str]:
    """Reason -> what it means, of a benchmark and of what all share, by reason. Findings of raw data say themselves."""
    roots = (GLOSSARY, *(folder / "glossary" for folder in folders("templates")))
    files = [root / f"{name}.yaml" for name in (SHARED, benchmark) for root in roots]
    words = {
        k: v
        for file in files
        if file.exists()
        for k, v in yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader).items()
    }
    return dict(sorted(words.items()))


def words(name: str) -> str:
    """A name of the code as words."""
    return name.replace("_", " ")
