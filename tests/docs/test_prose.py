"""Texts for users, messages too, read like a native technical writer's; no link of the documentation leads nowhere."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
import yaml

from flows.cli.app import app
from tests.builds import REPOSITORY

SENTENCE_MAX, PAGE_MAX = 55, 1200  # words
RULES: Final = {
    "name the person, or drop the pronoun": r"(?i)\b(?:whoever|whomever|somebody|nobody|anybody)\b",
    "write two sentences, or 'whose'": r"(?<!each )(?<!all )(?<!most )(?<!some )\bof (?:which|whom)\b",
    "say 'which ones'": r"(?i)\bwhich of them\b",
    "say to which model or person": r"\bto whom\b",
    "say 'reports', 'states' or 'names'": r"\b(?:is|are|be|was|were) told\b",
    "say 'is in' or 'is next to'": (
        r"(?<!cannot )\b(?:stands?|stood) (?:in(?! the way)|beside|below|above|there|here|by itself|with it)\b"
    ),
    "say 'belongs in'": r"\bbelongs? into\b",
    "say 'compared with' or 'checked against'": r"\b(?:hold|holds|held) against\b",
    "say 'available', or name it": r"\bat hand\b",
    "say 'after' or 'in the style of'": r"\bin the manner of\b",
    "say 'nevertheless', or drop it": r"\ball the same\b(?! )",
    "say what it is": r"\b(?:that|which) (?:is|are) none\b",
    "begin with the subject": r"(?:^|(?<=[.!?] ))(?:What|Whom) [^?]*$",
    "put the subject first, or a comma": r"(?:^|(?<=[.!?] ))Of [^,]*$",
    "say 'redistribute'": r"\bpass(?:ed)? on\b",
    "say 'a meaningless …'": r"\bwithout (?:a )?sense\b",
    "say 'your own'": r"\bone's own\b",
    "say 'certainly' or 'clearly'": r"\bsurely\b",
    "say 'names' or 'refers to'": r"\b(?:speaks?|spoken) of\b|\bis said of\b",
    "say 'states', 'shows' or 'records'": (
        r"(?<!which )\b(?:nothing|maps?|logs?|data|it|files?|course|they|names?) tells?\b"
        r"|\btells? (?:no|nothing|where|which)\b"
    ),
}
FOUND: Final = [(advice, re.compile(pattern)) for advice, pattern in RULES.items()]
FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE: Final = re.compile(r"`[^`]*`")
LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MARKUP: Final = re.compile(r"<style.*?</style>|<script.*?</script>|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", re.DOTALL)
BLOCK: Final = re.compile(r"\n\s*\n|\n(?=\s*[-|#]|\s*\d\. )")  # paragraph, list item, row of a table, heading
ENDS: Final = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*\[(\"])")
# Those below docs/reference are made from the glossaries.
PAGES: Final = [
    REPOSITORY / "README.md",
    *(page for page in sorted((REPOSITORY / "docs").rglob("*.md")) if page.parent.name != "reference"),
]


def paragraphs(page: str) -> Iterator[str]:
    """Paragraphs, list items, headings and cells of a page as plain text, code as X."""
    for block in BLOCK.split(LINK.sub(r"\1", CODE.sub("X", FENCED.sub("", page)))):
        if not block.startswith("    "):
            for cell in block.split("|") if block.lstrip().startswith("|") else [block]:
                if words := re.sub(r"\s+", " ", cell.replace("**", "").lstrip("-# ")).strip():
                    yield words


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Help texts of a command, of its options and of the commands below it."""
    yield name, command.help or ""
    for option in command.params:
        yield f"{name} {option.name}", getattr(option, "help", None) or ""
    for below, sub in getattr(command, "commands", {}).items():
        yield from helps(sub, f"{name} {below}")


def texts() -> Iterator[tuple[str, str]]:
    """Where a text is, and the text."""
    for page in PAGES:
        yield from ((page.relative_to(REPOSITORY).as_posix(), text) for text in paragraphs(page.read_text("utf-8")))
    yield from helps(typer.main.get_command(app), "scan2qa")
    for folder in ("glossary", "findings"):
        for file in sorted((REPOSITORY / "templates" / folder).glob("*.yaml")):
            words = yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader)
            yield from ((f"{file.name} {name}", text) for name, text in words.items())


