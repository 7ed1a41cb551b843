"""The reference pages follow the code, and no reason goes without words."""

import ast
import operator
import re
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest
import yaml

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.engine.config import config_model
from pipeline.release.tables import COLUMN_DOCS
from pipeline.rendering.glossary import GLOSSARY, SHARED
from pipeline.worlds.registry import WORLDS
from tests.engine.findings_in_code import findings, nodes, trees
from tests.reference import pages as reference
from tests.reference.drawings import MOST_BYTES, picture
from tests.reference.examples import ANY, EXAMPLES, FINDINGS, everything, findings_of, read_examples
from tests.reference.pages import PICTURES, WITHOUT_FILE, references
from tests.reference.python_api import python_api

ROOT: Final = Path(__file__).resolve().parents[2]
BUILDS: Final = ROOT / "flows" / "builds"
PAGES: Final = ROOT / "docs" / "reference"
HOLDS: Final = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
DRAWN: Final = {"svg", "g", "path", "circle", "rect", "text", "title", "style", "view"}
MOST_BYTES_OF_ALL: Final = 5_000_000
MOST_WITHOUT: Final = 19  # it may only shrink
SVG: Final = "{http://www.w3.org/2000/svg}"
# Calls whose first argument is the name of a reason. Where it is worked out at run time, what it is worked out from
# stands in the same modules as a constant, or is the name of a finding, which has words of its own.
MAKERS: Final = frozenset(("rule", "check", "make_rejection", "Check", "require", "refuse"))
NO_REASONS: Final = ("pipeline/llm/", "pipeline/engine/", "pipeline/stages/")
ARRAYS: Final = "pipeline.core.arrays"
NEEDED: Final = ["`provider`", "`price.input`", "`price.output`"]
NOT_TOLD: Final = {"build", "benchmark", "observe"}  # names of the configuration; nothing of a city is set there


@cache
def _constants() -> dict[str, str]:
    """Names of module constants that hold a text."""
    found: dict[str, str] = {}
    for tree in trees().values():
        for node in tree.body:
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


@cache
def _calls() -> list[tuple[Path, ast.Call]]:
    """Every call in the code, with its module."""
    return [(path, node) for path, some in nodes().items() for node in some if isinstance(node, ast.Call)]


def _reasons() -> dict[str, Path]:
    """Every reason that is written out in the code, and a module that gives it."""
    constants, found = _constants(), {}
    for path, node in _calls():
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        named = [key.value for key in node.keywords if key.arg == "reason"] if called == "Rejection" else []
        named += node.args[:1] if called in MAKERS else []
        if named and not path.relative_to(ROOT).as_posix().startswith(NO_REASONS):
            found.update({text: path for one in named for text in _texts(one, constants)})
    return found


