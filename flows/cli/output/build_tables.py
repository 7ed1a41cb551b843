"""Tables that show a build: its stages, questions, rejected candidates, findings and excluded scenes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from flows.cli.output.build_screen import ran, show_left_out
from flows.cli.output.console import console, count_of, output_options
from flows.cli.output.tables import numbers, print_table, sentences
from pipeline.benchmarks.prospects import Cost
from pipeline.blind.totals import TextOnly
from pipeline.core.budget import GIB, WorkerLimits
from pipeline.core.errors import RawDataError
from pipeline.core.groups import by_frequency, first_named, grouped
from pipeline.core.mirrors import mirror_of, named
from pipeline.core.schema import Quarantine
from pipeline.core.templates import load_table
from pipeline.engine.change_causes import Explained
from pipeline.engine.manifest import Outcome
from pipeline.engine.plan import WHOLE
from pipeline.reading.doctor import Inspection, ReadSummary
from pipeline.release.released import Released
from pipeline.rendering.glossary import glossary
from pipeline.worlds.registry import WORLDS

WHICH = 3  # scenes that are named beside a reason
SHOWN = 20  # rows of a list on the terminal; the files hold all
NAMED = 5  # places of a finding
REASONS = 6  # why nothing is asked of a scene


def show_outcome(outcome: Outcome, benchmark: str) -> None:
    """Final tables of a build: units per stage, questions and rejections per task and reason, quarantine."""
    print_table(_stages(outcome.counts(), "Stages that ran, and why"))
    if outcome.released:
        _show_release(outcome.released, glossary(benchmark))
    show_quarantine(outcome.quarantine)


def show_entries(outcome: Outcome) -> None:
    """Every stage of every scene: why it ran, and how long."""
    for entry in outcome.manifest:
        took = "" if entry.why == "reused" else f", {entry.seconds:.2f} s"
        left_out = "" if entry.output else ", left out"
        console.print(f"{entry.stage} {entry.unit} ({entry.why}{took}{left_out})")


def _stages(counts: Mapping[str, Mapping[str, int]], title: str) -> Table:
    whys = sorted({why for row in counts.values() for why in row}, key=lambda why: (why == "reused", why))
    table = Table("stage", *numbers(*whys), title=title)
    for stage, row in counts.items():
        table.add_row(stage, *(str(row.get(why, "")) for why in whys))
    return table


def _show_release(released: Released, words: Mapping[str, str]) -> None:
    tasks = sorted({*released.questions, *released.rejections})
    heads = numbers("questions", "rejected")
    table = Table("", "task", *heads, "most frequent answer\n(chance)", title="Questions and rejected candidates")
    for number, task in enumerate(tasks, start=1):
        answers = released.answers.get(task, {})
        n, dropped = released.questions.get(task, 0), sum(released.rejections.get(task, {}).values())
        top = max(answers, key=lambda a: (answers[a], a)) if answers else None
        common = f"{top} {answers[top] / n:.0%} ({1 / len(answers):.0%})" if top else ""
        table.add_row(str(number), task, str(n), str(dropped), common)
    total = sum(sum(r.values()) for r in released.rejections.values())
    table.add_section()
    table.add_row("", "all", str(sum(released.questions.values())), str(total))
    print_table(table)
    reasons = sorted({reason for row in released.rejections.values() for reason in row})
    heads = numbers(*map(str, range(1, len(tasks) + 1)))
    matrix = Table("reason", *heads, title="Rejected by reason and task")
    for reason in reasons:
        matrix.add_row(reason, *(str(released.rejections.get(task, {}).get(reason, "")) for task in tasks))
    print_table(matrix)
    _show_silent(released, words)
    _show_blind(released.blind)
    show_findings(released.findings, "Findings in the raw data")


def show_findings(rows: Sequence[Sequence[str]], title: str) -> None:
    """Prints findings in raw data that cost no scene, by name, doubts first, with their places and remedies.

    Args:
        rows: scene, name, severity, message and remedy of each finding.
        title: of the table.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for scene, name, severity, message, *helps in rows:
        found.setdefault((severity, name, "".join(helps)), []).append(f"{scene}: {message}")
    if not found:
        return
    table = Table("finding", *numbers("times"), *sentences("what was found", "remedy"), title=title)
    for (severity, name, remedy), told in sorted(found.items())[:SHOWN]:
        different = list(dict.fromkeys(told))
        shown = different if output_options.verbose else different[:NAMED]
        hidden = len(different) - len(shown)
        more = [f"… and {hidden} more; --verbose names them"] if hidden else []
        table.add_row(f"{name} ({severity})", str(len(told)), "\n".join([*shown, *more]), remedy)
    print_table(table)
    if len(found) > SHOWN:
        console.print(f"… and {len(found) - SHOWN} more findings; scan2qa show SCENE has those of a scene")


