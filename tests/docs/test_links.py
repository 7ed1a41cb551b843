"""The documentation hangs together: every page can be reached from the README, and no link leads nowhere."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from tests.builds import REPOSITORY

LINK: Final = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def _links(page: Path) -> list[tuple[Path, str]]:
    """What a page links to below the project, and the heading there."""
    text = FENCED.sub("", page.read_text("utf-8"))
    found = [one or other for one, other in LINK.findall(text)]
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
