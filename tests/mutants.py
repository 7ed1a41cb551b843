"""Mutation testing on a drawn sample: `python -m tests.mutants 60` (`make mutants`), a table at the end.

A mutant is one changed operator, sign, boundary, number or truth value in `pipeline/` or `flows/`, but for the
procedural samples, whose numbers are nobody's truth. It is killed where the tests of its own room fail
(pipeline/worlds/arm -> tests/worlds/arm, flows/cli -> tests/flows). All tests of a room run once without a mutant, in
a copy of the tracked files, to note the functions that each of them and each fixture enters, and how long that takes. A
mutant then meets those that enter its function, the quickest first, in a fork of the process that has collected them; a
mutant of what runs at import meets all of the room, imported anew. Seed and code decide which mutants are drawn.
"""

import argparse
import ast
import gc
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import _lru_cache_wrapper, cache, partial
from inspect import unwrap
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TypeGuard

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from pipeline.benchmarks.registry import BENCHMARKS, OWN_NAMES
from tests.builds import REPOSITORY
from tests.environment import REAL_DATA

OURS: Final = {"pipeline", "flows", "templates", "tests", "scan2qa"}  # all else stays imported from room to room
PYTEST: Final = [
    "-pno:dash",
    "-pno:terminal",
    "-pno:cacheprovider",
    "-oaddopts=",
    "-Wignore::pytest.PytestAssertRewriteWarning",
]
GRACE_S: Final = 5.0  # more than PATIENCE times its usual seconds no test may take: an endless loop is a death, too
PATIENCE: Final = 10.0
COMPARED: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPUTED: Final = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "&": "|", "@": "*"}
LOGICAL: Final = {"and": "or", "or": "and"}
OPERATOR: Final = re.compile(r"not\s+in\b|\b(?:in|and|or)\b|\*\*|//|[<>=!]=|[-+*/%&|@<>]")
STRICT: Final = {"geometry", "questions", "metrics", "observe"}  # rooms in which none may survive, nor in any answer
ANSWERING: Final = ("answer", "answer_in", "cases")  # what the two bases of tasks leave to each


