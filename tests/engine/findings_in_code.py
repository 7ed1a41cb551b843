"""The findings that the code can report, looked up in its syntax trees."""

import ast
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
# Calls with the name of a finding, and which argument it is. Errors of formats name it before they say more.
MAKERS: Final = {
    "fault": 0,
    "doubt": 0,
    "note": 0,
    "RawDataError": 1,
    "limit_error": 0,
    "_left_out": 2,
    "_of_all": 1,
    "_Pictures": -1,
}
ERRORS: Final = re.compile(r"(Format|_Unusable)Error$|WrongGPano$")
ELSEWHERE: Final = ("benchmarks/cityeqa", "samples/drive")  # audits of files, and names of sample actors
# Where the name is worked out: the module, what the argument is there, and all that it can be. A name that was found
# elsewhere and is passed on, or that stands as a constant in the same function, is found there.
WORKED_OUT: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("engine/inputs.py", "*lost"): ("written_without_scene",),
    ("reading/maps/feature.py", "*found"): (
        "unsupported_geometry",
        "unusable_outline",
        "unusable_name",
        "unusable_height",
        "height_without_unit",
        "not_there",
        "below_ground",
        "perhaps_not_there",
    ),
    ("worlds/flight/readers/flights.py", "f'several_{key}s'"): ("several_logs", "several_videos"),
    ("worlds/flight/tracks/assemble.py", "f'no_{what}'"): ("no_heading", "no_gimbal"),
    ("worlds/flight/tracks/assemble.py", "f'{what}_gaps'"): ("heading_gaps", "gimbal_gaps"),
    ("worlds/flight/look/look.py", "reason"): (),  # reasons of rules, and failures of calls (`look_…`)
    ("worlds/indoor/fixes.py", "self.set"): ("called_otherwise", "others_in_view", "two_boxes_of_one"),
    ("worlds/indoor/look.py", "f'{UNANSWERED}{kind}'"): (),  # failures of calls (`look_…`)
    ("worlds/indoor/readers/frames.py", "reason"): (
        "pose_not_finite",
        "pose_not_rigid",
        "pose_far_away",
        "pose_stuck",
        "beyond_video",
    ),
    ("worlds/panorama/observe/place.py", "f'no_{kind}'"): ("no_city", "no_country"),
    ("worlds/panorama/observe/place.py", "f'{kind}_border_near'"): ("city_border_near", "country_border_near"),
    ("worlds/panorama/readers/panoramas.py", "reason"): ("unusable_object", "duplicate_id"),
}
PASSED_ON: Final = re.compile(r"(\w+\.)(finding|name)$|finding$|name$|self\._specs")


@cache
def findings() -> tuple[dict[str, str], list[str]]:
    """Every finding and a module that reports it; and the calls of which nobody knows what they report."""
    found: dict[str, str] = {}
    unknown: list[str] = []
    constants = _constants()
    for path, whole in nodes().items():
        module = path.relative_to(ROOT / "pipeline").as_posix()
        if module.startswith(ELSEWHERE):
            continue
        for scope in (None, *(n for n in whole if isinstance(n, ast.FunctionDef))):
            part = whole if scope is None else _within(whole, scope)
            local = constants if scope is None else constants | _assigned(part, constants)
            for name, argument in _named(part):
                texts = _texts(argument, local)
                told = ast.unparse(argument)
                if texts:
                    found.update(dict.fromkeys(texts, module))
                elif (module, told) in WORKED_OUT:
                    found.update(dict.fromkeys(WORKED_OUT[module, told], module))
                elif scope is not None and not PASSED_ON.match(told):
                    unknown.append(f"{module}: {name}({told})")
    return found, sorted(set(unknown))


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every module."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "pipeline").rglob("*.py"))}


@cache
def nodes() -> dict[Path, list[ast.expr | ast.stmt]]:
    """Calls, constants, functions and assignments of every module, line by line: each tree is walked once."""
    sought = (ast.Call, ast.Constant, ast.FunctionDef, ast.Assign, ast.AnnAssign)
    found = {path: [node for node in ast.walk(tree) if isinstance(node, sought)] for path, tree in trees().items()}
    return {path: sorted(some, key=lambda node: node.lineno) for path, some in found.items()}


def _within(whole: list[ast.expr | ast.stmt], scope: ast.FunctionDef) -> list[ast.expr | ast.stmt]:
    """The nodes on the lines of a function."""
    line, last = attrgetter("lineno"), scope.end_lineno
    return whole[bisect_left(whole, scope.lineno, key=line) : bisect_right(whole, last, key=line)]


def _constants() -> dict[str, list[str]]:
    """Names that modules set to texts."""
    constants: dict[str, list[str]] = defaultdict(list)
    for tree in trees().values():
        for node in tree.body:
            for name, value in _set(node):
                constants[name] += _texts(value, {})
    return {name: texts for name, texts in constants.items() if texts}


def _named(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Calls among these nodes that report a finding, and the argument that names it."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        place = 0 if ERRORS.search(name) and len(node.args) > 1 else MAKERS.get(name)
        if (
            name == "fault"
            and isinstance(node.func, ast.Attribute)
            and len(node.args) == 4
            and node.func.attr == "fault"
        ):
            place = 1  # `SceneFiles.fault`, with the file before it
        if name == "add" and len(node.args) == 4:
            place = 0  # `Faults.add`
        if name == "doubt" and len(node.args) == 1:
            continue  # a view's own doubts
        if place is not None and len(node.args) > abs(place):
            yield name, node.args[place]


def _assigned(nodes: Iterable[ast.AST], constants: dict[str, list[str]]) -> dict[str, list[str]]:
    """Names that a function of these nodes sets to texts."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        for name, value in _set(node):
            found[name] += _texts(value, constants)
    return {name: texts for name, texts in found.items() if texts}


def _set(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a statement sets, and to what."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        yield from ((one.id, told) for one, told in pairs if isinstance(one, ast.Name))


def _texts(node: ast.expr, local: dict[str, list[str]]) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _texts(node.body, local) + _texts(node.orelse, local)
    if isinstance(node, ast.Name):
        return local.get(node.id, [])
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
