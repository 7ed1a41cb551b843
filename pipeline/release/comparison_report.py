"""A comparison of two releases for people to read: a page, Markdown, and a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2
import pyarrow as pa

from pipeline.core.parquet import table_bytes
from pipeline.release.comparison import KINDS, Change, Release

PAGES: Final = Path(__file__).resolve().parents[2] / "templates" / "pages"
SHOWN: Final = 200  # questions in the Markdown; page and table have all
TABLE: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("scene", pa.string()),
        pa.field("task", pa.string()),
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
    told: str


@dataclass(frozen=True)
class Report:
    """Two releases, all changes between them with their causes, and what these come to."""

    title: str
    before: Release
    after: Release
    changes: Sequence[Change]

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
        """All causes, those of most changes first."""
        of: dict[str, list[Change]] = {}
        for change in self.changes:
            for name in change.causes:
                of.setdefault(name, []).append(change)
        found = [Cause(n, len(cs), len({c.asked.scene for c in cs}), self._told(n)) for n, cs in of.items()]
        return sorted(found, key=lambda cause: (-cause.changes, cause.name))

    @property
    def line(self) -> str:
        """All of it on one line."""
        if not self.changes:
            return "no question differs"
        counts = [f"{n} {_counted(kind, n)}" for kind, n in self.totals.items() if n]
        names = [cause.name for cause in self.causes]
        more = f" and {len(names) - 3} more causes" if len(names) > 3 else ""
        return f"{', '.join(counts)} ({', '.join(names[:3])}{more})"

    def _told(self, cause: str) -> str:
        fix = {**self.before.fixes, **self.after.fixes}.get(cause.removeprefix("fix ").partition(" ")[0])
        if not fix or not cause.startswith("fix "):
            return ""
        return f"{fix['scene']}: {fix['change']}. {fix['why']} ({fix['who']}, {fix['date']})"


def _counted(kind: str, n: int) -> str:
    what, _, changed = kind.partition(" ")
    return f"{what}{'s' if n > 1 and changed == 'changed' and not what.endswith('s') else ''} {changed}".strip()


def page(report: Report) -> bytes:
    """One HTML file that needs nothing else; whatever stands in questions is text there."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    names = ("title", "before", "after", "changes", "totals", "tasks", "causes")
    return environment.get_template("diff.html.jinja").render({n: getattr(report, n) for n in names}).encode()


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
    before, after = report.before, report.after
    lines = [
        f"# {_plain(report.title)}",
        "",
        f"Release {before.name} ({len(before.questions)} questions) → {after.name} ({len(after.questions)} questions): "
        f"{_plain(report.line)}.",
    ]
    if report.changes:
        lines += ["", *_table(("change", "questions"), [(k, n) for k, n in report.totals.items() if n])]
        rows = [(c.name, c.changes, c.scenes, c.told) for c in report.causes]
        lines += ["", *_table(("cause", "changes", "scenes", "what was done"), rows), ""]
        shown = [
            (c.kind, c.asked.scene, c.asked.text, _from_to(c), "; ".join(c.causes)) for c in report.changes[:SHOWN]
        ]
        lines += _table(("change", "scene", "question", "", "cause"), shown)
        if len(report.changes) > SHOWN:
            lines += ["", f"… and {len(report.changes) - SHOWN} more in the page and the table."]
    return ("\n".join(lines) + "\n").encode()


def _from_to(change: Change) -> str:
    if change.before is None or change.after is None:
        return change.reason
    values: Mapping[str, tuple[str, str]] = {
        "answer changed": (change.before.answer, change.after.answer),
        "wording changed": (change.before.text, change.after.text),
        "options changed": ("; ".join(change.before.options), "; ".join(change.after.options)),
    }
    return " → ".join(values[change.kind])


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(_plain(str(cell)) for cell in row)} |" for row in rows),
    ]


def _plain(text: str) -> str:
    """Text of which Markdown makes nothing else."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", " ".join(text.split()))
