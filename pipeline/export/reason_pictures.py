"""Example pictures of reasons and findings, for the documentation: what was met, drawn as in a build's own pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pipeline.drawing.sheet import Part, Sheet
from pipeline.export.examples import Example
from pipeline.export.reason_parts import around, excerpt, gauge, head, heights, message, plan, written

MOST_BYTES: Final = 16_000
SHOWN_WIDTH: Final = 420  # on a page
_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)(\{[^{}]*\})")
_DARK: Final = "@media (prefers-color-scheme:dark){"
_CLASS: Final = re.compile(r"\.([a-z]+)")
_USED: Final = re.compile(r'class="([^"]*)"')
_MORE: Final = ".bold{font-weight:700}.mono{font-family:ui-monospace,'DejaVu Sans Mono','Noto Sans',monospace}"


def picture(example: Example, meaning: str) -> bytes:
    """The example of a reason or finding as SVG."""
    parts = [head(example.name, meaning), *_parts(example)]
    return sheet_of(f"{example.name}: {meaning}", parts)


def sheet_of(title: str, parts: Sequence[Part]) -> bytes:
    """Parts below one another as SVG, with those colours alone that they need."""
    return _slim(Sheet(title, parts).svg()).encode()


def _parts(example: Example) -> list[Part]:
    parts = []
    rows = [("question", example.asked)] if example.asked else []
    rows = [*rows, *example.words]
    if not example.asked and not example.message and example.about:
        rows = [("about", ", ".join(example.about)), *rows]
    if rows:
        parts.append(written([(name, text or "") for name, text in rows]))
    if example.file is not None:
        parts.append(excerpt(example.file))
    if example.around:
        parts.append(around(example, example.around))
    elif example.sketch is not None:
        parts.append(plan(example, example.sketch))
    if example.heights:
        parts.append(heights(example))
    if example.message is not None:
        parts.append(message(example))
    if example.measured is not None and example.limit is not None:
        beyond = "refused" if example.severity is None else example.severity
        parts.append(gauge(example.measured, example.limit, example.unit or "", beyond))
    return parts


def _slim(svg: str) -> str:
    """The drawing with those rules of its style alone that it needs: there are many drawings."""
    body = _STYLE.sub("", svg)
    used = {name for names in _USED.findall(body) for name in names.split()}
    sheet = next(iter(_STYLE.findall(svg)))
    light, _, dark = sheet.partition(_DARK)
    kept = [_needed(rules, used) for rules in (light + _MORE, dark.rstrip().removesuffix("}"))]
    return _STYLE.sub(lambda _: f"<style>{kept[0]}{_DARK}{kept[1]}}}</style>", svg, count=1)


def _needed(rules: str, used: set[str]) -> str:
    found = []
    for selectors, body in _RULE.findall(rules):
        kept = [one for one in selectors.split(",") if set(_CLASS.findall(one)) <= used]
        if kept:
            found.append(",".join(kept) + body)
    return "".join(found)
