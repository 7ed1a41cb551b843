"""The JSON Schemas in ``meta_schemas/`` are those of the models."""

from __future__ import annotations

import json
from pathlib import Path

from flows.cli.app import json_schemas
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.schema import MODELS, Scene
from pipeline.engine.config import BuildConfig
from pipeline.formats.scene_folder import SceneDocument

FOLDER = Path(__file__).resolve().parents[2] / "meta_schemas"


def test_the_files_are_what_the_models_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.schema.json")}
    assert written == json_schemas(), "run `make schemas` and commit what it changes"


def test_every_model_that_crosses_a_border_has_one() -> None:
    builds = [f"build-{name}" for name in BENCHMARKS]
    assert {f"{name}.schema.json" for name in (*MODELS, "scene", "scene-folder", *builds)} == set(json_schemas())


def test_they_refuse_unknown_keys_everywhere() -> None:
    for name, text in json_schemas().items():
        schema = json.loads(text)
        for part in (schema, *schema.get("$defs", {}).values()):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False, (name, part["title"])


def test_every_key_of_the_models_is_in_them() -> None:
    builds = {f"build-{name}": BuildConfig for name in BENCHMARKS}
    schemas = json_schemas()
    for name, model in {**MODELS, "scene": Scene, "scene-folder": SceneDocument, **builds}.items():
        assert set(json.loads(schemas[f"{name}.schema.json"])["properties"]) == set(model.model_fields)