def _show_silent(released: Released, words: Mapping[str, str]) -> None:
    """Prints the first scenes without questions, with the most frequent reasons for rejection, in words."""
    for scene, reasons in list(released.silent.items())[:SHOWN]:
        total = sum(reasons.values())
        console.print(Text(scene, "yellow"), f": nothing is asked; all {total} candidates were rejected", sep="")
        for reason, n in by_frequency(reasons)[:REASONS]:
            console.print(f"  {n:>5}  {reason}: {words.get(reason, reason.replace('_', ' '))}")
    if len(released.silent) > SHOWN:
        console.print(f"No question either of {len(released.silent) - SHOWN} more scenes")


def _show_blind(rows: Sequence[TextOnly]) -> None:
    """Prints accuracy without the video before and after filtering, and the models that had a vote."""
    from pipeline.blind.shortcut_attackers import SHORTCUT_ATTACKERS, best_guess

    if not rows:
        return
    attackers = sorted({name for row in rows for name in row.asked.earned}, key=lambda name: (name == "forest", name))
    attackers = [name for name in attackers if name not in SHORTCUT_ATTACKERS]
    heads = numbers("n", "chance", *attackers, "best of the others", "debiased n", "best there")
    table = Table("task", *heads, title="Blind baselines: accuracy before -> after filtering")
    for row in rows:
        after = row.released
        cells = [_change(row.asked.n, after.n if after else None, "d")]
        cells.append(_change(row.asked.chance, after.chance if after else None))
        cells += [_change(row.asked.earned.get(a), after.earned.get(a) if after else None) for a in attackers]
        cells.append(best_guess((after or row.asked).earned))
        left = row.debiased
        cells += ["", ""] if left is None else [str(left.n), f"{max(left.earned.values()):.2f} ({left.chance:.2f})"]
        table.add_row(row.task, *cells)
    print_table(table)
    _show_panel(rows)


def _show_panel(rows: Sequence[TextOnly]) -> None:
    """The models' right answers, and what they removed; loudly where that is nothing."""
    models = list(dict.fromkeys(name for row in rows for name in row.voters))
    if not any(voter.standing == "votes" for row in rows for voter in row.voters.values()):
        console.print("No model beat chance, so nothing was filtered.", style="yellow")
    if not models:
        return
    heads = numbers(*models, "agreement", "removed", "for balance", "by luck")
    table = Table("task", *heads, title="Right without the video (if truths were shuffled); * has a vote")
    for row in rows:
        votes = [row.voters.get(name) for name in models]
        cells = [f"{v.right:.2f} ({v.luck:.2f}){'*' if v.standing == 'votes' else ''}" if v else "" for v in votes]
        agreement = "" if row.agreement is None else f"{row.agreement:.2f}"
        removed = [str(row.answered or ""), str(row.balanced or ""), f"{row.by_luck:.1f}"]
        table.add_row(row.task, *cells, agreement, *removed)
    print_table(table)
    for name in models:
        found = [row.voters[name] for row in rows if name in row.voters]
        failed, unread = sum(v.unanswered for v in found), sum(v.unread for v in found)
        if failed or unread:
            console.print(
                Text(name, "yellow"),
                f": {count_of(failed, 'request')} failed, no answer in {count_of(unread, 'reply')}",
                sep="",
            )
        constant = [row.task for row in rows if name in row.voters and row.voters[name].standing == "constant"]
        if constant:
            console.print(Text(name, "yellow"), f"answers a constant, and has no vote, in {', '.join(constant)}")


