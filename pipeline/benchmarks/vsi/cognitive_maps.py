"""Cognitive maps: where the things of a scan are on a grid, as a question to models and as what their replies earn.

VSI-Bench, section 6 and appendix B.4: a model marks the centre of every instance of some categories on a grid of
10 x 10 cells. Of each two categories the shortest distance between any of their instances is compared with that of the
true map, and is right where it is off by one cell or less. How the map is turned or mirrored plays no part.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.vsi.rules import Rules, ScanView
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import question_ids
from pipeline.llm.prompts import load_prompt
from pipeline.metrics.replies import without_reasoning
from pipeline.questions.arrays import ANNOTATED
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView

WHOLE: Final = "cognitive_map"  # of all categories of a scan
OF_QUESTION: Final = "cognitive_map_rel_distance"  # of those that a question of relative distance names
KINDS: Final = frozenset({WHOLE, OF_QUESTION})
PROMPT: Final = "cognitive_map"
NO_MAP: Final = "no_map"
TOLERANCE_CELLS: Final = 1.0
BINS: Final = np.linspace(1.0, 10.0, 9)  # of the true distance, in cells (table 4)
_ENTRY: Final = re.compile(r"""(["'])([^"'\n:{}]{1,100})\1\s*:\s*([^"':{}]*)""")
_PAIR: Final = re.compile(r"[(\[]\s*(-?\d{1,9}(?:\.\d{0,9})?)\s*,\s*(-?\d{1,9}(?:\.\d{0,9})?)\s*[)\]]")

Map = Mapping[str, FloatArray]
"""Category -> the cells (n, 2) of its instances, x and y."""


def cells_of(view: ScanView, cells: int) -> dict[str, IntArray]:
    """The true map: the cell (n, 2) of each instance of every category of which all boxes can be relied on.

    The grid is square and parallel to the scan's axes; the longer side of the floor and all things fills it. Centres
    on its far edges lie in the last cells.
    """
    usable = view.usable("boxed")
    if not len(usable):
        return {}
    centers = view.boxes.center[:, :2]
    outlines = [np.array(ring) for ring in view.scene.facts.room.floor or ()]
    everything = np.concatenate([centers, *outlines])
    low, high = everything.min(0), everything.max(0)
    side = float((high - low).max())
    middle = (low + high) / 2  # the shorter side lies in the middle of the grid
    place = (centers - middle) / side + 0.5 if side > 0 else np.full_like(centers, 0.5)
    found = np.clip(np.floor(place * cells), 0, cells - 1).astype(np.intp)
    return {str(view.categories[c]): found[view.category_of == c] for c in usable}


def map_questions(scene: IndoorScene, rules: Rules, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Questions (some columns of `tables.QUESTIONS`) for the maps of one scan, and of which question each is.

    Args:
        scene: the scan with its boxes.
        rules: of the build; ``map_cells`` is the number of cells along each side.
        asked: the released questions of relative distance about the scan.
    """
    view = IndoorView(scene, rules)
    everything = cells_of(view, rules.map_cells)
    wanted: list[tuple[str, int | None, Sequence[str]]] = [(WHOLE, None, sorted(everything))]
    wanted += [(OF_QUESTION, row["id"], row["operands"]) for row in asked]
    flags = [] if view.is_examined else [ANNOTATED]
    found = []
    for kind, of, names in wanted:
        known = {name: everything[name].tolist() for name in sorted(names) if name in everything}
        if len(known) < 2 or len(known) < len(set(names)):
            continue
        listed = ", ".join(known)
        identity = (*known, str(rules.map_cells), *([] if of is None else [str(of)]))
        found.append(
            {
                "id": question_ids(scene.id, kind, PROMPT, [identity])[0],
                "scene": scene.id,
                "task": kind,
                "text": load_prompt(PROMPT).render(cells=rules.map_cells, categories=listed).strip(),
                "options": None,
                "ground_truth": json.dumps(known, ensure_ascii=False),
                "flags": flags,
                "of": of,
            }
        )
    return found


def read_map(reply: str, wanted: Iterable[str]) -> dict[str, FloatArray]:
    """The map in a reply, of the categories that were asked: the last braces, with pairs in either brackets."""
    text = without_reasoning(reply)
    start = text.rfind("{")
    names = {name.casefold(): name for name in wanted}
    found: dict[str, FloatArray] = {}
    for _, name, listed in _ENTRY.findall(text[start + 1 :] if start >= 0 else ""):
        own, pairs = names.get(" ".join(name.split()).casefold()), _PAIR.findall(listed)
        if own is not None and pairs:
            found[own] = np.array(pairs, dtype=np.float64)
    return found


def distances(places: Map, pairs: Sequence[tuple[str, str]]) -> FloatArray:
    """The shortest distance (n,) between any instances of each two categories; NaN where the map lacks one."""
    return np.array(
        [
            np.linalg.norm(places[a][:, None] - places[b][None], axis=2).min()
            if a in places and b in places
            else np.nan
            for a, b in pairs
        ],
        dtype=np.float64,
    )


def truth_of(text: str) -> dict[str, FloatArray]:
    """The true map of a question. Raises ValueError for another form."""
    raw = json.loads(text)
    if not isinstance(raw, dict):
        raise ValueError("a map is an object")  # noqa: TRY004 - of JSON, as json.loads raises it
    found = {name: np.array(cells, dtype=np.float64).reshape(-1, 2) for name, cells in raw.items()}
    if len(found) < 2 or any(not len(cells) or not np.isfinite(cells).all() for cells in found.values()):
        raise ValueError("a map has two categories or more, each with its cells")
    return found


def compared(reply: str | None, truth: str) -> tuple[FloatArray, FloatArray, str | None]:
    """True distances (n,) of each two categories, whether each is right (n,), and why the reply holds no map.

    A category that the reply leaves out makes its pairs wrong.
    """
    right = truth_of(truth)
    pairs = list(combinations(sorted(right), 2))
    replied = read_map(reply or "", right)
    true = distances(right, pairs)
    off = np.abs(distances(replied, pairs) - true)
    return true, (off <= TOLERANCE_CELLS + 1e-9).astype(np.float64), None if replied else NO_MAP


def locality(true: FloatArray, is_right: FloatArray) -> list[str]:
    """The share of right pairs by true distance, in the eight bins of table 4, in lines."""
    within = np.digitize(true, BINS[1:-1], right=True)
    within = np.where((true < BINS[0]) | (true > BINS[-1]), -1, within)
    parts = []
    for number, (low, high) in enumerate(pairwise(BINS)):
        own = is_right[within == number]
        if len(own):
            opening = "[" if number == 0 else "("
            parts.append(f"{opening}{low:.1f}, {high:.1f}] {own.mean():.2f} of {len(own)}")
    outside = is_right[within < 0]
    if len(outside):
        parts.append(f"nearer or farther {outside.mean():.2f} of {len(outside)}")
    return ["Pairs within one cell, by their true distance in cells (table 4): " + "; ".join(parts) + "."]
