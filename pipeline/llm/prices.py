"""What a model costs: an editable table, since no provider tells with its replies."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.core.errors import ConfigError
from pipeline.llm.base import ModelSpec
from pipeline.llm.prompts import PROMPTS_DIR
from pipeline.llm.usage import Price

PRICES: Final = PROMPTS_DIR / "prices.yaml"
FREE: Final = Price(input=0, output=0)


class PriceTable(BaseModel):
    """List prices by model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: str = Field(pattern=r"^\d{4}-\d{2}$", description="month in which the prices held")
    models: dict[str, Price]


@cache
def load_prices(path: Path = PRICES) -> PriceTable:
    """The price table. Raises ConfigError where it cannot be read."""
    try:
        return PriceTable.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as a price table: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigError(f"{path}: {faults}") from error


def price_of(spec: ModelSpec, table: PriceTable) -> Price | None:
    """The configured price, else the table's; None if unknown, which is not free."""
    if spec.price is not None:
        return spec.price
    if not spec.is_hosted:
        return FREE
    return table.models.get(spec.model)