def _change(before: float | None, after: float | None, form: str = ".2f") -> str:
    """A figure, with what became of it where that differs."""
    if before is None:
        return ""
    if after is None:
        return f"{before:{form}} -> none"
    one, other = f"{before:{form}}", f"{after:{form}}"
    return one if one == other else f"{one} -> {other}"


def show_quarantine(quarantine: Sequence[Quarantine]) -> None:
    """Units that were left out, with file, finding and remedy."""
    _show_left_out([(q.unit, q.finding, f"{q.file}: {q.message}", q.remedy) for q in quarantine])
    if len(quarantine) > SHOWN:
        console.print(f"… and {len(quarantine) - SHOWN} more in quarantine.parquet")


def show_broken(errors: Sequence[RawDataError]) -> None:
    """Scenes that cannot be read, with file, finding and remedy."""
    _show_left_out([(e.scene or e.path.name, e.finding, f"{named(e.path)}: {e.message}", e.remedy) for e in errors])
    if len(errors) > SHOWN:
        console.print(f"… and {len(errors) - SHOWN} more")


def _show_left_out(rows: Sequence[tuple[str, str, str, str]]) -> None:
    if not rows:
        return
    table = Table("scene", "finding", *sentences("what was found", "remedy"), title="Left out", style="red")
    for row in rows[:SHOWN]:
        table.add_row(*row)
    print_table(table)


def show_elsewhere(roots: Mapping[str, Path]) -> None:
    """Prints a summary of the roots in an object store; nothing for folders."""
    for mirror in map(mirror_of, roots.values()):
        if mirror is not None:
            console.print(mirror.summary())


def show_inspection(reader: str, root: str, inspection: Inspection) -> None:
    """Prints the contents of a root: scenes that are left out, the parts that are missing, those that are complete."""
    console.print(f"{reader} {root}: {count_of(len(inspection.scenes), 'scene')}")
    show_broken(inspection.broken)
    missing = {want: scenes for want, scenes in inspection.missing.items() if scenes}
    if missing:
        table = Table("part", "missing in", *sentences("what that costs", "for example"), box=None)
        for want, scenes in sorted(missing.items(), key=lambda row: not row[0].needed):
            count = f"{len(scenes)} of {len(inspection.scenes)}"
            examples = ", ".join(scenes[: WHICH if output_options.verbose else 1])
            table.add_row(want.part, count, want.without, examples, style="red" if want.needed else "yellow")
        print_table(table)
    complete = [want.part for want in inspection.missing if want not in missing and inspection.scenes]
    if complete:
        console.print(Text(f"Complete: {', '.join(complete)}", "green"))
    tried_on = load_table("tried_on").get(reader)  # None: a package from outside brought it
    if tried_on:
        console.print(f"Reader {reader} was tried on: {tried_on}.")


def show_limits(limits: WorkerLimits, workers: int, memory_bytes: int) -> None:
    """Prints what a scene may cost before it is left out, and whether this machine has it."""
    if output_options.verbose:
        console.print(
            f"A scene is left out if one of its stages needs more than {limits.memory_gib:g} GiB of memory, "
            f"{limits.processor_s:,} s of processor time or {limits.open_files:,} open files, or listing one of its "
            f"files more than {limits.listing_s:,} s; change these with --set limits.KEY=VALUE."
        )
    if workers * limits.memory_gib * GIB > memory_bytes:
        console.print(
            f"{workers} workers may need up to {workers * limits.memory_gib:g} GiB; this machine has "
            f"{memory_bytes / GIB:.0f} GiB. If memory runs out, lower --workers.",
        )


