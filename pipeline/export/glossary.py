"""What the reasons for leaving a candidate out mean, in words (``templates/glossary``), and findings in raw data."""

from __future__ import annotations

from functools import cache
from typing import Final

import yaml

from pipeline.core.templates import TEMPLATES_DIR

GLOSSARY: Final = TEMPLATES_DIR / "glossary"
SHARED: Final = "shared"
FINDINGS: Final = TEMPLATES_DIR / "findings"
ANY: Final = "any"  # findings that several worlds share


@cache
def glossary(benchmark: str) -> dict[str, str]:
    """Reason -> what it means, of a benchmark and of what all share, by reason. Findings of raw data say themselves."""
    files = [GLOSSARY / f"{name}.yaml" for name in (SHARED, benchmark)]
    words = {k: v for file in files if file.exists() for k, v in yaml.safe_load(file.read_text("utf-8")).items()}
    return dict(sorted(words.items()))


@cache
def findings_of(world: str) -> dict[str, str]:
    """Finding -> what it means, of one world, or of `ANY`; empty where a world has none of its own."""
    file = FINDINGS / f"{world}.yaml"
    return dict(yaml.safe_load(file.read_text("utf-8"))) if file.exists() else {}
