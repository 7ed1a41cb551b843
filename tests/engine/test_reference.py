"""The reference pages follow the code, and no reason goes without words."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest
import yaml

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.engine.config import config_model
from pipeline.engine.reference import references
from pipeline.export.columns import SAID
from pipeline.export.glossary import GLOSSARY, SHARED

ROOT: Final = Path(__file__).resolve().parents[2]
BUILDS: Final = ROOT / "flows" / "builds"
PAGES: Final = ROOT / "docs" / "reference"
# Calls whose first argument is the name of a reason. Where it is worked out at run time, what it is worked out from
# stands in the same modules as a constant, or is the name of a finding, which has words of its own.
MAKERS: Final = frozenset(("rule", "check", "because", "Check", "require", "refuse"))
NO_REASONS: Final = ("pipeline/llm/", "pipeline/engine/", "pipeline/stages/")
NOT_TOLD: Final = {"build", "benchmark", "observe"}  # names of the configuration; nothing of a city is set there


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _modules() -> list[Path]:
    return sorted((ROOT / "pipeline").rglob("*.py"))


def _constants() -> dict[str, str]:
    """Names of module constants that hold a text."""
    found: dict[str, str] = {}
    for path in _modules():
        for node in _tree(path).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                value = node.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[node.target.id] = value.value
    return found


def _texts(node: ast.expr, constants: dict[str, str]) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _texts(node.body, constants) + _texts(node.orelse, constants)
    if isinstance(node, ast.Name):
        return [constants[node.id]] if node.id in constants else []
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _reasons() -> dict[str, Path]:
    """Every reason that is written out in the code, and a module that gives it."""
    constants, found = _constants(), {}
    for path in _modules():
        if path.relative_to(ROOT).as_posix().startswith(NO_REASONS):
            continue
        for node in ast.walk(_tree(path)):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            named = [key.value for key in node.keywords if key.arg == "reason"] if called == "Rejection" else []
            named += node.args[:1] if called in MAKERS else []
            found.update({text: path for one in named for text in _texts(one, constants)})
    return found


def _glossary(name: str) -> dict[str, str]:
    entries: dict[str, str] = yaml.safe_load((GLOSSARY / f"{name}.yaml").read_text("utf-8"))
    return entries


def test_pages_are_up_to_date() -> None:
    written = {path.name: path.read_text("utf-8") for path in PAGES.iterdir()}
    assert written == references(BUILDS), "run `make schemas` and commit what it changes"


def test_every_reason_in_the_code_has_words() -> None:
    reasons = _reasons()
    assert len(reasons) > 150  # the scan finds them
    known = {reason for file in GLOSSARY.iterdir() for reason in _glossary(file.stem)}
    missing = {reason: path.name for reason, path in reasons.items() if reason not in known}
    assert not missing, "say in templates/glossary what they mean"


def test_no_words_without_a_reason() -> None:
    texts = {
        node.value
        for path in _modules()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    made = {f"{end}_not_near" for end in ("start", "end")}
    stale = {reason for file in GLOSSARY.iterdir() for reason in _glossary(file.stem)} - texts - made
    assert not stale


@pytest.mark.parametrize("name", [SHARED, *BENCHMARKS])
def test_words_are_one_part_of_a_sentence(name: str) -> None:
    for reason, words in _glossary(name).items():
        assert words[0].islower() or words.startswith("A "), reason
        assert not words.endswith("."), reason
        assert len(words) <= 120, reason


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_configuration_page_names_every_key_and_limit(name: str) -> None:
    page = references(BUILDS)[f"build-{name}.md"]
    for key in {*config_model(name).model_fields, *BENCHMARKS[name].rules.model_fields} - NOT_TOLD:
        assert f"| `{key}" in page, key


def test_the_columns_page_names_every_column() -> None:
    page = references(BUILDS)["columns.md"]
    for column in (*SAID, *(c for b in BENCHMARKS.values() for c in b.columns.said)):
        assert f"| `{column}` |" in page
