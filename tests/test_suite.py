"""The tests themselves: each can fail, what takes long says so, and what takes long to make is made once."""

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.cost import REFUSED_S, complaint
from tests.environment import pace
from tests.shared_files import UNUSED_S, kept, written_once

FOLDER = Path(__file__).parent
FAILING = frozenset({"raises", "warns", "fail"})  # of pytest
Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


@cache
def calls(node: ast.AST) -> set[str]:
    return {name_of(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all statements in it: functions and assertions are found without a look at every expression."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield from statements(child)


def functions(tree: ast.AST) -> list[Function]:
    return [n for n in statements(tree) if isinstance(n, Function)]


def asserts(node: Function) -> bool:
    """Whether a function's own lines can fail a test; `assert_allclose` and its like are numpy's."""
    if any(isinstance(n, ast.Assert) for n in statements(node)):
        return True
    called = calls(node)
    return not FAILING.isdisjoint(called) or any(name.startswith("assert_") for name in called)


def unable_to_fail(trees: dict[str, ast.Module]) -> list[str]:
    """Tests without an assertion in them or in a function of `tests` that they call, directly or through others.

    Functions go by their names alone, so that of two with one name either counts; fixtures do not count.
    """
    helpers = [f for tree in trees.values() for f in functions(tree) if not f.name.startswith("test")]
    able = {f.name for f in helpers if asserts(f) and not f.decorator_list}
    while more := {f.name for f in helpers if f.name not in able and not f.decorator_list and calls(f) & able}:
        able |= more
    return [
        f"{name}:{f.lineno} {f.name}"
        for name, tree in trees.items()
        for f in functions(tree)
        if f.name.startswith("test") and not asserts(f) and not calls(f) & able
    ]


def always_true(tree: ast.Module) -> list[str]:
    """Assertions that hold by their form."""
    found = [n for n in statements(tree) if isinstance(n, ast.Assert) and _holds(n.test)]
    return [f"{n.lineno} {ast.unparse(n)}" for n in found]


def _holds(said: ast.expr) -> bool:
    match said:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(not isinstance(part, ast.Starred) for part in parts)  # there may be none of what is unpacked
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_holds, values))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right) and not calls(left)  # two calls may give two things
        case ast.Compare(left=ast.List() | ast.ListComp(), ops=[ast.NotEq()], comparators=[ast.List(elts=[])]):
            return True  # to hold that there is something, there is `assert found`
    return isinstance(said, ast.GeneratorExp | ast.Lambda)


@pytest.mark.slow
def test_every_test_can_fail() -> None:
    trees = {str(path.relative_to(FOLDER)): ast.parse(path.read_text("utf-8")) for path in FOLDER.rglob("*.py")}
    assert len(trees) > 100
    assert unable_to_fail(trees) == []
    assert {name: found for name, tree in trees.items() if (found := always_true(tree))} == {}


def test_what_cannot_fail_is_found() -> None:
    tree = ast.parse(
        "def check(x): assert x\n"
        "def look(x): check(x)\n"
        "def build(): pass\n"
        "def test_a(): look(1)\n"
        "def test_b(): build()\n"
        "def test_c():\n    with pytest.raises(ValueError): build()\n"
        "def test_d():\n    assert [j for j in jobs] != []\n    assert (x, 'y')\n"
        "    assert x == x\n    assert f() == f()\n    assert [*jobs]\n"
    )
    assert unable_to_fail({"made.py": tree}) == ["made.py:5 test_b"]
    assert [line.split()[0] for line in always_true(tree)] == ["9", "10", "11"]


# ---- the promise behind `make test-fast` is kept: what takes long and does not say so fails


REPOSITORY = Path(__file__).resolve().parents[1]
RUN = """
import sys, pytest
sys.exit(pytest.main([*sys.argv[1:], "-p", "tests.cost", "-p", "xdist", "-p", "no:cacheprovider", "-q", "-rA"]))
"""
TESTS = """
import subprocess, sys, time
import pytest
from tests import cost

cost.REFUSED_S, cost.REFUSED_TOTAL_S = 0.06, 0.5  # a hundredth, so that nothing need burn for seconds
cost.pace = lambda: 1.0

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

@pytest.fixture(scope="module")
def dear():
    burn(0.3)

@pytest.fixture
def samples():
    return None

def test_cheap(): pass
@pytest.mark.parametrize("n", range(20))
def test_many(n): burn(0.04)
def test_dear(): burn(0.3)
def test_waits(): time.sleep(0.3)
def test_dear_child(): subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
def test_dear_fixture(dear): pass
def test_shares_it(dear): pass
def test_of_samples(samples): burn(0.3)
@pytest.mark.slow
def test_says_so(): burn(0.3)
"""


def run_of(folder: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """Exit code, and test -> PASSED or FAILED, of a run of pytest in a process of its own."""
    (folder / "test_made.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    command = [sys.executable, "-c", RUN, *arguments, str(folder)]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # not the outer run's
    ours["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # each takes a part of a second to import
    run = subprocess.run(command, cwd=REPOSITORY, env=ours, capture_output=True, text=True, check=False)
    lines = (line.split() for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED")))
    return run.returncode, {node.partition("::")[2]: outcome for outcome, node, *_ in lines}


@pytest.mark.slow
def test_a_test_that_takes_long_and_does_not_say_so_fails_in_a_worker_too(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-n", "1")
    failed = {name for name, outcome in found.items() if outcome == "FAILED"}
    assert failed == {"test_dear", "test_dear_child", "test_dear_fixture"}
    assert len(found) == 28
    assert code == pytest.ExitCode.TESTS_FAILED


@pytest.mark.slow
def test_many_cheap_tests_may_be_too_much_together(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-k", "cheap or many")
    assert set(found.values()) == {"PASSED"}
    assert code == 1


@pytest.mark.slow
def test_the_fast_selection_leaves_out_what_is_marked_and_what_needs_the_samples(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-m", "not slow", "-k", "cheap or waits or samples or says")
    assert found == {"test_cheap": "PASSED", "test_waits": "PASSED"}
    assert code == 0


def test_limits() -> None:
    assert complaint(REFUSED_S * pace(), slow=False) is None
    assert complaint(REFUSED_S * pace() + 0.01, slow=False) is not None
    assert complaint(REFUSED_S * pace() + 0.01, slow=True) is None


# ---- what takes long to make is made once, and whole


def test_it_is_written_once_and_again_where_that_was_not_finished(tmp_path: Path) -> None:
    written: list[Path] = []

    def write(folder: Path) -> None:
        written.append(folder)
        (folder / "part").touch(exist_ok=False)
        if len(written) == 1:
            raise OSError

    with pytest.raises(OSError, match=r"^$"):
        written_once(tmp_path, "a", write)
    assert [written_once(tmp_path, "a", write) for _ in range(2)] == [tmp_path / "a"] * 2
    assert len(written) == 2


def test_it_stays_for_the_next_run_until_it_would_be_another_or_nobody_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written: list[str] = []

    def write(folder: Path) -> None:
        written.append(folder.name)

    one, again, other = (kept("a", digest, write) for digest in ("x", "x", "y"))
    assert written == ["a-x", "a-y"]
    assert one == again != other
    at = other.with_name("a-y.whole").stat().st_mtime - UNUSED_S - 60
    os.utime(other.with_name("a-y.whole"), (at, at))
    assert kept("a", "x", write) == one
    assert not other.exists()
    assert kept("a", "y", write) == other
    assert written == ["a-x", "a-y", "a-y"]
