"""What people need, and the kinds of places that serve it (templates/ergeobench/needs.yaml)."""

from __future__ import annotations

from functools import cache

import yaml
from pydantic import TypeAdapter

from pipeline.core.schema import Model, Name
from pipeline.core.templates import TEMPLATES_DIR


class Need(Model):
    """A need in the words of who has it."""

    need: Name
    serves: frozenset[str]
    may: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Kinds that serve it, surely or perhaps."""
        return self.serves | self.may


@cache
def needs() -> tuple[Need, ...]:
    """All needs, in the order of the table."""
    raw = yaml.safe_load((TEMPLATES_DIR / "ergeobench" / "needs.yaml").read_text(encoding="utf-8"))
    return tuple(TypeAdapter(list[Need]).validate_python(raw))
