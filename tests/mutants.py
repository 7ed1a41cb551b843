"""Mutation testing on a drawn sample: `python -m tests.mutants 60` (`make mutants`), a table of survivors at the end.

A mutant is one changed operator, sign, boundary, number or truth value in `pipeline/`, but for the procedural samples,
whose numbers are nobody's truth. It is killed where the tests of its own room fail: first the test file of its name,
then those that import it, then all of the room (pipeline/worlds/arm -> tests/worlds/arm). Each runs in a copy
of the tracked files; seed and code decide which are drawn.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

from tests.builds import REPOSITORY
from tests.conftest import REAL_DATA

LONGEST_S: Final = 900  # of the tests of a mutant: an endless loop is a death, too
COMPARED: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPUTED: Final = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "&": "|", "@": "*"}
LOGICAL: Final = {"and": "or", "or": "and"}
OPERATOR: Final = re.compile(r"not\s+in\b|\b(?:in|and|or)\b|\*\*|//|[<>=!]=|[-+*/%&|@<>]")
STRICT: Final = ("geometry", "questions", "metrics", "observe")  # rooms in which none may survive


class Mutant(NamedTuple):
    """A change of source text: the characters [start, end) of a file become ``text``."""

    file: str
    line: int
    start: int
    end: int
    text: str

    def told(self, source: str) -> str:
        """The changed line, as a diff would show it."""
        before = source.rfind("\n", 0, self.start) + 1
        after = source.find("\n", self.end)
        return (
            f"{source[before : self.start]}[{source[self.start : self.end]} -> {self.text}]{source[self.end : after]}"
        )


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in order of the text. Annotations, texts and calls of `Field` have none.

    Nor has what changes nothing: half a turn is added or taken, ``(x + 180) % 360``.
    """
    tree = ast.parse(source)
    half_turns = {node.left for node in ast.walk(tree) if _turns_by_half(node)}
    lines = [0, *(match.end() for match in re.finditer("\n", source))]
    raw = source.encode().splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        return lines[line - 1] + len(raw[line - 1][:column].decode())

    def between(left: ast.expr, right: ast.expr, table: dict[str, str]) -> Iterator[Mutant]:
        start = at(left.end_lineno or 0, left.end_col_offset or 0)
        text = re.sub(r"#.*", lambda comment: " " * len(comment[0]), source[start : at(right.lineno, right.col_offset)])
        found = OPERATOR.search(text)
        if found and (name := " ".join(found[0].split())) in table:
            yield Mutant(file, right.lineno, start + found.start(), start + found.end(), table[name])

    def whole(node: ast.expr, text: str) -> Mutant:
        end = at(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(file, node.lineno, at(node.lineno, node.col_offset), end, text)

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
            case ast.Constant(int(value)):
                yield whole(node, repr(value + 1))
            case ast.Constant(float(value)):
                yield whole(node, repr(value * 1.5 or 1.0))

    def visit(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Field"):
            return
        yield from of(node)
        for name, value in ast.iter_fields(node):
            if name not in {"annotation", "returns", "decorator_list", "type_params"}:
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from visit(child)

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


def drawn(number: int, seed: int, only: str) -> list[Mutant]:
    """Mutants drawn over all files of `pipeline/`, those of the lowest digests of seed and place."""
    ranked = []
    for path in sorted((REPOSITORY / "pipeline").rglob("*.py")):
        file = path.relative_to(REPOSITORY).as_posix()
        if file.startswith(only) and "samples" not in path.parts:
            for mutant in mutants_of(file, path.read_text("utf-8")):
                ranked.append((hashlib.sha256(f"{seed} {mutant}".encode()).digest(), mutant))
    return [mutant for _, mutant in sorted(ranked)[:number]]


def nearest_tests(file: str, root: Path = REPOSITORY) -> list[list[str]]:
    """The test files for a module, the nearest first: of its name, those that import it, all others of its room."""
    parts = Path(file).with_suffix("").parts[1:]
    room = next(
        folder
        for depth in range(min(len(parts) - 1, 2), -1, -1)
        if (folder := root.joinpath("tests", *parts[:depth])).is_dir()
    )
    module, inside = ".".join(("pipeline", *parts)), sorted(room.rglob("test_*.py"))
    named = [path for path in inside if path.stem == f"test_{parts[-1]}"]
    importing = [path for path in inside if re.search(rf"\b{re.escape(module)}\b", path.read_text("utf-8"))]
    groups: list[list[str]] = []
    seen: set[Path] = set()
    for group in (named, importing, inside):
        fresh = [path.relative_to(root).as_posix() for path in group if path not in seen]
        seen |= set(group)
        groups += [fresh] if fresh else []
    return groups


def killed(mutant: Mutant, folder: Path) -> bool:
    """Whether the tests fail in a copy of the tree with the mutant in it, which is taken out again."""
    path = folder / mutant.file
    source = path.read_text("utf-8")
    path.write_text(source[: mutant.start] + mutant.text + source[mutant.end :], "utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder), "SCAN2QA_REAL_DATA": str(REAL_DATA)}
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    try:
        for tests in nearest_tests(mutant.file, folder):
            command = [*pytest, *tests]
            ended = subprocess.run(
                command, check=False, cwd=folder, env=environment, capture_output=True, timeout=LONGEST_S
            )
            if ended.returncode == 4:  # pytest was called wrongly: nothing was tried
                raise RuntimeError(ended.stderr.decode(errors="replace"))
            if ended.returncode not in {0, 5}:
                return True
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(source, "utf-8")
    return False


def copied(folder: Path) -> Path:
    """A copy of the tracked files, with what links them to a repository."""
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (REPOSITORY / name).is_file(), tracked.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    return folder


def tried(mutants: Iterable[Mutant], folder: Path) -> list[tuple[Mutant, bool, float]]:
    """Mutants, whether each was killed, and the seconds that took."""
    copy, results = copied(folder), []
    for mutant in mutants:
        began = time.monotonic()
        dead = killed(mutant, copy)
        results.append((mutant, dead, time.monotonic() - began))
        source = (copy / mutant.file).read_text("utf-8")
        outcome = "killed  " if dead else "SURVIVED"
        print(f"{outcome} {mutant.file}:{mutant.line}: {mutant.told(source).strip()}", flush=True)
    return results


def main() -> None:
    """Draws, tries and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="pipeline/", help="files whose path begins so")
    asked = parser.parse_args()
    mutants = drawn(asked.number, asked.seed, asked.only)
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(asked.workers) as pool:
        shares = [mutants[first :: asked.workers] for first in range(asked.workers)]
        folders = [Path(place) / str(number) / "scan2qa" for number in range(asked.workers)]
        results = [result for share in pool.map(tried, shares, folders) for result in share]
    rooms: dict[str, list[bool]] = {}
    for mutant, dead, _ in results:
        rooms.setdefault("/".join(Path(mutant.file).parts[1:-1][:2]), []).append(dead)
    print("\n| room | mutants | killed |\n| --- | --- | --- |")
    for room, dead in sorted(rooms.items()):
        print(f"| {room} | {len(dead)} | {sum(dead)} |")
    total = [dead for _, dead, _ in results]
    print(f"| all | {len(total)} | {sum(total)} ({sum(total) / max(len(total), 1):.0%}) |")
    strict = [m for m, dead, _ in results if not dead and set(STRICT) & set(Path(m.file).parts)]
    print(f"{len(strict)} survivors in geometry, questions, metrics and observe")


if __name__ == "__main__":
    main()
