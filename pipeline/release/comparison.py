"""Compares two releases: questions are matched by id, which is that of scene, task, template and operands."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

import jinja2
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.core.arrays import IntArray
from pipeline.core.errors import ConfigError
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_files, released_files, table_bytes
from pipeline.core.tables import CHECKSUMS, DEBIASED, PART_SPLITS, texts
from pipeline.core.templates import TEMPLATES_DIR, in_unit, load_table
from pipeline.questions.balance import TOO_COMMON
from pipeline.questions.published import Columns, Published, published_rows
from pipeline.questions.selection import OVER_CAP, SAME_FACT, SHARES
from pipeline.release.tables import FIXES
from pipeline.release.terms import one_line

Kind = Literal["answer changed", "wording changed", "options changed", "added", "removed", "displaced by a cap"]
KINDS: Final[dict[Kind, str]] = load_table("card/changes")["kinds"]
CAPS: Final = frozenset({OVER_CAP, SAME_FACT, SHARES, TOO_COMMON})
_TOLD: Final = ("id", "scene", "task", "operands", "answer")
_PROVENANCE: Final = (*_TOLD, "fixes")
_MADE_FROM: Final[dict[str, str]] = load_table("card/changes")["made_from"]


@dataclass(frozen=True)
class ReleasedQuestion:
    """A question as it stands in a release; ``options``: those that a reader of the release is given."""

    scene: str
    task: str
    operands: tuple[str, ...]
    text: str
    options: tuple[str, ...]
    answer: str
    fixes: tuple[str, ...]
    made_from: Mapping[str, Any]


@dataclass(frozen=True)
class QuestionChange:
    """One question of which something changed.

    Attributes:
        before: how it stood; None where it was not asked.
        after: how it stands; None where it is not asked any more.
        reason: why it is not asked, or was not: the rejection's reason with what was measured.
        causes: what brought that about.
    """

    id: int
    kind: Kind
    before: ReleasedQuestion | None
    after: ReleasedQuestion | None
    reason: str = ""
    causes: tuple[str, ...] = ()

    @property
    def asked(self) -> ReleasedQuestion:
        """The question, as it stands or else stood."""
        asked = self.after or self.before
        if asked is None:
            raise ValueError("a change is that of a question")
        return asked

    @property
    def from_to(self) -> str:
        """The old and the new value; of a question that is not in both releases the reason."""
        if self.before is None or self.after is None:
            return self.reason
        values: Mapping[str, tuple[str, str]] = {
            "answer changed": (self.before.answer, self.after.answer),
            "wording changed": (self.before.text, self.after.text),
            "options changed": ("; ".join(self.before.options), "; ".join(self.after.options)),
        }
        return " → ".join(values[self.kind])


@dataclass(frozen=True)
class LoadedRelease:
    """A release folder, read.

    Attributes:
        name: the first digits of the digest of its checksums, as the releases of a build are named.
        questions: by id; all, or those of some scenes.
        size: how many questions it has.
        num_scenes: how many scenes they are about.
        debiased: how many questions are in the split of that name; None where there is none.
        fixes: id -> what was corrected (`tables.FIXES`), of all scenes.
    """

    folder: Path
    name: str
    questions: Mapping[int, ReleasedQuestion]
    size: int
    num_scenes: int
    debiased: int | None
    fixes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def read_release(folder: Path, columns: Iterable[Columns], scenes: Collection[str] | None = None) -> LoadedRelease:
    """A release, with all questions or those of some scenes.

    Raises ConfigError where the folder holds none, or one that is not whole.
    """
    name = digest_of(_checksums(folder))[:12]
    about = _table(folder, "provenance", columns=["scene"])
    where = None if scenes is None else pc.field("scene").isin(pa.array(sorted(scenes), pa.string()))
    provenance = _table(folder, "provenance", columns=(*_PROVENANCE, *_MADE_FROM), where=where)
    ids = None if scenes is None or provenance is None else provenance["id"].combine_chunks()
    published: dict[int | str, Published] = {}
    for path in _files_of(folder, "data"):
        where = None if ids is None else pc.field(_schema_of(path).names[0]).isin(ids)
        rows = _read([path], where=where).to_pylist()
        published |= {question.id: question for question in published_rows(path, rows, columns)}
    debiased = _table(folder, "data", DEBIASED, ["question"])
    questions = {}
    for row in [] if provenance is None else provenance.to_pylist():
        shown = published[row["id"]]
        made = {name: row.get(column) for column, name in _MADE_FROM.items() if column in row}
        asked = (row["scene"], row["task"], tuple(row["operands"]), shown.question, shown.options or (), row["answer"])
        questions[row["id"]] = ReleasedQuestion(*asked, tuple(row.get("fixes") or ()), made)
    fixes = _table(folder, FIXES)
    return LoadedRelease(
        folder,
        name,
        questions,
        0 if about is None else about.num_rows,
        0 if about is None else len(about["scene"].unique()),
        None if debiased is None else debiased.num_rows,
        {row["id"]: row for row in ([] if fixes is None else fixes.to_pylist())},
    )


def differing_scenes(before: Path, after: Path) -> set[str]:
    """The scenes of which a question differs between two releases; files that are the same in both are not read.

    Raises ConfigError where a folder holds no release, or one that is not whole.
    """
    sums = [set(_checksums(folder).split(b"\n")) for folder in (before, after)]
    same = {line.split(b"  ", 1)[1].decode() for line in sums[0] & sums[1] if line}
    ids, found = list[IntArray](), set[str]()
    for table in ("data", "provenance"):
        one, other = (_digests(folder, table, same) for folder in (before, after))
        both, of_one, of_other = np.intersect1d(one[0], other[0], return_indices=True)
        ids += [np.setxor1d(one[0], other[0]), both[one[1][of_one] != other[1][of_other]]]
    where = pc.field("id").isin(pa.array(np.unique(np.concatenate(ids))))
    for folder in (before, after):
        paths = _files_of(folder, "provenance")
        found |= set(_read(paths, ["scene"], where)["scene"].to_pylist() if paths else ())
    return found


def _digests(folder: Path, table: str, same: Collection[str]) -> tuple[IntArray, IntArray]:
    """Ids of the rows of a table, (n,), and digests of their texts, (n,); of files that are not among some."""
    from pandas.util import hash_array  # pandas takes a moment, which builds that change nothing need not spend

    found: list[tuple[IntArray, IntArray]] = [(np.array([], np.int64), np.array([], np.int64))]
    for path in _files_of(folder, table):
        if f"{table}/{path.name}" not in same:
            schema = _schema_of(path)
            columns = _TOLD if table == "provenance" else [column.name for column in schema if _is_text(column.type)]
            rows = _read([path], [schema.names[0], *columns])
            texts = [_texts(rows[column.name]) for column in rows.schema if _is_text(column.type)]
            lines = pc.binary_join_element_wise(*texts, "\x1e", null_handling="replace")
            digests = hash_array(lines.to_numpy(zero_copy_only=False), categorize=False).view(np.int64)
            found.append((rows[0].to_numpy(), digests))
    ids, digests = (np.concatenate(own) for own in zip(*found, strict=True))
    return ids, digests


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.list_(pa.string()))


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts, or of lists of texts, as texts."""
    return column if column.type == pa.string() else pc.binary_join(column, "\x1f")


