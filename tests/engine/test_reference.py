"""The reference pages follow the code, and no reason goes without words."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest
import yaml

from flows.reference import NOT_DRAWN, NOT_MET, NOT_SHOWN
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.engine.config import config_model
from pipeline.engine.reference import WITHOUT_FILE, references
from pipeline.export.columns import SAID
from pipeline.export.glossary import ANY, FINDINGS, GLOSSARY, SHARED, findings_of, glossary
from pipeline.export.reason_pictures import MOST_BYTES, MOST_MARKED
from pipeline.worlds.registry import WORLDS
from tests.engine.findings_in_code import findings

ROOT: Final = Path(__file__).resolve().parents[2]
BUILDS: Final = ROOT / "flows" / "builds"
PAGES: Final = ROOT / "docs" / "reference"
PICTURES: Final = PAGES / "pictures"
SVG: Final = "{http://www.w3.org/2000/svg}"
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
    written = {path.name: path.read_text("utf-8") for path in PAGES.glob("*.md")}
    assert written == references(BUILDS, PICTURES), "run `make schemas` and commit what it changes"


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


@pytest.mark.slow
def test_every_finding_in_the_code_has_words_and_no_words_are_stale() -> None:
    reported, unknown = findings()
    assert len(reported) > 350  # the scan finds them
    assert not unknown, "tests/engine/findings_in_code.py: say in WORKED_OUT what these can be"
    words = {name for world in (ANY, *WORLDS) for name in findings_of(world)}
    assert not {name: module for name, module in reported.items() if name not in words}
    assert not words - set(reported)


def test_findings_stand_in_one_place_and_that_of_their_world() -> None:
    assert {path.stem for path in FINDINGS.iterdir()} <= {ANY, *WORLDS}
    every = [name for world in (ANY, *WORLDS) for name in findings_of(world)]
    assert len(every) == len(set(every))
    reported, _ = findings()
    for world in WORLDS:
        for name in findings_of(world):
            module = reported[name]
            assert not module.startswith("worlds/") or module.startswith(f"worlds/{world}/"), (name, module)


def test_every_reason_and_finding_has_an_example_or_says_why_not() -> None:
    """The pictures are drawn by `scan2qa reference --builds DIR` from builds of the samples."""
    listed: dict[str, dict[str, str]] = yaml.safe_load((PICTURES / WITHOUT_FILE).read_text("utf-8"))
    without = {(group, name) for group, names in listed.items() for name in names}
    drawn = {(path.parent.relative_to(PICTURES).as_posix(), path.stem) for path in PICTURES.rglob("*.svg")}
    shared = glossary(SHARED)
    wanted = {(SHARED, reason) for reason in shared}
    wanted |= {(name, reason) for name in BENCHMARKS for reason in glossary(name) if reason not in shared}
    wanted |= {(f"findings/{world}", name) for world in (ANY, *WORLDS) for name in findings_of(world)}
    assert drawn | without == wanted, "run `make schemas` and commit what it changes"
    assert not drawn & without
    assert {why for names in listed.values() for why in names.values()} <= {NOT_MET, NOT_SHOWN, NOT_DRAWN}


def test_an_example_shows_what_it_is_of_and_is_small() -> None:
    paths = sorted(PICTURES.rglob("*.svg"))
    assert len(paths) > 90
    for path in paths:
        assert path.stat().st_size <= MOST_BYTES, path
        tree = ElementTree.fromstring(path.read_text("utf-8"))  # noqa: S314 - our own file
        texts = [node.text for node in tree.iter(f"{SVG}text")]
        assert texts[0] == path.stem
        marked = [node for node in tree.iter() if "marked" in (node.get("class") or "")]
        assert 0 < len(marked) <= MOST_MARKED, path


@pytest.mark.parametrize("world", [ANY, *WORLDS])
def test_words_of_findings_are_one_part_of_a_sentence(world: str) -> None:
    assert list(findings_of(world)) == sorted(findings_of(world))
    for name, words in findings_of(world).items():
        assert words[0].islower(), name
        assert not words.endswith("."), name
        assert len(words) <= 120, name


@pytest.mark.parametrize("name", [SHARED, *BENCHMARKS])
def test_words_are_one_part_of_a_sentence(name: str) -> None:
    for reason, words in _glossary(name).items():
        assert words[0].islower() or words.startswith("A "), reason
        assert not words.endswith("."), reason
        assert len(words) <= 120, reason


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_configuration_page_names_every_key_and_limit(name: str) -> None:
    page = references(BUILDS, PICTURES)[f"build-{name}.md"]
    for key in {*config_model(name).model_fields, *BENCHMARKS[name].rules.model_fields} - NOT_TOLD:
        assert f"| `{key}" in page, key


def test_the_columns_page_names_every_column() -> None:
    page = references(BUILDS, PICTURES)["columns.md"]
    for column in (*SAID, *(c for b in BENCHMARKS.values() for c in b.columns.said)):
        assert f"| `{column}` |" in page
