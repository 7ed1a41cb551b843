"""ERGeoBench's score: table 2 of replies to geo-localization, table 3 of all other tasks.

A reply to geo-localization is read as section B.4 has it (`hypothesis`). One that names no place is invalid (F.3): it
is wrong at every level and distance, and its error is half the Earth's circumference. What the truth has not (a city in
the wilderness) need not be named. What the valid replies alone
come to is told beside it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np

from pipeline.benchmarks.ergeobench.agent import agent_files
from pipeline.benchmarks.ergeobench.columns import COLUMNS, OUT_OF
from pipeline.benchmarks.ergeobench.hypothesis import PARTS, Hypothesis, find_hypothesis, is_same
from pipeline.benchmarks.ergeobench.images import EMBODIED, FOV_DEG
from pipeline.benchmarks.ergeobench.rules import DIMENSIONS, GEO, OPEN, SETTINGS
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.core.schema import Model
from pipeline.core.templates import load_table
from pipeline.geometry.views import PinholeView, is_in, turned_deg
from pipeline.metrics.words import is_named
from pipeline.places import km_between
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import Published, read_of_benchmark
from pipeline.questions.scoring_protocol import (
    Answer,
    Ask,
    Composite,
    Figure,
    Metric,
    Score,
    Scores,
    find_option,
    group_by,
    unmeasured,
)
from pipeline.worlds.panorama.embodied import Fov

RADIUS_KM: Final = 6371.0  # equation 5
WITHIN_KM: Final = (1, 25, 200, 750, 2500)  # equation 6
FARTHEST_KM: Final = 20_037.5  # D_max of equation 7: half of the circumference, and what an invalid reply counts as


def great_circle_km(lat_lon_deg: FloatArray, other: FloatArray) -> FloatArray:
    """Haversine distance (N,) between WGS84 degrees (N, 2) on a sphere (equation 5), kilometres."""
    return km_between(lat_lon_deg, other[:, 0], other[:, 1], RADIUS_KM)


def error_score(median_km: FloatArray) -> FloatArray:
    """S_err of median errors (...,), in [0, 100] (equation 7)."""
    share = 1 - np.log(median_km + 1) / np.log(FARTHEST_KM + 1)
    return np.asarray(np.clip(share, 0.0, None) * 100)


def gls(figures: FloatArray) -> FloatArray:
    """GLS (...,) in [0, 100] of figures (9, ...) (equations 3, 4 and 6).

    In order: accuracy of street, city and country, hits within each of `WITHIN_KM`, all in per cent, and the median
    error in kilometres. A level that is NaN is nowhere known (in the wilderness there is no street): the others count,
    and where none is known (on the high seas) hits and error alone.
    """
    levels = figures[:3]
    known = (~np.isnan(levels)).sum(axis=0)
    semantic = np.divide(np.nansum(levels, axis=0), known, out=np.full(known.shape, np.nan), where=known > 0)
    parts = np.stack([semantic, figures[3:8].mean(axis=0), error_score(figures[8])])
    counted = np.where(known > 0, 3, 2)
    return np.asarray(np.where(known > 0, parts[0], 0.0) + parts[1] + parts[2]) / counted


ACCURACY, INVALID = "accuracy", "invalid"
GLS, MEAN_ERROR, MEDIAN_ERROR, ERROR_SCORE = "gls", "mean_error_km", "median_error_km", "s_err"
LEVELS: Final = ("street", "city", "country")
VALID: Final = "_valid"  # ending of a metric of the valid replies alone
SETTING: Final = "setting"
DIFFERENCE: Final = "difference"
PAPER: Final = load_table("ergeobench/published")
STEPS, TURNS, ZOOMED, COVERAGE = "steps", "turns", "zoomed", "coverage"  # of an agent that looks about (appendix E)
ZOOM_MAX: Final = 100.0
TURN_DEG: Final = 1.0  # by which yaw changes at least in a turn
DIRECTIONS: Final = 2000  # on the sphere, evenly spread, of which a view shows some
CENTRES: Final = 500  # places that are tried for the reply that is the same to all
_HITS: Final = {f"within_{km}_km": km for km in WITHIN_KM}
_MARKED: Final = (*LEVELS, *_HITS, MEAN_ERROR, MEDIAN_ERROR)  # metrics with marks of their own, in per cent or km
_MAIN: Final = ("country", MEDIAN_ERROR)
_TOLD_OF_GLS: Final = (*LEVELS, *_HITS, MEDIAN_ERROR)  # in the order of `gls`
_TITLES: Final = {
    "street": "street (%)",
    "city": "city (%)",
    "country": "country (%)",
    **{name: f"acc. at {km} km (%)" for name, km in _HITS.items()},
    MEAN_ERROR: "mean error (km)",
    MEDIAN_ERROR: "median error (km)",
}


_SECTIONS: Final = (SETTING, DIFFERENCE)


def _metrics() -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for ending, remark in (("", ""), (VALID, ", valid replies alone")):
        found[GLS + ending] = Metric(f"GLS{remark}", 2, is_main=not ending, sections=_SECTIONS)
        for name in _MARKED:
            statistic: Literal["mean", "median"] = "median" if name == MEDIAN_ERROR else "mean"
            title, is_main = f"{_TITLES[name]}{remark}", not ending and name in _MAIN
            found[name + ending] = Metric(title, 2, is_main=is_main, statistic=statistic, sections=_SECTIONS)
        found[ERROR_SCORE + ending] = Metric(f"S_err{remark}", 2, sections=_SECTIONS)
    found[INVALID] = Metric("invalid replies (%)", 2, is_main=True, sections=_SECTIONS)
    for name, title in (
        (STEPS, "steps"),
        (TURNS, "turns"),
        (ZOOMED, "zoomed in (% of steps)"),
        (COVERAGE, "seen (% of all around)"),
    ):
        found[name] = Metric(title, 2, sections=(SETTING,))
    found[ACCURACY] = Metric("accuracy", 4, is_guessed=True, sections=("task", "dimension", ""))
    return found


METRICS: Final = _metrics()
COMPOSITES: Final = {
    **{GLS + end: Composite(tuple(name + end for name in _TOLD_OF_GLS), gls) for end in ("", VALID)},
    **{ERROR_SCORE + end: Composite((MEDIAN_ERROR + end,), lambda parts: error_score(parts[0])) for end in ("", VALID)},
}


class GeoScoreSettings(Model):
    """Settings of the score."""

    required: tuple[Literal["country", "city", "street", "coordinates"], ...] = ("country", "city", "coordinates")


def mark(answers: Sequence[Answer], settings: GeoScoreSettings, ask: Ask | None = None) -> Scores:
    """Marks of all metrics: of geo-localization in per cent and kilometres, of all else 0 or 1."""
    values: dict[str, FloatArray] = {name: unmeasured(len(answers)) for name in METRICS}
    unread: list[str | None] = [None] * len(answers)
    places: list[tuple[int, Hypothesis | None]] = []
    for n, answer in enumerate(answers):
        if answer.question.question_type.removesuffix(OUT_OF) in GEO:
            truth = truth_of(answer.question)  # nobody can name what there is not: no city in the wilderness
            required = [name for name in settings.required if name not in LEVELS or truth.get(name)]
            found, unread[n] = find_hypothesis(answer.reply, required, truth)
            places.append((n, found))
            for name, value in explored(answer.views).items():
                values[name][n] = value
        elif answer.question.question_type == OPEN:
            values[ACCURACY][n] = is_named(answer.reply or "", answer.question.ground_truth.split(PARTS))
        else:
            letter, unread[n] = find_option(answer)
            values[ACCURACY][n] = letter == answer.question.ground_truth.strip().upper()
    _measure(answers, places, values)
    return Scores(values, unread, notes=_of_one_reply([answer.question for answer in answers]))


def explored(views: FloatArray | None) -> dict[str, float]:
    """How an agent looked about: steps, turns to another yaw, per cent of steps with zoom and of the sphere seen.

    Views are (k, 3), yaw, pitch and zoom, rendered as environments do; nothing of None.
    """
    if views is None:
        return {}
    n = np.arange(DIRECTIONS) + 0.5  # a Fibonacci lattice
    yaw, pitch = np.degrees(np.pi * (1 + 5**0.5) * n) % 360, np.degrees(np.arcsin(1 - 2 * n / DIRECTIONS))
    fov, seen = Fov(base_deg=FOV_DEG), np.zeros(DIRECTIONS, dtype=bool)
    for own_yaw, own_pitch, zoom in np.unique(views, axis=0).tolist():
        if -90 <= own_pitch <= 90 and 1 <= zoom <= ZOOM_MAX:
            shot = PinholeView(yaw_deg=turned_deg(own_yaw), pitch_deg=own_pitch, fov_deg=fov.of(zoom))
            seen |= is_in(shot, yaw, pitch)
    turns = np.abs((np.diff(views[:, 0]) + 180) % 360 - 180) > TURN_DEG
    zoomed = views[:, 2] > 1
    return {
        STEPS: float(len(views)),
        TURNS: float(turns.sum()),
        ZOOMED: 100 * float(zoomed.mean()),
        COVERAGE: 100 * float(seen.mean()),
    }


def _of_one_reply(questions: Sequence[Published]) -> list[str]:
    """GLS of the best reply that is the same to all questions of a setting: commonest names, a central place."""
    notes = []
    for task, setting in SETTINGS.items():
        truths = [truth_of(question) for question in questions if question.question_type == task]
        if len(truths) < 2:
            continue
        names = {level: _commonest([truth[level] for truth in truths if truth.get(level)]) for level in LEVELS}
        some = truths[:: -(-len(truths) // CENTRES)]
        away = [_away_km([Hypothesis(lat_deg=t["lat"], lon_deg=t["lon"])] * len(truths), truths) for t in some]
        best = min(range(len(some)), key=lambda n: (float(np.median(away[n])), n))
        hypotheses = [
            100 * np.mean([is_same(level, names[level], t[level]) for t in truths if t.get(level)])
            if names[level]
            else np.nan
            for level in LEVELS
        ]
        hits = [100 * np.mean(away[best] <= km) for km in WITHIN_KM]
        earned = float(gls(np.array([*hypotheses, *hits, np.median(away[best])])))
        where = ", ".join(filter(None, (names["city"], names["country"]))) or "one place"
        notes.append(f"Replying {where} to all questions of the setting {setting} earns a GLS of {earned:.2f}.")
    return notes


def _commonest(names: Sequence[str]) -> str:
    """The first name of the most frequent truth; "" where there is none."""
    counts = Counter(name.split(PARTS)[0] for name in names)
    return min(counts, key=lambda name: (-counts[name], name), default="")


def _measure(
    answers: Sequence[Answer], places: Sequence[tuple[int, Hypothesis | None]], values: dict[str, FloatArray]
) -> None:
    """Fills in the marks of geo-localization."""
    rows = np.array([n for n, _ in places], dtype=np.intp)
    valid = np.array([found is not None for _, found in places], dtype=bool)
    truths = [truth_of(answers[n].question) for n, _ in places]
    marks: dict[str, FloatArray] = {}
    for level in LEVELS:
        same = [
            (stated := getattr(found, level, None)) is not None and is_same(level, stated, truth[level])
            if truth.get(level)
            else np.nan
            for (_, found), truth in zip(places, truths, strict=True)
        ]
        marks[level] = 100 * np.array(same, dtype=np.float64)
    away = _away_km([found for _, found in places], truths)
    marks |= {name: np.where(away <= km, 100.0, 0.0) for name, km in _HITS.items()}
    marks |= {MEAN_ERROR: away, MEDIAN_ERROR: away}
    for name, own in marks.items():
        values[name][rows] = own
        values[name + VALID][rows[valid]] = own[valid]
    values[INVALID][rows] = 100.0 * ~valid


def _away_km(places: Sequence[Hypothesis | None], truths: Sequence[dict[str, Any]]) -> FloatArray:
    """Errors (n,) in kilometres; of replies without coordinates `FARTHEST_KM`."""
    there = [n for n, p in enumerate(places) if p is not None and p.lat_deg is not None and p.lon_deg is not None]
    away = np.full(len(places), FARTHEST_KM)
    if there:
        stated = np.array([[getattr(places[n], axis) for axis in ("lat_deg", "lon_deg")] for n in there])
        truth = np.array([[truths[n]["lat"], truths[n]["lon"]] for n in there])
        away[there] = np.minimum(great_circle_km(stated, truth), FARTHEST_KM)
    return away


def truth_of(question: Published) -> dict[str, Any]:
    """Country, city, street (None where there is none), lat and lon of a released geo-localization question.

    Raises ConfigError where a name is no text or a coordinate is none.
    """
    remedy = "give one JSON object of country, city and street (texts, or null where there is none), lat and lon"
    try:
        truth = json.loads(question.ground_truth)
    except (ValueError, RecursionError):
        truth = None
    if not isinstance(truth, dict):
        raise ConfigError(f"question {question.id}: its truth is {question.ground_truth[:80]!r}; {remedy}")
    named = {level: isinstance(truth.get(level), str | None) for level in LEVELS}
    placed = {
        axis: isinstance(value := truth.get(axis), int | float) and not isinstance(value, bool) and abs(value) <= most
        for axis, most in (("lat", 90), ("lon", 180))
    }
    for name, is_usable in (named | placed).items():
        if not is_usable:
            raise ConfigError(f"question {question.id}: {name} of its truth is {str(truth.get(name))[:80]!r}; {remedy}")
    return truth


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """The settings of table 2, and out of distribution (table 14); tasks, dimensions and their mean of table 3."""
    apart = {f"{task}{OUT_OF}": f"{name}{OUT_OF}" for task, name in SETTINGS.items()}
    settings = group_by(answers, SETTING, SETTINGS | apart)
    there = {figure.name for figure in settings}
    pairs = [(f"{one} less {other}", one, other) for one, other in combinations(reversed(SETTINGS.values()), 2)]
    pairs += [(f"{name}, drop{OUT_OF}", name, f"{name}{OUT_OF}") for name in SETTINGS.values()]
    settings += [
        Figure(name, DIFFERENCE, parts=tuple(own), difference=True) for name, *own in pairs if there.issuperset(own)
    ]
    tasks, dimensions = [], []
    for dimension, names in DIMENSIONS.items():
        own = group_by(
            answers, "task", {name: name for name in names} | ({OPEN: "Dual-View"} if "Dual-View" in names else {})
        )
        tasks += own
        if own:
            dimensions.append(Figure(dimension, "dimension", parts=tuple(f.name for f in own)))
    whole = [Figure("all", parts=tuple(f.name for f in dimensions))] if dimensions else []
    return [*settings, *tasks, *dimensions, *whole]


def _published() -> dict[str, dict[str, dict[str, float]]]:
    """Metric -> figure -> model -> the printed value (tables 2, 3, 11, 12, 13 and 14)."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for setting, columns in PAPER["table_2"]["settings"].items():
        for metric, values in columns.items():
            own = found.setdefault(metric, {}).setdefault(setting, {})
            own.update(zip(PAPER["table_2"]["models"], values, strict=True))
    for setting, values in PAPER["table_11"]["settings"].items():
        found[GLS][setting].update(zip(PAPER["table_11"]["models"], values, strict=True))
    active, wild = PAPER["table_13"], PAPER["table_14"]
    found[GLS]["embodied less panorama"] = dict(zip(active["models"], active["gls"], strict=True))
    found[GLS][f"embodied{OUT_OF}"] = dict(zip(wild["models"], wild["gls"], strict=True))
    found[GLS][f"embodied, drop{OUT_OF}"] = dict(zip(wild["models"], wild["drop"], strict=True))
    for table in (PAPER["table_3"], PAPER["table_12"]):
        for name, values in table["figures"].items():
            shares = {model: value / 100 for model, value in zip(table["models"], values, strict=True)}
            found.setdefault(ACCURACY, {}).setdefault(name, {}).update(shares)
    return found


SCORE: Final = Score[GeoScoreSettings](
    read=partial(read_of_benchmark, columns=COLUMNS),
    metrics=METRICS,
    settings=GeoScoreSettings,
    mark=mark,
    figures=figures,
    composites=COMPOSITES,
    published=_published(),
)


def _marking(question: Published, split: str) -> Marking | None:
    """Places, and letters; the embodied setting is asked by agents alone (`agent_files`)."""
    if question.rest["setting"] == EMBODIED:
        return None
    if question.rest["task"] == OPEN:
        return Marking("words", accepted=tuple(form.strip() for form in question.ground_truth.split(PARTS)))
    return Marking("place" if question.rest["task"] in GEO else "letter")


HARNESS: Final = Harness(_marking, also=agent_files)
