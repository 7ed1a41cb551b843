"""JSON Schemas of the shared models, generated into ``meta_schemas/``."""

from __future__ import annotations

import json

from pydantic import BaseModel

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.schema import MODELS
from pipeline.engine.config import config_model
from pipeline.worlds.registry import SCENE


def json_schemas() -> dict[str, str]:
    """File name -> JSON text, for every model that crosses a border."""
    models: dict[str, type[BaseModel]] = {**MODELS, **{f"build-{name}": config_model(name) for name in BENCHMARKS}}
    schemas = {"scene": SCENE.json_schema()} | {name: model.model_json_schema() for name, model in models.items()}
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, sort_keys=True) + "\n" for name, schema in schemas.items()
    }