def _checksums(folder: Path) -> bytes:
    try:
        return (folder / CHECKSUMS).read_bytes()
    except OSError as error:
        raise ConfigError(f"{folder}: no release here ({CHECKSUMS} is missing); give a release's folder") from error


def _files_of(folder: Path, table: str) -> list[Path]:
    """The files of a table; of the questions those of the full split."""
    return [path for path in released_files(folder / table) if path.name.partition("-")[0] not in PART_SPLITS]


def _table(
    folder: Path,
    configuration: str,
    split: str | None = None,
    columns: Collection[str] = (),
    where: pc.Expression | None = None,
) -> pa.Table | None:
    """A table of a release, or those of some columns that it has; None where it has no such table."""
    paths = released_files(folder / configuration, split)
    return _read(paths, columns, where) if paths else None


def _read(paths: Sequence[Path], columns: Collection[str] = (), where: pc.Expression | None = None) -> pa.Table:
    """Rows of files, with those of some columns that they have. Raises ConfigError for a file that cannot be read."""
    known = _schema_of(paths[0]).names if columns else []
    try:
        return read_files(paths, [name for name in known if name in columns] or None, where)
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{paths[0]}: cannot be read: {error}") from error


def _schema_of(path: Path) -> pa.Schema:
    """The columns of a file. Raises ConfigError for one that cannot be read."""
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def compared(before: LoadedRelease, after: LoadedRelease) -> list[QuestionChange]:
    """All questions of which something changed, by scene, task and id; why one is not asked is not looked up."""
    found = [*_gone_and_new(before, after), *_changed(before, after)]
    return sorted(found, key=lambda c: (c.asked.scene, c.asked.task, c.id, list(KINDS).index(c.kind)))


