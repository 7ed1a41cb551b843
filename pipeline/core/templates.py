"""Wording templates that render and parse questions, the tables under ``templates/tables``, and English nouns.

A template is format strings in ``templates/*/*.yaml``, many by name or one in a file. ``render(operands) -> text`` and
``parse(text) -> operands`` are inverse to each other: a published question can be taken apart into the operands it was
made from. White space is free when parsing and exact when rendering.
"""

from __future__ import annotations

import hashlib
import re
import string
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from pipeline.core.errors import TemplateError
from pipeline.core.plugins import folders

TEMPLATES_DIR: Final = Path(__file__).resolve().parents[2] / "templates"
LIST_SEPARATOR: Final = ", "

Operands = dict[str, str | tuple[str, ...]]


class Template(BaseModel):
    """One question's wording.

    Attributes:
        text: with named fields. Where the question is a published one, its wording to the letter.
        mended: the same question in words of our own, for builds that need not repeat a published wording. Words that
            follow a name are fields too (`Noun`): ``{asked.be} the {asked} to my left``.
        annotated: as ``mended``, in words that do not speak of what the video shows: where nobody looked at it and the
            annotation alone says the answer.
        lists: fields that hold several names joined by ", ".
        also_parsed: further wordings of published files.
        wordings: further wordings of the same question; each question has one, drawn by its id (`drawn`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    version: int
    text: str
    mended: str | None = None
    annotated: str | None = None
    lists: tuple[str, ...] = ()
    also_parsed: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known_forms(self) -> Template:
        wordings = (self.text, *filter(None, (self.mended, self.annotated)), *self.wordings, *self.also_parsed)
        for _, name, _, _ in chain.from_iterable(map(string.Formatter().parse, wordings)):
            if name and "." in name and name.partition(".")[2] not in DEPENDENT:
                forms = ", ".join(f"{{{name.partition('.')[0]}.{form}}}" for form in DEPENDENT)
                raise ValueError(f"{{{name}}} is no form of a name; there are {forms}")
        return self

    @model_validator(mode="after")
    def _same_fields(self) -> Template:
        own = (("wordings", wording) for wording in self.wordings)
        for name, wording in (("mended", self.mended), ("annotated", self.annotated), *own):
            if wording is not None and set(_fields(wording)) != set(self.fields):
                raise ValueError(f"{name} has the fields {_fields(wording)}, text has {self.fields}")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """Field names in order of first appearance."""
        return _fields(self.text)

    @property
    def identity(self) -> str:
        """The template's part in question ids; it stays when the folder of a benchmark's wording is renamed."""
        return self.id.replace(".", "/", 1)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the template says."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def drawn(self, question: int) -> tuple[Template, int]:
        """The template in one of its wordings, and the number of that: 0 is ``text``."""
        number = int.from_bytes(hashlib.sha256(f"{self.id} {question}".encode()).digest()[:8], "big")
        number %= 1 + len(self.wordings)
        return (self.model_copy(update={"text": self.wordings[number - 1]}) if number else self), number

    def check_fields(self, operands: Operands) -> None:
        """Raises TemplateError where the fields differ from those of the operands."""
        if set(operands) != set(self.fields):
            raise TemplateError(f"template {self.id} has fields {self.fields}, got {tuple(operands)}")

    def render(self, operands: Operands, *, mended: bool = False, annotated: bool = False) -> str:
        """The question text as published, or in the mended wording where there is one, or in that of ``annotated``.

        Raises TemplateError where the fields differ or parsing would not give them back.
        """
        text = self.filled(operands, mended=mended, annotated=annotated)
        if self.parse(text) != operands:
            raise TemplateError(f"template {self.id}: {dict(operands)} would make a question that reads in two ways")
        return text

    def filled(self, operands: Operands, *, mended: bool = False, annotated: bool = False) -> str:
        """As `render`, even where the text reads in two ways."""
        self.check_fields(operands)
        joined = {k: Noun(v if isinstance(v, str) else LIST_SEPARATOR.join(v)) for k, v in operands.items()}
        own = self.annotated if annotated and self.annotated is not None else self.mended
        return (own if mended and own is not None else self.text).format_map(joined)

    def parse(self, text: str) -> Operands | None:
        """The operands of a question text, or None if it is not of this template or reads in two ways."""
        flat = " ".join(text.split())
        for wording in (self.text, *filter(None, (self.mended, self.annotated)), *self.wordings, *self.also_parsed):
            shortest, longest = (pattern.fullmatch(flat) for pattern in _patterns(wording))
            if shortest and longest:
                if shortest.groupdict() != longest.groupdict():
                    return None
                return {k: self._value(k, v) for k, v in shortest.groupdict().items()}
        return None

    def _value(self, field: str, text: str) -> str | tuple[str, ...]:
        return tuple(text.split(LIST_SEPARATOR)) if field in self.lists else text


@cache
def load_template(name: str, root: Path = TEMPLATES_DIR) -> Template:
    """A template by its name; raises TemplateError.

    ``vsi/questions/object_counting`` is the entry ``object_counting`` of ``vsi/questions.yaml``, and its id,
    ``vsi.object_counting``, follows from folder and entry unless it says its own; ``cityeqa/question`` is a file.
    """
    path = _file_of(name, root)
    shared, _, entry = name.rpartition("/")
    if path.exists() or "/" not in shared:
        return _template(path, _yaml(path))
    path = _file_of(shared, root)
    entries = _yaml(path)
    if not isinstance(entries, dict) or not isinstance(entries.get(entry), dict):
        raise TemplateError(f"{path}: has no question template {entry!r}")
    return _template(path, {"id": f"{shared.rpartition('/')[0]}.{entry}"} | entries[entry])


@cache
def templates_of(task: str) -> tuple[Template, ...]:
    """The templates of a task's name, whatever the benchmark: files of that name, and entries of ``questions.yaml``."""
    roots = [TEMPLATES_DIR, *folders("templates")] if re.fullmatch(r"\w+", task) else []
    names = [f"{path.parent.name}/{task}" for root in roots for path in root.glob(f"*/{task}.yaml")]
    shared = (path for root in roots for path in root.glob("*/questions.yaml") if task in _yaml(path))
    return tuple(map(load_template, sorted({*names, *(f"{path.parent.name}/questions/{task}" for path in shared)})))


