"""What the reasons for leaving a candidate out mean, in words: ``templates/glossary``."""

from __future__ import annotations

from functools import cache
from typing import Final

import yaml

from pipeline.core.templates import TEMPLATES_DIR

GLOSSARY: Final = TEMPLATES_DIR / "glossary"
SHARED: Final = "shared"


@cache
def glossary(benchmark: str) -> dict[str, str]:
    """Reason -> what it means, of a benchmark and of what all share, by reason. Findings of raw data say themselves."""
    files = [GLOSSARY / f"{name}.yaml" for name in (SHARED, benchmark)]
    words = {k: v for file in files if file.exists() for k, v in yaml.safe_load(file.read_text("utf-8")).items()}
    return dict(sorted(words.items()))
