"""The one screen of 80 columns and 24 rows that a build ends on; its tables are shown with ``--verbose``."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from flows.cli.output.console import console, count_of, print_wrapped
from pipeline.blind.totals import TextOnly, unanswered
from pipeline.core.groups import by_frequency
from pipeline.core.schema import Quarantine
from pipeline.core.tables import UNCHECKED
from pipeline.engine.manifest import Outcome
from pipeline.engine.plan import WHOLE
from pipeline.release.released import PENDING, Released

TASK_ROWS: Final = 10  # of the list of tasks; the tables have all
NAMED: Final = 2  # scenes left out that are told with their remedy; of more, how many for each reason
WHY: Final[Mapping[str, str]] = {
    "new": "new",
    "input": "input changed",
    "config": "settings changed",
    "code": "code changed",
    "missing": "results were missing",
    "asked": "as asked",
}


def show_screen(outcome: Outcome, took: str) -> None:
    """Prints what ran, the questions by task, and what was lost and why."""
    console.print(f"{ran(outcome)}, {took}")
    released = outcome.released
    if released:
        console.print(Text(count_of(sum(released.questions.values()), "question"), "bold"))
        print_tasks({**dict.fromkeys(released.rejections, 0), **released.questions})
    _print_lost(outcome.quarantine, released)
    if released and released.blind:
        for line in without_video(released.blind):
            console.print(line)
    if released and released.reviewed:
        stands = [f"{n:,} {state}" for state, n in released.reviewed.items()]
        console.print(f"Human review: {', '.join(stands)}")


def listed(head: str, parts: Sequence[str], width: int) -> str:
    """A line of as many parts as fit into a width, and the number of those that do not."""
    line = head + ", ".join(parts)
    for n in range(len(parts) - 1, -1, -1):
        if cell_len(line) <= width:
            break
        line = head + ", ".join([*parts[:n], f"… {len(parts) - n} more"])
    return line


def ran(outcome: Outcome, verb: str = "Ran") -> str:
    """The stages that ran (``verb``: or would run), the scenes that they ran for, and why."""
    entries = list(outcome.ran)
    if not entries:
        return "Nothing ran"
    stages = [stage for stage, whys in outcome.counts().items() if {*whys} - {"reused"}]
    first = {entry.unit: entry.why for entry in reversed(entries) if entry.unit != WHOLE}
    whys = Counter(WHY[why] for why in (first or {entry.unit: entry.why for entry in entries[:1]}).values())
    named = stages[0] if len(stages) == 1 else f"{len(stages)} stages ({stages[0]} to {stages[-1]})"
    of = f" for {len(first):,} of {outcome.num_scenes:,} scenes" if first else ""
    counted = ", ".join(why if len(whys) == 1 else f"{n:,} {why}" for why, n in whys.most_common())
    return f"{verb} {named}{of}: {counted}"


def print_tasks(questions: Mapping[str, int]) -> None:
    """The number of questions of each task, in columns."""
    name, count = max(map(len, questions), default=0), max((len(f"{n:,}") for n in questions.values()), default=0)
    cells = [f"{task:<{name}} {n:>{count},}" for task, n in sorted(questions.items())]
    columns = max(1, (console.width - 2) // (name + count + 4))
    rows = min(TASK_ROWS, -(-len(cells) // columns))
    if len(cells) > rows * columns:
        shown = rows * columns - 1
        cells[shown:] = [f"… and {len(cells) - shown} more"]
    for row in range(rows):
        console.print("  " + "   ".join(cells[row::rows]).rstrip())


def _print_lost(quarantine: Sequence[Quarantine], released: Released | None) -> None:
    """Scenes left out, candidates rejected, scenes without questions and findings: a line each."""
    show_left_out(quarantine)
    if not released:
        return
    rejected = Counter[str]()
    for row in released.rejections.values():
        rejected.update(row)
    held = released.held
    if held[PENDING]:
        why = "; ".join(unanswered(released.models))
        print_wrapped(
            f"Held back, waiting for replies (pending): {count_of(held[PENDING], 'question')}: {why}", style="red"
        )
    if held[UNCHECKED]:
        print_wrapped(
            f"Held back, as no second model confirmed them (unchecked): {count_of(held[UNCHECKED], 'question')}: "
            "set author.second, or let people accept them (scan2qa review)",
            style="red",
        )
    findings = Counter(name for _, name, *_ in released.findings)
    for head, parts in (
        (f"Rejected {count_of(rejected.total(), 'candidate')}: ", _counted(rejected)),
        (f"No question of {count_of(len(released.silent), 'scene')}: ", list(released.silent)),
        (f"{count_of(findings.total(), 'finding')} in the raw data: ", _counted(findings)),
    ):
        if parts:
            console.print(listed(head, parts, console.width))
    costs = Counter[str]()
    for reasons in released.silent.values():
        costs.update(reasons)
    remedies = {row[1]: row[-1] for row in released.findings if row[0] in released.silent}
    if top := next((reason for reason, _ in costs.most_common(1) if reason in remedies), None):
        print_wrapped(f"To get questions where there is none ({top} {costs[top]:,}): {remedies[top]}", style="yellow")


def show_general(released: Released, general: Collection[str]) -> None:
    """Says which questions are about no scene, and why there is no other where these are all."""
    asked = {task for task, n in released.questions.items() if n}
    if asked & set(general):
        said = f"{', '.join(sorted(general))}: general knowledge, nothing about your data."
        if asked <= set(general):
            why = Counter[str]()
            for task, reasons in released.rejections.items():
                why.update({} if task in general else reasons)
            said += listed(" No question is about your data: ", _counted(why), console.width)
        print_wrapped(said, style="yellow")


def show_left_out(quarantine: Sequence[Quarantine]) -> None:
    """Prints the scenes that were left out: what helps of few, the findings of many."""
    if len(quarantine) <= NAMED:
        for row in quarantine:
            print_wrapped(f"Left out {row.unit}: {row.finding}: {row.message}; {row.remedy}", style="red")
    else:
        reasons = _counted(Counter(row.finding for row in quarantine))
        head = f"Left out {len(quarantine):,} (see quarantine.parquet): "
        console.print(Text(listed(head, reasons, console.width), "red"))
        ((most, _),) = Counter(row.finding for row in quarantine).most_common(1)
        row = next(row for row in quarantine if row.finding == most)
        print_wrapped(f"For example {row.unit}: {row.message}; {row.remedy}", style="red")


def _counted(counts: Counter[str]) -> list[str]:
    return [f"{name} {n:,}" for name, n in by_frequency(counts)]


def without_video(rows: Sequence[TextOnly]) -> list[str]:
    """The result of asking models without the video, and how to ask all questions where a sample was asked."""
    voters = {name for row in rows for name, voter in row.voters.items() if voter.standing == "votes"}
    models = list(dict.fromkeys(chain.from_iterable(row.voters for row in rows)))
    total, removed = sum(row.asked.n for row in rows), sum(row.answered + row.balanced for row in rows)
    if not models:
        return ["Without the video: no model was asked (blind.models), nothing was removed"]
    what = f"{count_of(removed, 'question')} removed" if voters else "no model beat chance, nothing was removed"
    told = [f"Without the video: {what}"]
    for name in models:
        asked = sum(row.voters[name].asked for row in rows if name in row.voters)
        if asked < total:
            told.append(f"  {name} was asked {asked:,} of {total:,}; all: --set blind.sample=null")
    return told