def templates() -> Iterator[tuple[str, str]]:
    """Cards and pages, without markup."""
    places = ("templates/pages/*.jinja", "templates/tables/card/*.yaml", "templates/tables/*/release.yaml")
    for place in (*places, "flows/review_app/templates/*.html", "flows/label_app/static/*.html"):
        for file in sorted(REPOSITORY.glob(place)):
            lines = re.sub(r"^#.*$", "", MARKUP.sub("\n", file.read_text("utf-8")), flags=re.MULTILINE).splitlines()
            yield from ((file.relative_to(REPOSITORY).as_posix(), line.strip()) for line in lines)


def messages() -> Iterator[tuple[str, str]]:
    """Texts of three words and more in code: errors, findings, remedies, output, descriptions of settings."""
    for room in ("pipeline", "flows"):
        for file in sorted((REPOSITORY / room).rglob("*.py")):
            inner: set[int] = set()  # docstrings, and parts of f-strings; nodes come before those within them
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    inner |= set(map(id, node.values))
                    text = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
                elif isinstance(node, ast.Expr):
                    inner.add(id(node.value))
                    continue
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                    text = node.value
                else:
                    continue
                if text.count(" ") > 1:
                    yield f"{file.relative_to(REPOSITORY)}:{node.lineno}", re.sub(r"\s+", " ", CODE.sub("X", text))


def complaints() -> list[str]:
    """A line for each phrase that a rule finds, and for each sentence that is too long."""
    found = []
    for where, text in (*texts(), *templates(), *messages()):
        for sentence in ENDS.split(text):
            found += [f"{where}: {advice}: {sentence}" for advice, rule in FOUND if rule.search(sentence)]
            if (count := len(sentence.split())) > SENTENCE_MAX:
                found.append(f"{where}: {count} words, split it: {sentence}")
    return found


@pytest.mark.slow
def test_texts_for_users_keep_to_the_style() -> None:
    assert complaints() == []


def test_rules_find_what_they_are_for() -> None:
    bad = {
        "What fails is kept.": "begin with the subject",
        "Of a drive much can be declared": "put the subject first, or a comma",
        "The limits stand in a file": "say 'is in' or 'is next to'",
        "Whoever has it knows": "name the person, or drop the pronoun",
        "The map tells no height": "say 'states', 'shows' or 'records'",
    }
    for text, advice in bad.items():
        assert [found for found, rule in FOUND if rule.search(text)] == [advice]
    for good in ("What does it cost?", "Of the 40, 3 pass", "an object stands in the way", "each of which passes"):
        assert not [found for found, rule in FOUND if rule.search(good)]
    assert list(paragraphs("# A `b`\n\n    code\n\n- one\n- [two](x.md)\n\n| a | b |\n")) == [
        "A X",
        "one",
        "two",
        "a",
        "b",
    ]


def test_pages_are_short() -> None:
    """A page longer than this wants to be two: `docs/index.md` and `mkdocs.yml` list them."""
    words = {page.name: len(FENCED.sub("", page.read_text("utf-8")).split()) for page in PAGES}
    assert {name: count for name, count in words.items() if count > PAGE_MAX} == {}


if __name__ == "__main__":
    print("\n".join(complaints()))


# ---- the documentation hangs together: every page can be reached from the README, and no link leads nowhere


TARGET: Final = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _links(page: Path) -> list[tuple[Path, str]]:
    """What a page links to below the project, and the heading there."""
    text = FENCED.sub("", page.read_text("utf-8"))
    found = [one or other for one, other in TARGET.findall(text)]
    local = [link.partition("#") for link in found if "://" not in link and not link.startswith("mailto:")]
    return [(Path(os.path.normpath(page.parent / file)) if file else page, heading) for file, _, heading in local]


def _anchors(page: Path) -> set[str]:
    """Headings as links name them."""
    told = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page.read_text("utf-8")))
    return {words.strip().replace(" ", "-") for words in told}


def test_every_page_can_be_reached_and_every_link_leads_somewhere(reference_pages: Path, tmp_path: Path) -> None:
    """In a copy of the pages, with those that `make docs` writes."""
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("reference"))
    shutil.copytree(reference_pages, tmp_path / "docs" / "reference")
    for name in ("tests", "meta_schemas", "pipeline", "templates"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    shutil.copy(REPOSITORY / "README.md", tmp_path)
    reached: set[Path] = set()
    lost: list[str] = []
    waiting = [tmp_path / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for file, heading in _links(page):
            if not file.exists() or (heading and heading not in _anchors(file)):
                lost.append(f"{page.name}: {file.name}#{heading}")
            elif file.suffix == ".md":
                waiting.append(file)
    assert not lost
    pages = {path for path in (tmp_path / "docs").rglob("*.md") if "examples" not in path.parts}
    assert not pages - reached, "link them from the README"