class Mutant(NamedTuple):
    """A change of source text: the characters [start, end) of a file become ``text``."""

    file: str
    line: int
    start: int
    end: int
    text: str
    place: str  # of the innermost function around it: file and first line; "" if it runs at import

    @property
    def strict(self) -> bool:
        return not STRICT.isdisjoint(Path(self.file).parts) or self.place in answering()

    def within(self, source: str) -> str:
        """The file with the mutant in it."""
        return source[: self.start] + self.text + source[self.end :]

    def told(self, source: str) -> str:
        """The changed line, as a diff would show it."""
        before, after = source.rfind("\n", 0, self.start) + 1, source.find("\n", self.end)
        changed = f"[{source[self.start : self.end]} -> {self.text}]"
        return f"{self.file}:{self.line}: {(source[before : self.start] + changed + source[self.end : after]).strip()}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in order of the text. Annotations, texts and calls of `Field` have none.

    Nor has what changes nothing: half a turn that is added or taken, ``(x + 180) % 360``, ``zip(strict=True)``, and the
    number in ``reshape(-1)``, which may be any below 0.
    """
    tree = ast.parse(source)
    half_turns = {node.left for node in ast.walk(tree) if _turns_by_half(node)}
    sizes = {size for node in ast.walk(tree) for size in _sizes_to_find(node)}
    lines = [0, *(match.end() for match in re.finditer("\n", source))]
    raw = source.encode().splitlines(keepends=True)
    around = ""

    def at(line: int, column: int) -> int:
        return lines[line - 1] + len(raw[line - 1][:column].decode())

    def between(left: ast.expr, right: ast.expr, table: dict[str, str]) -> Iterator[Mutant]:
        start = at(left.end_lineno or 0, left.end_col_offset or 0)
        text = re.sub(r"#.*", lambda comment: " " * len(comment[0]), source[start : at(right.lineno, right.col_offset)])
        found = OPERATOR.search(text)
        if found and (name := " ".join(found[0].split())) in table:
            yield Mutant(file, right.lineno, start + found.start(), start + found.end(), table[name], around)

    def whole(node: ast.expr, text: str) -> Mutant:
        end = at(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(file, node.lineno, at(node.lineno, node.col_offset), end, text, around)

    def of(node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(left, _, others):
                for one, other in pairwise([left, *others]):
                    yield from between(one, other, COMPARED)
            case ast.BoolOp(_, values):
                for one, other in pairwise(values):
                    yield from between(one, other, LOGICAL)
            case ast.BinOp(left, _, right) if (
                not isinstance(left, ast.Constant | ast.JoinedStr | ast.List) and node not in half_turns
            ):
                yield from between(left, right, COMPUTED)
            case ast.UnaryOp(ast.USub() | ast.Not(), operand):
                yield whole(node, f"({ast.unparse(operand)})")
            case ast.Constant(bool(value)):
                yield whole(node, str(not value))
            case ast.Constant(int(value)) if node not in sizes:
                yield whole(node, repr(value + 1))
            case ast.Constant(float(value)):
                yield whole(node, repr(value * 1.5 or 1.0))

    def visit(node: ast.AST) -> Iterator[Mutant]:
        nonlocal around
        if (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Field")
            or (isinstance(node, ast.keyword) and node.arg == "strict")
        ):
            return
        yield from of(node)
        outer = around
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"}:
                continue
            if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                around = f"{file}:{min(part.lineno for part in (node, *node.decorator_list))}"
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from visit(child)
            around = outer

    yield from visit(tree)


def _turns_by_half(node: ast.AST) -> TypeGuard[ast.BinOp]:
    match node:
        case ast.BinOp(
            ast.BinOp(_, ast.Add() | ast.Sub(), ast.Constant(int() | float() as half)),
            ast.Mod(),
            ast.Constant(int() | float() as whole),
        ):
            return 2 * half == whole
    return False


def _sizes_to_find(node: ast.AST) -> Iterator[ast.AST]:
    """The 1 of each -1 among the sizes of a `reshape`."""
    match node:
        case ast.Call(ast.Attribute(attr="reshape"), sizes):
            yield from (size.operand for size in sizes if isinstance(size, ast.UnaryOp))


def drawn(number: int, seed: int, only: str, *, strict: bool = False) -> list[Mutant]:
    """Mutants drawn over all files of `pipeline/` and `flows/`, those of the lowest digests of seed and place."""
    ranked = []
    for path in sorted([*(REPOSITORY / "pipeline").rglob("*.py"), *(REPOSITORY / "flows").rglob("*.py")]):
        file = path.relative_to(REPOSITORY).as_posix()
        if re.match(only, file) and "samples" not in path.parts:
            for mutant in mutants_of(file, path.read_text("utf-8")):
                ranked.append((hashlib.sha256(f"{seed} {mutant[:5]}".encode()).digest(), mutant))
    if strict:
        ranked = [(rank, mutant) for rank, mutant in ranked if mutant.strict]
    return [mutant for _, mutant in sorted(ranked)[:number]]


@cache
def answering() -> frozenset[str]:
    """Places of the functions of benchmarks that answer: each task's own, those it is made with, and what they call."""
    found: dict[CodeType, None] = {}

    def enter(value: Any, owner: type) -> None:
        if isinstance(value, Mapping | list | tuple):
            for part in value.values() if isinstance(value, Mapping) else value:
                enter(part, owner)
        elif isinstance(value, partial):
            enter([value.func, value.args, value.keywords], owner)
        elif isinstance(value := unwrap(value), FunctionType) and value.__module__.startswith("pipeline.benchmarks."):
            enter([cell.cell_contents for cell in value.__closure__ or ()], owner)
            codes = [] if value.__code__ in found else [value.__code__]
            while codes:
                found[code := codes.pop()] = None
                codes += [part for part in code.co_consts if isinstance(part, CodeType)]
                for name in code.co_names:
                    enter(value.__globals__.get(name, getattr(owner, name, None)), owner)

    for benchmark in map(BENCHMARKS.__getitem__, OWN_NAMES):
        for task in benchmark.tasks:
            enter([vars(task), *(getattr(type(task), name, None) for name in ANSWERING)], type(task))
    return frozenset(f"{Path(code.co_filename).relative_to(REPOSITORY)}:{code.co_firstlineno}" for code in found)


