"""Plans of sample worlds, which are data: ``meta_schemas/samples/<world>/<name>.yaml``."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import yaml

from pipeline.core.templates import TEMPLATES_DIR

FOLDER: Final = TEMPLATES_DIR.parent / "meta_schemas" / "samples"


@cache
def sample_data(name: str) -> Any:
    """The content of ``<name>.yaml``, as in "indoor/furniture"."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_bytes())
