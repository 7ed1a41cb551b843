"""Every test can fail: it asserts something, itself or through a helper, and nothing that holds whatever happens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

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
