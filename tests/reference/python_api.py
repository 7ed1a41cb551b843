"""Generates the reference of the Python API for plug-in packages from signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from pipeline.benchmarks import benchmark
from pipeline.core import errors, findings, parquet, schema
from pipeline.engine import stage
from pipeline.formats.logs import log
from pipeline.questions import arrays, cases, gate, published, rules, task
from pipeline.reading import checks, files, folders, reader
from pipeline.worlds import world
from pipeline.worlds.indoor import facts, view

# Page -> its title, what the page is for, and the modules whose public names it documents. These import `annotations`
# from `__future__`: so the page shows types as they are written.
PAGES: Final = {
    "api-reader": (
        "readers",
        "write a [reader](../extend/reader.md)",
        (reader, files, folders, checks, findings, errors),
    ),
    "api-log-format": ("log formats", "write a reader of [flight logs](../extend/log-format.md)", (log,)),
    "api-task": ("tasks", "write a [task](../extend/task.md)", (arrays, cases, task, rules, gate)),
    "api-stage": ("stages", "write a [stage](../extend/stage.md)", (stage, parquet)),
    "api-benchmark": ("benchmarks", "write a [benchmark](../extend/benchmark.md)", (benchmark, published)),
    "api-world": ("worlds", "use the records of a [world](../extend/world.md)", (world, schema, facts, view)),
}
_SECTION: Final = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(\S[^:]*): ", re.MULTILINE)
_QUOTED: Final = re.compile(r"((?:: |-> ))'([^']*)'")  # an annotation, which `signature` prints as a text
_MENTION: Final = re.compile(r"(?<!\[)`([A-Z]\w+)((?:\.\w+)?)`")
_PLAIN: Final = (str, int, float, bool, type(None))


def python_api() -> dict[str, str]:
    """File name -> Markdown of each page; names that another section documents are links to it."""
    texts, places = {}, {}
    for page, (title, purpose, modules) in PAGES.items():
        parts = [f"# Python API: {title}\n", f"With this page you can {purpose} in a package of your own.\n"]
        for module in modules:
            for name, found in _public(module):
                places[name] = f"{page}.md#{name.lower()}"
                parts += [f"## {name}\n", f"    from {module.__name__} import {name}\n", *_described(name, found)]
        texts[f"{page}.md"] = "\n".join(parts)

    def link(match: re.Match[str]) -> str:
        place = places.get(match[1])
        return f"[`{match[1]}{match[2]}`]({place})" if place else match[0]

    return {page: _MENTION.sub(link, text) for page, text in texts.items()}


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    """The classes and functions that a module defines, in the order of its file."""
    for name, found in vars(module).items():
        is_own = getattr(found, "__module__", None) == module.__name__ and name.isidentifier() and name[0] != "_"
        if is_own and (inspect.isclass(found) or inspect.isfunction(found)):
            yield name, found


def _described(name: str, found: Any) -> Iterator[str]:
    """A class with its fields and methods, or a function."""
    text, sections = _docstring(found)
    if not inspect.isclass(found):
        yield f"    {name}{_signature(found)}\n"
        yield from (text + "\n", *_lists(sections))
        return
    bases = [base.__name__ for base in found.__bases__ if base.__module__.startswith("pipeline.")]
    yield text + (f" Extends {', '.join(f'`{base}`' for base in bases)}." if bases else "") + "\n"
    if fields := list(_fields(found, sections.pop("Attributes", {}))):
        yield "\n".join(("Attributes:\n", *fields)) + "\n"
    yield from _lists(sections)
    for method, member in list(vars(found).items()):  # pydantic adds to it, as a model is first used
        inner = getattr(member, "__func__", getattr(member, "fget", member))
        if not method.startswith("_") and inspect.isfunction(inner) and inner.__doc__:
            text, sections = _docstring(inner)
            returns = inspect.get_annotations(inner).get("return")
            signature = f": {returns}" if isinstance(member, property) else _signature(inner)
            yield from (f"### {name}.{method}\n", f"    {method}{signature}\n", text + "\n", *_lists(sections))


def _docstring(found: Any) -> tuple[str, dict[str, dict[str, str]]]:
    """The text, and section -> entry -> its words."""
    text, *rest = _SECTION.split(inspect.getdoc(found) or "")
    sections = {}
    for section, body in zip(rest[::2], rest[1::2], strict=True):
        _, *entries = _ENTRY.split(inspect.cleandoc(body))
        pairs = zip(entries[::2], entries[1::2], strict=True)
        sections[section] = {entry: " ".join(words.split()) for entry, words in pairs}
    return text.strip(), sections


def _lists(sections: dict[str, dict[str, str]]) -> Iterator[str]:
    for section, entries in sections.items():
        yield "\n".join((f"{section}:\n", *(f"- `{entry}`: {words}" for entry, words in entries.items()))) + "\n"


def _fields(owner: type, words: dict[str, str]) -> Iterator[str]:
    """A line for each field: its name, type, default, and meaning by the docstring or the field's own description."""
    described = owner.model_fields if issubclass(owner, BaseModel) else {}
    inherited = {name: "" for name in words if name not in inspect.get_annotations(owner)}
    for name, kind in (inspect.get_annotations(owner) | inherited).items():
        if name.startswith("_") or not (kind or words.get(name)):
            continue
        meaning = words.get(name) or (described[name].description if name in described else "") or ""
        default = described[name].default if name in described else vars(owner).get(name, inspect.Parameter.empty)
        told = f" = {default!r}" if isinstance(default, _PLAIN) else ""
        text = getattr(kind, "__forward_arg__", kind)  # of a NamedTuple
        typed = f": {text if isinstance(text, str) else getattr(text, '__name__', text)}" if kind else ""
        yield f"- `{name}{typed}{told}`" + (f": {meaning}" if meaning else "")


def _signature(function: Any) -> str:
    """Its parameters without ``self``, with short defaults alone."""
    signature = inspect.signature(function)
    shown = []
    for name, parameter in signature.parameters.items():
        if name not in ("self", "cls"):
            is_long = parameter.default is not parameter.empty and not isinstance(parameter.default, _PLAIN)
            shown.append(parameter.replace(default=...) if is_long else parameter)
    return _QUOTED.sub(r"\1\2", str(signature.replace(parameters=shown))).replace("Ellipsis", "...")