def with_reasons(
    changes: Sequence[QuestionChange], before: LoadedRelease, after: LoadedRelease
) -> list[QuestionChange]:
    """The changes, with the reasons from the rejected candidates of both releases."""
    moved = [change for change in changes if change.before is None or change.after is None]
    old_rows, new_rows = _refused(before.folder, moved), _refused(after.folder, moved)
    gone, new = _reasons(new_rows, old_rows, moved), _reasons(old_rows, new_rows, moved)

    def told(change: QuestionChange) -> QuestionChange:
        name, text = (gone if change.after is None else new).get(change.id, ("", ""))
        if change.after is None and name in CAPS:
            return replace(change, kind="displaced by a cap", reason=text)
        if change.after is None:
            return replace(change, reason=text or "no candidate any more")
        return replace(change, reason=f"before: {text or 'no candidate'}") if change.before is None else change

    return [told(change) for change in changes]


def _gone_and_new(before: LoadedRelease, after: LoadedRelease) -> Iterator[QuestionChange]:
    for number in before.questions.keys() - after.questions.keys():
        yield QuestionChange(number, "removed", before.questions[number], None)
    for number in after.questions.keys() - before.questions.keys():
        yield QuestionChange(number, "added", None, after.questions[number])


def _changed(before: LoadedRelease, after: LoadedRelease) -> Iterator[QuestionChange]:
    for number in before.questions.keys() & after.questions.keys():
        one, other = before.questions[number], after.questions[number]
        kinds: dict[Kind, bool] = {
            "answer changed": one.answer != other.answer,
            "wording changed": one.text != other.text,
            "options changed": one.options != other.options and one.answer == other.answer,
        }
        yield from (QuestionChange(number, kind, one, other) for kind, changed in kinds.items() if changed)


def _refused(folder: Path, changes: Collection[QuestionChange]) -> list[dict[str, Any]]:
    """The rejections of a release that may be about some questions: of themselves, or of a category in a role."""
    paths = released_files(folder / "rejected")
    if not changes or not paths:
        return []
    columns = ["id", "scene", "task", "role", "operands", "reason", "measured", "limit", "unit"]
    ids = pa.array([change.id for change in changes], pa.int64())
    scenes = pa.array(sorted({change.asked.scene for change in changes}))
    wanted = pc.field("id").isin(ids) | (pc.field("role").is_valid() & pc.field("scene").isin(scenes))
    found: list[dict[str, Any]] = read_files(paths, columns, wanted).to_pylist()
    return found


def _reasons(
    rows: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], changes: Collection[QuestionChange]
) -> dict[int, tuple[str, str]]:
    """Question id -> name and words of the reason for which one release has it not and the other has.

    A category that cannot stand in a role is one rejection for all that it would have stood in; one that both releases
    have is the reason of nothing.
    """
    own = {row["id"]: row for row in rows if row["role"] is None}
    both = {_role(row) for row in others if row["role"] is not None}
    only = (row for row in rows if row["role"] is not None and _role(row) not in both)
    of_roles = grouped(only, itemgetter("scene", "task"))
    found = {}
    for change in changes:
        asked = change.asked
        roles = of_roles.get((asked.scene, asked.task), [])
        found_row = own.get(change.id) or next((r for r in roles if set(r["operands"]) <= set(asked.operands)), None)
        if found_row is not None:
            found[change.id] = (found_row["reason"], reason_of(found_row))
    return found


