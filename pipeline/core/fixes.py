"""Corrections that people made to scenes as read: entries of ``meta_schemas/fixes/<dataset>.yaml``.

Each kind of correction is a model (`Fix`), told apart by its ``target``; the worlds define the kinds
(`worlds/<world>/fixes.py`). Every entry refers to the scene as it was read, whatever the others do, so that their order
changes nothing.
"""

import datetime
import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.core.findings import printable
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.core.schema import AnyScene, Applied, Finding, Model, Name

ID: Final = r"^[a-z0-9][a-z0-9_.-]{2,63}$"
DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
SCENE: Final = ""  # subject of a fix that every question about its scene rests on
TEXT_MAX: Final = 2000  # characters of a reason
DRAFTED: Final = {"why": "what is wrong, and how you know", "who": "your name"}  # of an entry that nobody filled in
DROPPED: Final = "dropped_by_fix"  # finding of a scene that a fix leaves out: nothing is wrong with the build


def _plain_date(value: object) -> object:
    if isinstance(value, datetime.date) or (isinstance(value, str) and DATE.fullmatch(value)):
        return value
    raise ValueError("write a date as 2025-03-31")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if line in DRAFTED.values():
        raise ValueError(f'"{line}" is what trace writes: put your own words in its place')
    return line


Date = Annotated[datetime.date, BeforeValidator(_plain_date)]
Words = Annotated[str, Field(min_length=1, max_length=TEXT_MAX), AfterValidator(_one_line)]


class UnexpectedError(ValueError):
    """A scene is not as a fix expects it; the text says what was expected and what was found."""


class Fix(Model):
    """One correction. Kinds add ``target``, what it is about, ``expect`` (the value as read) and ``set``.

    Their texts name their own fields as `str.format` does: ``"count of {0.of}"``.

    Attributes:
        world: whose scenes it can be about; None: any.
        path_parts: of `path`.
        subject_parts: of `subjects`.
        change_text: of `change`.
    """

    world: ClassVar[str | None] = None
    path_parts: ClassVar[tuple[str, ...]]
    subject_parts: ClassVar[tuple[str, ...]] = (SCENE,)
    change_text: ClassVar[str]

    id: str = Field(pattern=ID, description="never changes and is never used again: reports and provenance name it")
    scene: Name = Field(description="name of the scene within its dataset")
    reader: str | None = Field(default=None, description="the reader whose data it is about; None: any")
    target: str
    why: Words
    who: Words
    date: Date

    @property
    def path(self) -> tuple[str, ...]:
        """The value that it changes: two fixes collide where one's path begins with the other's."""
        return tuple(part.format(self) for part in self.path_parts)

    @property
    def subjects(self) -> tuple[str, ...]:
        """The things it is about, as operands of questions name them; `SCENE` for all of the scene."""
        return tuple(part.format(self) for part in self.subject_parts)

    @property
    def change(self) -> str:
        """The change in a few words: "count of table 2 -> 3"."""
        return self.change_text.format(self)


def target_of(kind: type[Fix]) -> str:
    """The target that tells a kind of fix."""
    target: str = get_args(kind.model_fields["target"].annotation)[0]
    return target


class DropScene(Fix):
    """Leaves a scene out of all builds."""

    path_parts = ()
    change_text = "scene left out"
    target: Literal["drop_scene"]


class SettleDoubt(Fix):
    """Somebody looked, and what was in doubt is right as it is."""

    path_parts = ("doubt", "{0.of}", "{0.expect}")
    subject_parts = ("{0.of}",)
    change_text = "{0.expect} of {0.of}: looked at, right as it is"
    target: Literal["doubt"]
    of: Name = Field(description='what the finding is about: a category, or "room"')
    expect: Name = Field(description="name of the finding, such as implausible_size")
    set: None

    def settles(self, finding: Finding) -> bool:
        """Returns whether a finding is the doubt that this entry settles."""
        return finding.severity == "doubt" and (finding.subject, finding.name) == (self.of, self.expect)


SHARED: Final[tuple[type[Fix], ...]] = (DropScene, SettleDoubt)


class FixEntry(NamedTuple):
    """A fix, and where it stands."""

    fix: Any  # a `Fix` of one kind
    dataset: str
    file: Path
    line: int

    @property
    def scene(self) -> str:
        """Id of its scene."""
        return f"{self.dataset}/{self.fix.scene}"

    @property
    def digest(self) -> str:
        """The digest of the entry's content, independent of its file and line."""
        return digest_of(self.fix.model_dump(mode="json"))

    @property
    def place(self) -> str:
        """The entry's file and line, for messages."""
        return f"fix {self.fix.id} (line {self.line})"


def collisions(entries: Iterable[FixEntry]) -> list[tuple[FixEntry, FixEntry]]:
    """Pairs of fixes of one scene that change the same value, or of which one takes away what the other changes."""
    found = []
    for members in grouped(entries, lambda entry: entry.scene).values():
        for one, other in combinations(members, 2):
            n = min(len(one.fix.path), len(other.fix.path))
            readers = {one.fix.reader, other.fix.reader}
            if one.fix.path[:n] == other.fix.path[:n] and (None in readers or len(readers) == 1):
                found.append((one, other))
    return found


def with_applied(scene: AnyScene, fixes: Sequence[Fix]) -> AnyScene:
    """The scene, which says of itself what was corrected in it."""
    applied = tuple(
        Applied(id=fix.id, subjects=fix.subjects, change=printable(fix.change), why=fix.why, who=fix.who, date=fix.date)
        for fix in fixes
    )
    return scene.model_copy(update={"fixes": (*scene.fixes, *applied)})


def expected(what: str, expect: object, found: object) -> None:
    """Raises `UnexpectedError` where a value is not the one that a fix expects."""
    if expect != found:
        raise UnexpectedError(f"{what}: expected {expect}, found {found}")