def show_read(read: ReadSummary, listed: int) -> None:
    """Prints the findings of reading scenes; without ``--verbose`` one example of each doubt, and the notes' names."""
    show_broken(read.broken)
    rows, notes = read.findings, Counter(f.name for _, f in read.findings if f.severity == "note")
    if not output_options.verbose:
        doubts = {f.name: (scene, f) for scene, f in reversed(rows) if f.severity != "note"}
        times = Counter(f.name for _, f in rows if f.severity != "note")
        table = Table("doubt", *numbers("times"), *sentences("for example", "remedy"))
        for name, (scene, f) in sorted(doubts.items()):
            table.add_row(name, str(times[name]), f"{scene}: {f.message}", f.remedy)
        if doubts:
            print_table(table, "Doubts about the raw data")
        if notes:
            console.print("Notes: " + ", ".join(f"{name} ({n:,})" for name, n in sorted(notes.items())))
    else:
        show_findings(
            [(scene, f.name, f.severity, f.message, f.remedy) for scene, f in rows], "Findings in the raw data"
        )
    if read.scenes < listed:
        console.print(f"{read.scenes:,} of {listed:,} scenes were read; a build reads all of them.")
    elif not read.broken and not read.findings:
        console.print("All scenes were read, and nothing was found that is wrong with them.")


def show_costs(costs: Sequence[Cost]) -> None:
    """Prints the questions that each missing input of scenes costs."""
    if costs:
        table = Table("for lack of", *numbers("scenes", "questions lost"), title="Questions lost", box=None)
        for cost in costs[:SHOWN]:
            some = "not known" if cost.questions is None else f"{cost.questions:,}"
            told = some if cost.questions is None else f"{some}, counted" if cost.measured else f"at most {some}"
            table.add_row(cost.reason, f"{len(cost.scenes):,}", told if cost.tasks else "all")
        print_table(table)


def show_dry_run(outcome: Outcome) -> None:
    """Prints the stages that a build would run: on a line, with ``--verbose`` for each scene."""
    due = list(outcome.ran)
    if not output_options.verbose:
        console.print(ran(outcome, "Would run") if due else "Would run nothing: all results are up to date")
        show_left_out(outcome.quarantine)
        return
    print_table(_stages(outcome.counts(), "Stages that would run, and why (dry run)"))
    for entry in due:
        console.print(f"would run {entry.stage} {entry.unit} ({entry.why})")
    show_quarantine(outcome.quarantine)


def show_asked(units: Sequence[str], stage: str) -> None:
    """Prints the units that a stage would be run for."""
    for unit in units[:SHOWN]:
        console.print(f"would run {stage} {unit} (asked)")
    if len(units) > SHOWN:
        console.print(f"… and {len(units) - SHOWN} more")


def show_explanation(explained: Sequence[Explained]) -> None:
    """Why each stage would run, by name; what would not run is only counted."""
    heads = [*numbers("scenes"), *sentences("why", "which")]
    table = Table("stage", *heads, title="Stages that would run, and why")
    groups = grouped(explained, lambda one: (one.entry.stage, one.entry.why, one.reasons))
    for stage, rows in groupby(groups.items(), key=lambda group: group[0][0]):
        table.add_section()
        for (_, why, reasons), explanations in rows:
            units = [one.entry.unit for one in explanations]
            if why == "reused":
                told = "does not run: " + ("; ".join(reasons) or "nothing changed")
            else:
                told = "\n".join(reasons) or "asked for: nothing that it is made from changed"
            which = "" if why == "reused" else first_named(units, WHICH)
            table.add_row(
                stage,
                "" if units == [WHOLE] else str(len(units)),
                told,
                "all" if units == [WHOLE] else which,
                style="dim" if why == "reused" else None,
            )
    print_table(table)


def show_readers() -> None:
    """Every reader with its world and the first line of what it says of itself."""
    table = Table("reader", *sentences("reads"), "of world", box=None)
    for world in WORLDS.values():
        for reader in world.readers:
            table.add_row(reader.name, (type(reader).__doc__ or "").partition("\n")[0].replace("``", ""), world.name)
    print_table(table)