def _role(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (row["scene"], row["task"], row["role"], *row["operands"])


def reason_of(row: Mapping[str, Any]) -> str:
    """A rejection in words: "near_sector_boundary (chair): 8.2 deg, limit 10 deg"."""
    about = f" ({', '.join(row['operands'])})" if row["role"] is not None and row["operands"] else ""
    if row["measured"] is None:
        return f"{row['reason']}{about}"
    measured = in_unit(f"{row['measured']:.4g}", row["unit"])
    limit = "" if row["limit"] is None else ", limit " + in_unit(f"{row['limit']:.4g}", row["unit"])
    return f"{row['reason']}{about}: {measured}{limit}"


SHOWN: Final = 200  # questions in the Markdown; page and table have all
TABLE: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        *texts("kind", "scene", "task"),
        pa.field("operands", pa.list_(pa.string())),
        *(
            pa.field(f"{name}_{when}", kind)
            for when in ("before", "after")
            for name, kind in (("question", pa.string()), ("answer", pa.string()), ("options", pa.list_(pa.string())))
        ),
        pa.field("reason", pa.string()),
        pa.field("causes", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True)
class Cause:
    """A cause, how much it brought about, and in the words of whoever made it what was done."""

    name: str
    changes: int
    scenes: int
    description: str


@dataclass(frozen=True)
class Report:
    """Two releases, all changes between them with their causes, and what these come to."""

    title: str
    before: LoadedRelease
    after: LoadedRelease
    changes: Sequence[QuestionChange]

    @property
    def totals(self) -> dict[str, int]:
        """Number of changes of each kind, in the order of `KINDS`."""
        count = Counter(change.kind for change in self.changes)
        return {kind: count[kind] for kind in KINDS}

    @property
    def tasks(self) -> dict[str, Counter[str]]:
        """The same by task."""
        rows: dict[str, Counter[str]] = {}
        for change in self.changes:
            rows.setdefault(change.asked.task, Counter())[change.kind] += 1
        return dict(sorted(rows.items()))

    @property
    def causes(self) -> list[Cause]:
        """All causes, those of most changes first; of as many, in the order of the stages and their inputs."""
        of: dict[str, list[QuestionChange]] = {}
        for change in self.changes:
            for name in change.causes:
                of.setdefault(name, []).append(change)
        found = [Cause(n, len(cs), len({c.asked.scene for c in cs}), self._fix_text(n)) for n, cs in of.items()]
        return sorted(found, key=lambda cause: -cause.changes)

    @property
    def line(self) -> str:
        """All of it on one line."""
        if not self.changes:
            return "no question differs"
        counts = [f"{n} {_counted(kind, n)}" for kind, n in self.totals.items() if n]
        names = [cause.name for cause in self.causes]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{', '.join(counts)} ({', '.join(names[:3])}{more})"

    def _fix_text(self, cause: str) -> str:
        fix = {**self.before.fixes, **self.after.fixes}.get(cause.removeprefix("fix ").partition(" ")[0])
        if not fix or not cause.startswith("fix "):
            return ""
        return f"{fix['scene']}: {fix['change']}. {fix['why']} ({fix['who']}, {fix['date']})"


def _counted(kind: str, n: int) -> str:
    what, _, changed = kind.partition(" ")
    return f"{what}{'s' if n > 1 and changed == 'changed' and not what.endswith('s') else ''} {changed}".strip()


@cache
def page_environment() -> jinja2.Environment:
    """The templates of pages: whatever stands in a question is text there, and no markup; in Markdown by ``plain``."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES_DIR / "pages"),
        autoescape=jinja2.select_autoescape(disabled_extensions=["md.jinja"], default=True),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    found.filters["plain"] = one_line
    return found


def page(report: Report) -> bytes:
    """One HTML file that needs nothing else; whatever stands in questions is text there."""
    names = ("title", "before", "after", "changes", "totals", "tasks", "causes")
    return page_environment().get_template("diff.html.jinja").render({n: getattr(report, n) for n in names}).encode()


def table(report: Report) -> bytes:
    """A row for each change, as Parquet."""
    rows = []
    for change in report.changes:
        row: dict[str, object] = {
            "id": change.id,
            "kind": change.kind,
            "scene": change.asked.scene,
            "task": change.asked.task,
        }
        row |= {"operands": change.asked.operands, "reason": change.reason or None, "causes": change.causes}
        for when, stood in (("before", change.before), ("after", change.after)):
            if stood:
                row |= {f"question_{when}": stood.text, f"answer_{when}": stood.answer}
                row[f"options_{when}"] = stood.options
        rows.append(row)
    return table_bytes(pa.Table.from_pylist(rows, schema=TABLE))


def markdown(report: Report) -> bytes:
    """The figures, the causes, and the first changes."""
    return page_environment().get_template("diff.md.jinja").render(report=report, shown=SHOWN).encode()