def _glossary(name: str) -> dict[str, str]:
    entries: dict[str, str] = yaml.load((GLOSSARY / f"{name}.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
    return entries


@pytest.mark.slow
def test_every_reason_in_the_code_has_words() -> None:
    reasons = _reasons()
    assert len(reasons) > 150  # the scan finds them
    known = {reason for file in GLOSSARY.iterdir() for reason in _glossary(file.stem)}
    missing = {reason: path.name for reason, path in reasons.items() if reason not in known}
    assert not missing, "say in templates/glossary what they mean"


def test_the_python_api_has_all_that_the_examples_of_the_documentation_import() -> None:
    pages = "\n".join(python_api().values())
    examples = (ROOT / "docs" / "example_package", ROOT / "docs" / "examples")
    for file in (file for folder in examples for file in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and re.match(
                r"pipeline\.(?!benchmarks\.(toy|vsi)\b)", node.module or ""
            ):
                # Classes and functions; `pipeline.core.arrays` has types of numpy alone.
                wanted = [name.name for name in node.names if not name.name.isupper() and node.module != ARRAYS]
                assert [name for name in wanted if f"    from {node.module} import {name}\n" not in pages] == []
    assert "    read(files: SceneFiles) -> AnyScene\n" in pages

    assert "[`SceneView`](api-task.md#sceneview)" in pages
    assert "0x" not in pages, "addresses differ from run to run"


@pytest.mark.slow
def test_no_words_without_a_reason() -> None:
    texts = {
        node.value
        for some in nodes().values()
        for node in some
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


@pytest.mark.slow
def test_findings_stand_in_one_place_and_that_of_their_world() -> None:
    assert {path.stem for path in FINDINGS.iterdir()} <= {ANY, *WORLDS}
    every = [name for world in (ANY, *WORLDS) for name in findings_of(world)]
    assert len(every) == len(set(every))
    reported, _ = findings()
    for world in WORLDS:
        for name in findings_of(world):
            module = reported[name]
            assert not module.startswith("worlds/") or module.startswith(f"worlds/{world}/"), (name, module)


def test_every_reason_and_finding_has_an_example() -> None:
    """Or, where there is nothing to show, a line that says why: `tests.collecting` notes them while tests run."""
    examples = {(group, name) for group, found in read_examples(PAGES / EXAMPLES).items() for name in found}
    without = {(group, name) for group, names in _without().items() for name in names}
    wanted = {(group, name) for group, words in everything().items() for name in words}
    missing = [f"{group}: {name}" for group, name in sorted(wanted - examples - without)]
    assert not missing, "python -m pytest -p tests.collecting TESTS_THAT_MEET_THEM; make docs (docs/extend/reason.md)"
    assert not examples - wanted, "leave them out of docs/reference/examples"
    assert not without - wanted
    assert not without & examples, "leave them out of without.yaml"
    assert len(without) <= MOST_WITHOUT


def test_pictures_are_those_of_the_examples(reference_pages: Path) -> None:
    """No others, and every fifth to the byte."""
    words, pictures = everything(), reference_pages / PICTURES
    drawn = {path.relative_to(pictures).with_suffix("").as_posix(): path for path in pictures.rglob("*.*")}
    examples = {
        f"{group}/{name}": (example, words[group][name])
        for group, found in read_examples(PAGES / EXAMPLES).items()
        for name, example in found.items()
    }
    assert drawn.keys() == examples.keys()
    assert [name for name in sorted(drawn)[::5] if drawn[name].read_bytes() != picture(*examples[name])] == []


@pytest.mark.slow
def test_a_measured_value_breaks_its_limit() -> None:
    """As the rule in the code says; where it is no rule that is written out, by being another number."""
    relations = _relations()
    kept = []
    for group, found in read_examples(PAGES / EXAMPLES).items():
        for name, example in found.items():
            if "/" not in group and example.measured is not None and example.limit is not None:
                of_rule = relations.get(name, set())
                breaks = [not HOLDS[relation](example.measured, example.limit) for relation in of_rule]
                if not any(breaks) if of_rule else example.measured == example.limit:
                    kept.append((group, name, example.measured, example.limit))
    assert not kept
    assert len(relations) > 150


def test_a_picture_is_a_small_drawing_and_nothing_else(reference_pages: Path) -> None:
    paths = sorted((reference_pages / PICTURES).rglob("*.svg"))
    assert sum(path.stat().st_size for path in paths) <= MOST_BYTES_OF_ALL
    for path in paths:
        raw = path.read_text("utf-8")
        assert len(raw) <= MOST_BYTES, path
        tree = ElementTree.fromstring(raw)  # noqa: S314 - our own file
        assert {node.tag.removeprefix(SVG) for node in tree.iter()} <= DRAWN, path
        assert not [key for node in tree.iter() for key in node.attrib if key.startswith("on") or "href" in key], path
        assert "url(" not in raw, path
        assert "@import" not in raw, path
        texts = [node.text for node in tree.iter(f"{SVG}text")]
        assert path.stem in texts, path


def test_a_picture_has_what_its_example_says(reference_pages: Path) -> None:
    """The value on its line, the scene where there is one, the line of a file: read back from the drawings."""
    for group, found in read_examples(PAGES / EXAMPLES).items():
        for name, example in found.items():
            tree = ElementTree.fromstring((reference_pages / PICTURES / group / f"{name}.svg").read_text("utf-8"))  # noqa: S314
            parts = {node.get("data-part"): node for node in tree.iter() if node.get("data-part")}
            assert len(parts) > 1, name
            assert ("map" in parts) == (example.top_down_map is not None and not example.around), name
            assert ("file" in parts) == (example.file is not None), name
            if example.measured is not None and example.limit is not None:
                assert float(parts["gauge"].attrib["data-measured"]) == pytest.approx(example.measured, rel=1e-5), name
                assert float(parts["gauge"].attrib["data-limit"]) == pytest.approx(example.limit, rel=1e-5), name


def test_examples_name_no_machine() -> None:
    for path in (PAGES / EXAMPLES).rglob("*.jsonl"):
        text = path.read_text("utf-8")
        assert not re.findall(r"/(?:tmp|home|root|work|private|Users)/", text), path


def _relations() -> dict[str, set[str]]:
    """Reason -> how its value must stand to its limit, where a call of the code says both."""
    constants = _constants()
    found: dict[str, set[str]] = {}
    for _, node in _calls():
        if getattr(node.func, "id", getattr(node.func, "attr", "")) in MAKERS:
            said = [a.value for a in node.args[2:3] if isinstance(a, ast.Constant) and a.value in HOLDS]
            for text in _texts(node.args[0], constants) if said else ():
                found.setdefault(text, set()).update(said)
    return found


def _without() -> dict[str, dict[str, str]]:
    return yaml.load((PAGES / EXAMPLES / WITHOUT_FILE).read_text("utf-8"), Loader=yaml.CSafeLoader) or {}


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
    page = references(BUILDS, PAGES)[f"build-{name}.md"]
    for key in {*config_model(name).model_fields, *BENCHMARKS[name].rules.model_fields} - NOT_TOLD:
        assert f"| `{key}" in page, key


@pytest.mark.parametrize(
    ("folder", "said"), [("glossary", "has no glossary"), ("builds", "has no build configuration")]
)
def test_a_new_benchmark_is_told_which_file_to_write(
    folder: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folder == "glossary":
        monkeypatch.setattr(reference, "GLOSSARY", tmp_path)
    with pytest.raises(ConfigError, match=rf"^benchmark vsi {said}: write {tmp_path}/vsi.yaml$"):
        references(tmp_path if folder == "builds" else BUILDS, PAGES)


def test_the_columns_page_names_every_column() -> None:
    page = references(BUILDS, PAGES)["columns.md"]
    for column in (*COLUMN_DOCS, *(c for b in BENCHMARKS.values() for c in b.columns.descriptions)):
        assert f"| `{column}` |" in page


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_key_of_a_configuration_says_what_it_is(name: str) -> None:
    page = references(BUILDS, PAGES)[f"build-{name}.md"].partition("## Rules")[0]
    keys = [re.split(r"(?<!\\)\|", line)[1:-1] for line in page.splitlines() if line.startswith("| `")]
    assert len(keys) > 50
    assert [cells[0].strip() for cells in keys if not cells[-1].strip()] == []
    assert [cells[0].strip() for cells in keys if cells[2].strip() == "*needed*"] == NEEDED