def room_of(file: str) -> str:
    """The folder of the tests of a module: the nearest of at most two levels."""
    parts = Path(file.removeprefix("pipeline/")).with_suffix("").parts
    folders = (Path("tests", *parts[:depth]) for depth in range(min(len(parts), 2), -1, -1))
    return next(folder.as_posix() for folder in folders if (REPOSITORY / folder).is_dir())


def forked(work: Callable[[], int]) -> int:
    """What ``work`` returns in a silent process of its own; negative if a signal ended it."""
    sys.stdout.flush()
    if not (process := os.fork()):
        status = 1
        try:
            os.setsid()
            for stream in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), stream)
            status = work()
        finally:
            os._exit(status)
    _, ended = os.waitpid(process, 0)
    with suppress(ProcessLookupError):  # what a test has started and left
        os.killpg(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(ended)


def forget() -> None:
    """Makes the next import of our modules read their files."""
    for name in [name for name in sys.modules if name.split(".")[0] in OURS]:
        del sys.modules[name]


def swap(before: str, after: str, path: Path) -> None:
    """Gives the functions of an imported file the code of another text with the same functions."""

    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    old, new = (codes(compile(source, str(path), "exec", dont_inherit=True)) for source in (before, after))
    replaced = {(code.co_qualname, code.co_firstlineno): other for code, other in zip(old, new, strict=True)}
    gc.unfreeze()  # `tests.conftest` takes what was imported out of sight
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == str(path):
            code = function.__code__
            function.__code__ = replaced.get((code.co_qualname, code.co_firstlineno), code)


def empty_caches() -> None:
    """Makes our functions work out anew what they have cached: what another file's test entered they would not."""
    gc.unfreeze()
    for cached in gc.get_objects():
        if type(cached) is _lru_cache_wrapper and str(cached.__module__).split(".")[0] in OURS:
            cached.cache_clear()


def failing(tests: Sequence[pytest.Item], cost_s: dict[str, float]) -> Iterator[pytest.Item]:
    """The tests that fail. One that takes much longer than usual ends the process."""
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        limit_s = GRACE_S + PATIENCE * cost_s.get(test.nodeid, 60.0)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.setitimer(signal.ITIMER_REAL, 20 * limit_s)  # of one that waits
        if any(report.failed for report in runtestprotocol(test, log=False, nextitem=following)):
            yield test
    for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
        signal.setitimer(timer, 0)


class Baseline(NamedTuple):
    """The tests of a room without a mutant."""

    cost_s: dict[str, float]  # test -> processor seconds, those of its fixtures included
    entered: dict[str, list[str]]  # test -> places of functions
    failed: list[str]


class Tracer:
    """A plugin that notes the functions which each test and each fixture enters, and their processor seconds."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.name = f"{folder}/", "import"
        self.codes: defaultdict[str, dict[int, CodeType]] = defaultdict(dict)
        self.cost_s: defaultdict[str, float] = defaultdict(float)
        self.times: defaultdict[str, int] = defaultdict(int)

    def __call__(self, frame: Any, event: str, arg: object) -> None:
        self.codes[self.name].setdefault(id(frame.f_code), frame.f_code)

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        outer, self.name, before = self.name, name, sum(os.times()[:4])
        for trace in (sys.settrace, threading.settrace):
            trace(self)
        yield
        spent_s = sum(os.times()[:4]) - before
        self.cost_s[name] += spent_s
        self.cost_s[outer] -= spent_s
        self.times[name] += 1
        self.name = outer

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        with self.noting(_key(fixturedef)):
            return (yield)

    def entered(self, *names: str) -> set[str]:
        """Places of functions."""
        codes = [code for name in names for code in self.codes[name].values()]
        places = [f"{code.co_filename}:{code.co_firstlineno}" for code in codes]
        return {place.removeprefix(self.prefix) for place in places if place.startswith(self.prefix)}

    def baseline(self, tests: Sequence[Any]) -> Baseline:
        """What the tests enter and take, in processor seconds: what their fixtures do is theirs, whoever came first."""
        failed = []
        for test, before in zip(tests, [None, *tests], strict=False):
            if before is None or test.path != before.path:
                empty_caches()
            with self.noting(test.nodeid):
                failed += [found.nodeid for found in failing([test], {})]
        parts = {
            test.nodeid: [
                test.nodeid,
                *(_key(found[-1]) for found in test._fixtureinfo.name2fixturedefs.values()),
            ]
            for test in tests
        }
        return Baseline(
            {test: sum(self.cost_s[part] / max(self.times[part], 1) for part in of) for test, of in parts.items()},
            {test: sorted(self.entered(*of)) for test, of in parts.items()},
            failed,
        )


def _key(fixture: Any) -> str:
    return f"{fixture.baseid} fixture {fixture.argname}"


class Again:
    """A plugin that runs tests in a known order till one fails."""

    def __init__(self, order: dict[str, float], temporary: Any) -> None:
        self.order, self.temporary = order, temporary

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config._tmp_path_factory = self.temporary  # type: ignore[attr-defined]
        tests = sorted(
            (test for test in session.items if test.nodeid in self.order), key=lambda test: self.order[test.nodeid]
        )
        session.testsfailed += any(True for _ in failing(tests, self.order))
        return True


class Trials:
    """A plugin that tries mutants on the collected tests, instead of running these."""

    def __init__(self, folder: Path, room: str, mutants: Sequence[Mutant]) -> None:
        self.folder, self.room, self.mutants, self.tracer = folder, room, mutants, Tracer(folder)
        self.outcomes: list[tuple[Mutant, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Any:
        quick = settings(phases=[Phase.explicit, Phase.generate])  # any failure will do
        settings.register_profile("mutants", quick)
        settings.load_profile("mutants")
        result = yield
        sys.settrace(None)
        threading.settrace(None)
        return result

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise RuntimeError(f"{self.room} cannot be collected")
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all forks
        kept = self.folder.parent / "baseline"

        def measure() -> int:
            session.config.pluginmanager.register(self.tracer)
            kept.write_text(json.dumps(self.tracer.baseline(session.items)))
            return 0

        if forked(measure):
            raise RuntimeError(f"{self.room}: the tests without a mutant ended their process")
        self.baseline = Baseline(*json.loads(kept.read_text()))
        for test in self.baseline.failed:
            print(f"FAILS WITHOUT A MUTANT {test}")
        self.tests = [test for test in session.items if test.nodeid not in self.baseline.failed]
        self.tests.sort(key=lambda test: self.baseline.cost_s[test.nodeid])
        for mutant in self.mutants:
            path = self.folder / mutant.file
            source = path.read_text("utf-8")
            path.write_text(mutant.within(source), "utf-8")
            outcome = self.outcome(mutant, source, session)
            path.write_text(source, "utf-8")
            self.outcomes.append((mutant, outcome))
            print(f"{outcome:11} {mutant.told(source)}", flush=True)
        return True

    def outcome(self, mutant: Mutant, source: str, session: pytest.Session) -> str:
        """What became of a mutant: killed, SURVIVED, or NOT REACHED by any test."""
        if not mutant.place or mutant.place in self.tracer.entered("import"):
            order = {test.nodeid: self.baseline.cost_s[test.nodeid] for test in self.tests}
            again = Again(order, session.config._tmp_path_factory)  # type: ignore[attr-defined]

            def work() -> int:
                forget()
                return int(pytest.main([*PYTEST, self.room], plugins=[again]))
        else:
            chosen = [test for test in self.tests if mutant.place in self.baseline.entered[test.nodeid]]
            if not chosen:  # perhaps by a process that a test starts
                module = mutant.file.removesuffix(".py").replace("/", ".")
                near = {test.path for test in self.tests if re.search(rf"\b{module}\b", test.path.read_text("utf-8"))}
                chosen = [test for test in self.tests if test.path in near]
            if not chosen:
                return "NOT REACHED"
            # What one test enters another may have from a cache: those of the same files follow.
            files = {test.path for test in chosen}
            chosen = sorted([test for test in self.tests if test.path in files], key=lambda test: test not in chosen)

            def work() -> int:
                swap(source, mutant.within(source), self.folder / mutant.file)
                return any(True for _ in failing(chosen, self.baseline.cost_s))

        return "killed" if forked(work) else "SURVIVED"


def tried(rooms: dict[str, list[Mutant]], folder: Path) -> list[tuple[Mutant, str]]:
    """The mutants of some rooms, and what became of each."""
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (REPOSITORY / name).is_file(), tracked.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    os.chdir(folder)
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(place for place in sys.path if place not in ("", str(REPOSITORY)))]
    os.environ |= {"PYTHONPATH": str(folder), "SCAN2QA_REAL_DATA": str(REAL_DATA)}
    outcomes = []
    for room, mutants in rooms.items():
        forget()
        trials = Trials(folder, room, mutants)
        sys.settrace(trials.tracer)  # the first conftest is imported before the tests are collected
        pytest.main([*PYTEST, f"--basetemp={folder.parent / 'temporary'}", room], plugins=[trials])
        outcomes += trials.outcomes
    return outcomes


def main() -> None:
    """Draws, tries and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="regular expression: files whose path begins so")
    parser.add_argument("--fast", action="store_true", help="leave out tests marked slow")
    parser.add_argument("--strict", action="store_true", help="only mutants of which none may survive")
    asked = parser.parse_args()
    PYTEST.extend(["-mnot slow"] if asked.fast else [])
    rooms: dict[str, list[Mutant]] = {}
    mutants = drawn(asked.number, asked.seed, asked.only, strict=asked.strict)
    for mutant in sorted(mutants, key=lambda mutant: not mutant.strict):
        rooms.setdefault(room_of(mutant.file), []).append(mutant)
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor(asked.workers, get_context("fork")) as pool:
        shares = [dict(list(rooms.items())[first :: asked.workers]) for first in range(asked.workers)]
        folders = [Path(place) / str(number) / "scan2qa" for number in range(asked.workers)]
        outcomes = [outcome for share in pool.map(tried, shares, folders) for outcome in share]
    table: dict[str, list[str]] = {}
    for mutant, outcome in outcomes:
        table.setdefault("/".join(Path(mutant.file.removeprefix("pipeline/")).parts[:-1][:2]), []).append(outcome)
    print("\n| room | mutants | killed |\n| --- | --- | --- |")
    for room, found in sorted(table.items()):
        print(f"| {room} | {len(found)} | {found.count('killed')} |")
    total = [outcome for _, outcome in outcomes]
    print(f"| all | {len(total)} | {total.count('killed')} ({total.count('killed') / max(len(total), 1):.0%}) |")
    strict = sum(mutant.strict for mutant, outcome in outcomes if outcome != "killed")
    print(f"{strict} survivors in geometry, questions, metrics, observe and answers")


if __name__ == "__main__":
    main()
