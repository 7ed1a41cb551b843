"""Examples of reasons and findings, noted while tests meet them: ``python -m pytest -p tests.collecting TESTS``.

A plugin of pytest. What has no example in ``docs/reference/examples`` gets the best one that these tests meet: a scene
to draw, a value with its limit, the words that would have been asked, the file at fault. ``--example-again NAME`` looks
for another one of a reason or finding. Tests that read released data are left out: nothing of those may be passed on.
`make docs` draws the pictures. In one process: not with ``-n``.

``python -m tests.collecting BUILD…`` does the same with what builds of samples rejected and found.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from pipeline.core import errors, findings, schema
from pipeline.questions import rules

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "reference" / "examples"
TRIED: Final = 12  # occasions of each name that are looked at
PER_TEST: Final = 2
FRAMES: Final = 40  # looked through for what was at hand
NEAR: Final = 2  # of them in which a file is surely that which the finding is about
MOST_THINGS, MOST_POINTS = 60, 90  # of a map
MOST_MARKED: Final = 6
MOST_BYTES: Final = 9000  # of an example without its file
LINES, WIDE, RARE = 7, 76, 5  # of a file
TEXT_BYTES, HEX_BYTES = 200_000, 64
_LINE: Final = re.compile(r"\blines? (\d+)")
_PLACE: Final = re.compile(r"[\w./~-]*/(?:bt-\d+|pytest-of-[^/]+/pytest-\d+)/(?:[^/\s]+?/)?")
_QUOTED: Final = re.compile(r"['\"]([^'\"]{2,40})['\"]")
_KEY: Final = re.compile(r"[A-Za-z]*(?:_|[a-z][A-Z]|\d)\w*")  # room_size, objectId, 2024
_NAMED: Final = ("question", "answer", "accepted", "wrong", "options", "proof", "text", "words")

NOTHING: Final = -1e9  # the score of what has nothing to show
REASON: Final = "reason"  # of which only the world may be known, not the benchmark

Offer = dict[str, Any]


class Collected:
    """The best example of each name so far."""

    def __init__(self) -> None:
        self.test = "a module's own constants"  # while they are imported
        self.quiet = 0
        self.best: dict[tuple[str, str], tuple[float, Offer]] = {}
        self.tried: Counter[tuple[str, str]] = Counter()
        self.in_test: Counter[tuple[str, str, str]] = Counter()

    def met(self, kind: str, name: str, told: Callable[[], Offer]) -> None:
        """Notes an occasion, unless it is one of very many."""
        here = (kind, name, self.test)
        if self.quiet or not self.test or self.tried[kind, name] >= TRIED or self.in_test[here] >= PER_TEST:
            return
        self.tried[kind, name] += 1
        self.in_test[here] += 1
        with self.hushed():
            offer = {"name": name, "met": self.test} | told()
            if "path" in offer and "message" in offer:
                offer["file"] = _excerpt(offer["path"], offer["message"])  # it may be gone later
            score = _score(offer)
            key = (f"{kind} {offer.get('world', '')}" if kind == REASON else kind, name)
            if score > self.best.get(key, (NOTHING, {}))[0]:
                self.best[key] = (score, offer)

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """What is made meanwhile is not met."""
        self.quiet += 1
        try:
            yield
        finally:
            self.quiet -= 1


NOTED: Final = Collected()


def _score(offer: Offer) -> float:
    numbers = offer.get("measured") is not None and offer.get("limit") is not None
    file = offer.get("file") or {}
    sketch = offer.get("top_down_map")
    shown = ("about", "asked", "words", "message", "top_down_map", "around")
    if not numbers and not any(map(offer.get, shown)):
        return NOTHING
    return (
        4.0 * bool(offer.get("marked"))
        + 2.0 * (numbers and offer["measured"] != offer["limit"])
        + 2.0 * bool(offer.get("asked"))
        + 2.0 * bool(offer.get("words"))
        + 3.0 * (file.get("marked") is not None)
        + 2.0 * bool(file.get("lines"))
        + 1.0 * bool(sketch)
        + 1.0 * bool(offer.get("stretches"))
        - (len(str(sketch)) / 6000 if sketch else 0.0)
    )


# What was at hand, from the frames below the call.


def _at_hand(depth: int) -> Iterator[tuple[int, str, Any]]:
    """Number of the frame, name and value of what functions of the project hold, from within outwards."""
    frame: FrameType | None = sys._getframe(depth)
    number = 0
    for _ in range(FRAMES):
        if frame is None:
            return
        name = frame.f_code.co_filename
        if name.startswith(str(ROOT)) and "/.venv/" not in name and not name.endswith("collecting.py"):
            yield from ((number, key, value) for key, value in list(frame.f_locals.items()))
            number += 1
        frame = frame.f_back


def _context(about: Sequence[str]) -> Offer:
    from pipeline.questions.cases import Case

    offer: Offer = {}
    scene: schema.AnyScene | None = None
    for number, name, value in _at_hand(4):
        if isinstance(value, Case) and "about" not in offer and not about:
            offer |= {"about": value.operands, "asked": value.wording, "until_s": value.until_s, "from_s": value.from_s}
        elif scene is None and isinstance(value, schema.Scene):
            scene = value
        elif scene is None and isinstance(getattr(value, "scene", None), schema.Scene):
            scene = value.scene
        elif number < NEAR and "path" not in offer and isinstance(value, Path) and value.is_file() and _ours(value):
            offer["path"] = value
        if "words" not in offer and (words := _words(name, value)):
            offer["words"] = words
    return offer | (_scene(scene, offer.get("about") or about, offer.get("until_s")) if scene else {})


def _ours(path: Path) -> bool:
    return bool(_PLACE.match(str(path))) and not path.is_symlink()


def _words(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    """What a model wrote: a record with a question."""
    if is_dataclass(value) and not isinstance(value, type):
        there = {f.name: getattr(value, f.name, None) for f in fields(value)}
    elif isinstance(value, Mapping) and isinstance(value.get("question"), str):
        there = dict(value)
    else:
        return ()
    if not isinstance(there.get("question"), str) or not (there.keys() & {"answer", "options", "wrong"}):
        return ()
    return tuple((k, told) for k in _NAMED if k in there and (told := _told(there[k])))


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return "; ".join(map(str, value))
    return "; ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else ""


def _scene(scene: schema.AnyScene, about: Sequence[str], until_s: float | None) -> Offer:
    from pipeline.worlds.registry import WORLDS

    offer: Offer = {"world": scene.facts.world}
    with suppress(Exception):  # half-made scenes of tests
        offer |= _map(_named(scene, WORLDS[scene.facts.world].top_down_map(scene), about), about, scene.facts.world)
    facts: Any = scene.facts
    if facts.world == "flight" and facts.motion is not None:
        steps = [(t, p[2]) for t, p in zip(facts.motion.t_s, facts.motion.enu_m, strict=True)]
        offer["heights"] = [(round(t, 1), round(z, 1)) for t, z in steps[:: max(1, -(-len(steps) // MOST_POINTS))]]
    if facts.world == "panorama":
        first = sorted(facts.objects, key=lambda one: one.id not in about)[:MOST_THINGS]
        offer["around"] = [_seen(one, one.id in about) for one in first]
        offer["marked"] = sum(one["label"] in about for one in offer["around"])
    return offer


def _named(scene: schema.AnyScene, sketch: Any, about: Sequence[str]) -> Any:
    """A city's things are spoken of by their ids."""
    if scene.facts.world != "city":
        return sketch
    pairs = zip(scene.facts.things, sketch.things, strict=True)
    things = tuple(t.model_copy(update={"label": own.id}) if own.id in about else t for own, t in pairs)
    return sketch.model_copy(update={"things": things})