def _template(path: Path, content: Any) -> Template:
    try:
        return Template.model_validate(content)
    except ValidationError as error:
        faults = (": ".join((*map(str, e["loc"]), e["msg"].removeprefix("Value error, "))) for e in error.errors())
        raise TemplateError(f"{path}: cannot be read as a question template: {'; '.join(faults)}") from error


@cache
def _yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise TemplateError(f"{path}: cannot be read: {error}") from error


def _file_of(name: str, root: Path) -> Path:
    """Our own file of a name, or else that of a package from outside."""
    path = root / f"{name}.yaml"
    others = () if path.exists() else (folder / f"{name}.yaml" for folder in folders("templates"))
    return next((other for other in others if other.exists()), path)


def table_file(name: str) -> Path:
    """The file of a table."""
    return _file_of(f"tables/{name}", TEMPLATES_DIR)


@cache
def load_table(name: str) -> Any:
    """A table of words or numbers, ``templates/tables/<name>.yaml``, as plain values; raises TemplateError.

    The name stands in the call as a literal: so the file counts as code of every stage that imports the caller.
    """
    return _yaml(table_file(name))


def load_source(name: str) -> bytes:
    """A Python file below ``templates/tables`` that goes into a release unchanged; the name, with .py, as a literal."""
    return (TEMPLATES_DIR / "tables" / name).read_bytes()


@cache
def _fields(text: str) -> tuple[str, ...]:
    names = (name.partition(".")[0] for _, name, _, _ in string.Formatter().parse(text) if name)
    return tuple(dict.fromkeys(names))


@cache
def _patterns(wording: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The wording as a regular expression, with fields as short and as long as possible: equal if unambiguous."""
    patterns = []
    for repeat in ("+?", "+"):
        seen: set[str] = set()
        pattern = ""
        for literal, name, _, _ in string.Formatter().parse(wording):
            pattern += r"\s+".join(map(re.escape, re.split(r"\s+", literal)))
            if name and "." in name:
                pattern += DEPENDENT[name.partition(".")[2]]
            elif name:
                pattern += f"(?P={name})" if name in seen else f"(?P<{name}>.{repeat})"
                seen.add(name)
        patterns.append(re.compile(pattern))
    return patterns[0], patterns[1]


# Nouns in -s that are singular, beside those in -ss, -us and -is.
SINGULAR_IN_S: Final = frozenset({"gas", "canvas", "lens", "atlas", "christmas"})
VOWELS: Final = frozenset("aeiou")
SPOKEN_AS_CONSONANT: Final = ("uni", "use", "eu", "one")
SPOKEN_AS_VOWEL: Final = ("hour", "suv")
PLURAL_WITHOUT_S: Final = frozenset({"clothes", "people", "men", "women", "children", "feet", "mice", "shelves"})


class Noun(str):
    """A name as templates take it: "{asked.be}" is "is" or "are", "{category.s}" is "(s)" or nothing.

    Of "stack of chairs" and the like the first noun counts.
    """

    __slots__ = ()

    @property
    def is_plural(self) -> bool:
        """Whether it names several things, or one that English calls by a plural ("headphones")."""
        head = self.partition(" of ")[0].rpartition(" ")[2].lower()
        return head in PLURAL_WITHOUT_S or (
            head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in SINGULAR_IN_S
        )

    @property
    def be(self) -> str:
        """The verb that goes with it."""
        return "are" if self.is_plural else "is"

    @property
    def a(self) -> str:
        """The article that goes before it, by its letters."""
        word = self.lower()
        by_letter = word[:1] in VOWELS and not word.startswith(SPOKEN_AS_CONSONANT)
        return "an" if by_letter or word.startswith(SPOKEN_AS_VOWEL) else "a"

    @property
    def s(self) -> str:
        """The suffix that makes it a plural where one or more are meant."""
        return "" if self.is_plural else "(s)"


# What each word that depends on a name may be, as a regular expression.
DEPENDENT: Final = {"a": "an?", "be": "(?:is|are)", "s": r"(?:\(s\)|(?<!\(s\)))"}


def without_plural(noun: str) -> str:
    """An English noun without its plural."""
    if len(noun) > 4 and noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith(("ches", "shes", "xes", "sses")):
        return noun[:-2]
    return noun[:-1] if len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def in_unit(number: str, unit: str | None) -> str:
    """A number with its unit, a noun in the singular after 1: "1 turn", "2 turns", "1 m"; a share as "62.5%"."""
    if not unit:
        return number
    if unit == "share":
        return f"{float(number.replace(',', '')) * 100:.4g}%"
    if unit == "place":
        return f"{unit} {number}"
    return f"{number} {without_plural(unit) if number == '1' else unit}"