def _seen(one: Any, by_id: bool) -> Offer:
    return {
        "label": one.id if by_id else one.name or one.label,
        "yaw_deg": round(one.yaw_deg, 2),
        "width_deg": round(one.width_deg, 2),
        "pitch_deg": (round(one.pitch_low_deg, 2), round(one.pitch_high_deg, 2)),
    }


def _map(sketch: Any, about: Sequence[str], world: str) -> Offer:
    from pipeline.review.maps import is_marked, operand_ids

    digits = 3 if world == "arm" else 2
    names = operand_ids(sketch, about)
    marked = [thing for thing in sketch.things if is_marked(thing, names)]
    path = sketch.path[:: max(1, -(-len(sketch.path) // MOST_POINTS))]
    shown = [p for t in marked for p in t.outline] + [p for o in sketch.ground for p in o] * (world == "indoor")
    if not shown or (world in ("flight", "drive", "arm") and marked):
        shown += [(x, y) for _, x, y in path]
    shown = shown or [p for t in sketch.things for p in t.outline]
    if not shown:
        return {}
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*shown, strict=True))
    room = max(0.6 * max(right - left, high - low), 1.0 if world in ("arm", "indoor") else 15.0)

    def near(p: Sequence[float]) -> bool:
        return left - room <= p[0] <= right + room and low - room <= p[1] <= high + room

    middle = ((left + right) / 2, (low + high) / 2)
    others = [t for t in sketch.things if not is_marked(t, names) and all(map(near, t.outline))]
    others.sort(key=lambda t: math.dist(t.outline[0], middle))
    things = [*marked[: 3 * MOST_MARKED], *others[:MOST_THINGS]]
    ground = [o for o in sketch.ground if len(o) <= 4 * MOST_POINTS and any(map(near, o))][:20]
    made = {
        "ground": [[_round(p, digits) for p in o] for o in ground],
        "things": [{"label": t.label, "outline": [_round(p, digits) for p in t.outline[:40]]} for t in things],
        "path": [
            (round(t, 2), *_round((x, y), digits)) for t, x, y in path if world in ("indoor", "arm") or near((x, y))
        ],
    }
    n = len(marked)
    if len(made["things"]) + len(made["path"]) < (1 if n else 2) or len(str(made)) > MOST_BYTES:
        return {}
    return {"top_down_map": made, "marked": 0 < n <= MOST_MARKED}


def _round(point: Sequence[float], digits: int) -> tuple[float, float]:
    return round(point[0], digits) + 0.0, round(point[1], digits) + 0.0


# Files.


def _excerpt(path: Path, message: str) -> Offer:
    """The part of a file that a message speaks of."""
    name = _PLACE.sub("", str(path)) if _ours(path) else path.name
    offer: Offer = {"name": name, "size": None}
    if path.is_dir():
        there = sorted(f"{one.name}/" if one.is_dir() else one.name for one in path.iterdir())
        return offer | {"name": f"{name}/", "size": 0, "lines": there[:LINES]} if there else offer
    if not path.is_file():
        return offer
    offer["size"] = path.stat().st_size
    with path.open("rb") as file:
        raw = file.read(TEXT_BYTES)
    text = _text(raw)
    if text is None:
        rows = [raw[at : at + 16] for at in range(0, min(len(raw), HEX_BYTES), 16)]
        shown = (f"{n * 16:04x}  {row.hex(' '):<47}  {_letters(row)}" for n, row in enumerate(rows))
        return offer | {"lines": list(shown)}
    lines = text.splitlines()
    at = next((n - 1 for n in map(int, _LINE.findall(message)) if 0 < n <= len(lines)), None)
    token = _token(message, text)
    if at is None and token is not None:
        at = next((n for n, line in enumerate(lines) if token in line), None)
    first = max(0, (at or 0) - LINES // 2)
    shown_lines = [_cut(line, token) for line in lines[first : first + LINES]]
    return offer | {"lines": shown_lines, "first": first + 1, "marked": None if at is None else at + 1}


def _token(message: str, text: str) -> str | None:
    """What a message and a file have in common: something quoted, or the rarest name of a key or a thing."""
    quoted = next((word for word in _QUOTED.findall(message) if word in text), None)
    names = {word: text.count(word) for word in _KEY.findall(message)}
    rarest = min((n, -len(word), word) for word, n in {**names, "": 99}.items() if n or not word)
    return quoted or (rarest[2] if rarest[0] <= RARE else None)


def _text(raw: bytes) -> str | None:
    """None for what an editor would not show."""
    try:
        text = raw.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        if error.end < len(raw) - 4 or not error.start:  # not merely cut off within a letter
            return None
        text = raw[: error.start].decode("utf-8")
    return None if any(ord(c) < 32 and c not in "\n\r\t" for c in text) else text


def _cut(line: str, token: str | None) -> str:
    line = line.expandtabs(4)
    if len(line) <= WIDE:
        return line
    at = line.find(token) if token else -1
    start = 0 if at < WIDE // 2 else at - WIDE // 2
    return ("…" if start else "") + line[start : start + WIDE - 2] + "…"


def _letters(raw: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 else "." for b in raw)


def _clean(text: str) -> str:
    return _PLACE.sub("", text).replace(f"{ROOT}/", "")


# What is listened to.


def _rejected(row: schema.Rejection) -> None:
    if row.measured is not None and row.measured == row.limit:
        return  # made in case, and not meant
    told = {"measured": row.measured, "limit": row.limit, "unit": row.unit}
    NOTED.met("reason", row.reason, lambda: told | _context(()))


def _unmet(measure: rules.Measure) -> None:
    if not measure.holds:
        told = {"measured": measure.value, "limit": measure.limit, "unit": measure.unit}
        NOTED.met("reason", measure.name, lambda: told | _context(()))


def _found(one: schema.Finding, scene: schema.AnyScene | None = None) -> None:
    def told() -> Offer:
        offer = _context((one.subject,)) if scene is None else _scene(scene, (one.subject,), None)
        offer |= {key: getattr(one, key) for key in ("severity", "message", "measured", "limit", "unit", "remedy")}
        return offer | {"about": (one.subject,), "stretches": one.stretches or ()}

    NOTED.met("finding", one.name, told)


def _raised(error: errors.RawDataError) -> None:
    def told() -> Offer:
        offer = {"severity": "fault", "message": error.message, "remedy": error.remedy, "path": error.path}
        return offer | {"about": (error.scene,) if error.scene else ()}

    NOTED.met("finding", error.finding, told)


def _rows(task: Any, view: Any, table: Any) -> None:
    import pyarrow.compute as pc

    for reason in pc.unique(table["reason"]).drop_null().to_pylist():
        refused = table.filter(pc.equal(table["reason"], reason))
        told_apart = pc.fill_null(pc.not_equal(refused["measured"], refused["limit"]), True)
        for row in refused.filter(told_apart).slice(0, PER_TEST).to_pylist():
            NOTED.met(_benchmark(task), reason, partial(_row, row, task, view.scene))


def _benchmark(task: Any) -> str:
    return type(task).__module__.split(".")[2]


def _row(row: Offer, task: Any, scene: schema.AnyScene) -> Offer:
    """A candidate that was refused."""
    from pipeline.core.templates import load_template

    about = tuple(row["operands"])
    offer = {key: row.get(key) for key in ("task", "measured", "limit", "unit", "from_s", "until_s")}
    offer |= {"about": about, "asked": row.get("wording")}
    if not row["role"] and not offer["asked"]:
        with suppress(Exception):  # such as of tasks whose words need the options
            offer["asked"] = load_template(task.template).render(task.fields(about, None))
    return offer | _scene(scene, about, offer["until_s"])


def _listen() -> None:
    """Replaces what makes rejections and findings, before any module has taken it up by name."""
    refuse, stop, begin, copy = (
        schema.Rejection.__init__,
        errors.RawDataError.__init__,
        schema.Scene.__init__,
        schema.Scene.model_copy,
    )

    def rejection(self: schema.Rejection, /, **values: Any) -> None:
        refuse(self, **values)
        _rejected(self)

    def error(self: errors.RawDataError, *args: Any, **named: Any) -> None:
        stop(self, *args, **named)
        _raised(self)

    def scene(self: schema.AnyScene, /, **values: Any) -> None:
        begin(self, **values)
        for one in self.findings:
            _found(one, self)

    def changed(self: schema.AnyScene, **named: Any) -> schema.AnyScene:
        made = copy(self, **named)
        for one in made.findings:
            _found(one, made)
        return made

    for owner, name, to in (
        (schema.Rejection, "__init__", rejection),
        (errors.RawDataError, "__init__", error),
        (schema.Scene, "__init__", scene),
        (schema.Scene, "model_copy", changed),
        (rules, "rule", _noting(rules.rule, _unmet)),
        *((findings, name, _noting(getattr(findings, name), _found)) for name in ("fault", "doubt", "note")),
    ):
        setattr(owner, name, to)


def _noting(make: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    def made(*args: Any, **named: Any) -> Any:
        with NOTED.hushed():  # doubts are made of notes
            result = make(*args, **named)
        note(result)
        return result

    return made


_listen()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--example-again", action="append", default=[], metavar="NAME")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Listens to all tasks and errors of formats, once their modules are there."""
    from pipeline.benchmarks.registry import BENCHMARKS

    NOTED.test = ""
    errors.FormatError.__init__ = _with_errors(errors.FormatError.__init__)
    kinds = {kind for b in BENCHMARKS.values() for task in b.tasks for kind in type(task).__mro__}
    for kind in kinds:
        if "candidates" in vars(kind) and not getattr(kind, "_is_protocol", False):
            kind.candidates = _with_rows(kind.candidates)


def _with_errors(stop: Callable[..., None]) -> Callable[..., None]:
    def error(self: Any, *args: Any, **named: Any) -> None:
        stop(self, *args, **named)
        told = {"severity": "fault", "message": self.message, "remedy": self.remedy or "fetch the file again"}
        NOTED.met("finding", self.finding, lambda: told)

    return error


def _with_rows(candidates: Callable[..., Any]) -> Callable[..., Any]:
    def noted(task: Any, view: Any) -> Any:
        table = candidates(task, view)
        _rows(task, view, table)
        return table

    return noted


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """From here on it is this test that meets things; not one that reads released data."""
    names = (*getattr(item, "fixturenames", ()), *(mark.name for mark in item.iter_markers()))
    NOTED.test = "" if any(name.startswith("real") for name in names) or "/fuzz/" in item.nodeid else item.nodeid


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes what was missing."""
    write(set(session.config.getoption("--example-again")))


def from_build(folder: Path) -> None:
    """Notes what a build of samples rejected and found."""
    from flows.cli.release_reader import open_build
    from flows.orchestration.saved_build import read_saved_build
    from pipeline.rendering.near_misses import some_of_each

    if read_saved_build(folder).roots:
        raise SystemExit(f"{folder}: is no build of samples; nothing of released data may be passed on")
    opened = open_build(folder)
    NOTED.test = f"a build of {opened.benchmark.title} from its samples"
    rows, _ = some_of_each(opened.release, TRIED)
    scenes = {scene.id: scene for scene in opened.scenes(opened.outputs["observe"])}
    tasks = opened.benchmark.by_name()
    for row in rows:
        NOTED.in_test.clear()
        if row["measured"] is not None and row["measured"] == row["limit"]:
            continue  # rounded: nobody sees that it breaks its limit
        NOTED.met(opened.benchmark.name, row["reason"], partial(_row, row, tasks[row["task"]], scenes[row["scene"]]))
    for scene in scenes.values():
        for one in scene.findings:
            _found(one, scene)


def write(again: Collection[str] = ()) -> None:
    """Writes the best of what was met of each reason and finding that has no example, or is to have another."""
    from pipeline.benchmarks.registry import BENCHMARKS
    from pipeline.rendering.glossary import SHARED
    from tests.reference.examples import ReasonExample, everything, read_examples, write_examples

    NOTED.test = ""
    there = read_examples(FOLDER)
    added: Counter[str] = Counter()
    for group, words in everything().items():
        benchmarks = BENCHMARKS if group == SHARED else {group: BENCHMARKS[group]} if "/" not in group else {}
        worlds = ("", *(world.name for one in benchmarks.values() for world in one.worlds))
        kinds = (*benchmarks, *(f"{REASON} {world}" for world in worlds)) if benchmarks else ("finding",)
        others = tuple(f"/{name}/" for name in BENCHMARKS.keys() - benchmarks.keys()) if benchmarks else ()
        of_group = {name: one for name, one in there.get(group, {}).items() if name in words}
        for name in words:
            found = [NOTED.best[kind, name] for kind in kinds if (kind, name) in NOTED.best]
            found = [one for one in found if not any(other in one[1]["met"] for other in others)]
            if found and (name not in of_group or name in again):
                _, offer = max(found, key=lambda one: one[0])
                of_group[name] = ReasonExample.model_validate(_kept(offer))
                added[group] += 1
        if of_group or group in there:
            write_examples(FOLDER, group, of_group.values())
    print(f"\n{added.total()} examples: {dict(added)}")


def _kept(offer: Offer) -> Offer:
    """What an example holds of an offer; numbers that are not finite are none."""
    from tests.reference.examples import ReasonExample

    kept = {key: value for key, value in offer.items() if key in ReasonExample.model_fields and value is not None}
    for key in ("measured", "limit"):
        if key in kept and not math.isfinite(kept[key]):
            del kept[key]
    for key in ("message", "remedy", "asked"):
        if key in kept:
            kept[key] = _clean(kept[key])
    if kept.get("words") or (kept.get("message") and "file" in kept and not offer.get("marked")):
        kept.pop("top_down_map", None)  # nothing of it is on the map
        kept.pop("heights", None)
        kept.pop("around", None)
    if any(key == "question" for key, _ in kept.get("words", ())):
        kept.pop("asked", None)
    kept["about"] = tuple(map(_clean, kept.get("about", ())))
    return kept


if __name__ == "__main__":
    for build in sys.argv[1:]:
        from_build(Path(build))
    write()
