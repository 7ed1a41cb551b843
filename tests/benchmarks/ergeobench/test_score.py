import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.cli.output.console import output_options
from flows.cli.score import show_score
from pipeline.benchmarks.ergeobench.hypothesis import FORMS, find_hypothesis, is_same
from pipeline.benchmarks.ergeobench.rules import DIMENSIONS, OPEN, SETTINGS
from pipeline.benchmarks.ergeobench.score import (
    ACCURACY,
    FARTHEST_KM,
    PAPER,
    SCORE,
    WITHIN_KM,
    GeoScoreSettings,
    explored,
    gls,
    great_circle_km,
)
from pipeline.core.errors import ConfigError
from pipeline.core.identity import rng_for
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer
from pipeline.scoring.leaderboard import leaderboard
from pipeline.scoring.score import ScoreResults, scored
from tests.scoring.made import file_of

DEGREE_KM = 6371 * math.pi / 180
REQUIRED = ("country", "city", "coordinates")
SINGLE, _, EMBODIED = SETTINGS
MONACO = {"country": "Monaco", "city": "Monaco", "street": "Boulevard Albert 1er", "lat": 43.7347, "lon": 7.4206}


TABLE_2, TABLE_3 = PAPER["table_2"], PAPER["table_3"]


def unlike_printed(columns: dict[str, list[float]]) -> dict[str, float]:
    """Models whose GLS does not follow from the other columns within 0.01, with the difference."""
    of = ("street", "city", "country", *(f"within_{km}_km" for km in WITHIN_KM), "median_error_km")
    off = gls(np.array([columns[name] for name in of])) - np.array(columns["gls"])
    return {model: round(float(d), 3) for model, d in zip(TABLE_2["models"], off, strict=True) if abs(d) > 0.01}


@pytest.mark.parametrize("setting", TABLE_2["settings"])
def test_gls_of_table_2_follows_from_its_columns_and_another_would_not(setting: str) -> None:
    columns = TABLE_2["settings"][setting]
    assert unlike_printed(columns) == {}
    raised = columns | {"gls": [columns["gls"][0] + 0.02, *columns["gls"][1:]]}
    assert unlike_printed(raised) == {"GPT-4o": pytest.approx(-0.02, abs=0.01)}


@pytest.mark.parametrize("dimension", ["Foundational Perception", "Spatial Awareness", "Common Sense"])
def test_averages_of_table_3(dimension: str) -> None:
    lines = np.array([TABLE_3["figures"][name] for name in (*DIMENSIONS[dimension], dimension)])
    assert np.abs(lines[:-1].mean(axis=0) - lines[-1]).max() < 0.01


def test_the_differences_of_tables_13_and_14_follow_from_table_2() -> None:
    own = {s: dict(zip(TABLE_2["models"], c["gls"], strict=True)) for s, c in TABLE_2["settings"].items()}
    active, wild = PAPER["table_13"], PAPER["table_14"]
    gains = [own["embodied"][model] - own["panorama"][model] for model in active["models"]]
    assert gains == pytest.approx(active["gls"], abs=0.006)
    drops = [own["embodied"][model] - value for model, value in zip(wild["models"], wild["gls"], strict=True)]
    assert drops == pytest.approx(wild["drop"], abs=0.006)


@pytest.mark.parametrize(("reply", "is_right"), [("It is the Hôtel Real.", True), ("HOTEL REAL or CINE LUNA", False)])
def test_a_place_is_right_by_any_of_its_names(reply: str, is_right: bool) -> None:
    own = Published(1, "d", "p", OPEN, "Which?", None, "HOTEL REAL; hotel")
    scores = SCORE.mark([Answer(own, reply)], GeoScoreSettings())
    assert scores.values[ACCURACY].tolist() == [float(is_right)]
    names = [figure.name for figure in SCORE.figures([Answer(own, reply)])]
    assert names == ["Dual-View", "Common Sense", "all"]


def test_distances_on_the_sphere() -> None:
    """A quarter of the equator, pole to pole, across the date line, and a degree of latitude."""
    one = np.array([[0.0, 0.0], [90.0, 10.0], [10.0, 179.5], [50.0, 8.0]])
    two = np.array([[0.0, 90.0], [-90.0, 70.0], [10.0, -179.5], [51.0, 8.0]])
    degree = 6371 * math.pi / 180
    expected = [90 * degree, 180 * degree, degree * math.cos(math.radians(10)), degree]
    assert great_circle_km(one, two) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("level", "said", "truth"),
    [
        ("country", "The USA", "United States"),
        ("country", "DE", "Germany"),
        ("country", "Côte d’Ivoire", "Ivory Coast"),
        ("country", "日本", "Japan"),
        ("country", "Republic of Korea", "South Korea"),
        ("city", "City of São Paulo, SP", "Sao Paulo"),
        ("city", "New York", "New York City"),
        ("city", "Cologne", "Köln; Cologne"),
        ("street", "Bd. Albert 1er (Monte-Carlo)", "Boulevard Albert 1er"),
        ("street", "12 Main St.", "Main Street"),
        ("street", "St. John St", "St John Street"),
        ("street", "Hauptstr. 5", "Hauptstraße"),
    ],
)
def test_names_that_are_the_same(level: str, said: str, truth: str) -> None:
    assert is_same(level, said, truth)


@pytest.mark.parametrize(
    ("level", "said", "truth"),
    [
        ("country", "Niger", "Nigeria"),
        ("country", "Guinea", "Guinea-Bissau"),
        ("country", "Ireland", "United Kingdom"),
        ("city", "Vanves", "Paris"),
        ("street", "Calle 5", "Calle 6"),
        ("street", "5th Avenue", "6th Avenue"),
        ("street", "Main Street", "Main Road"),
    ],
)
def test_names_that_are_not(level: str, said: str, truth: str) -> None:
    assert not is_same(level, said, truth)


def test_every_form_is_its_own_form() -> None:
    names = ["The City of London, UK", "Rue de l'Église 12", "U.S.A.", "Łódź", "ประเทศไทย", "St. Gallen", "12 Bd. X"]
    for form in FORMS.values():
        assert [form(form(name)) for name in names] == [form(name) for name in names]


@pytest.mark.parametrize(
    "coordinates",
    [
        '"latitude": 43.7347, "longitude": 7.4206',
        '"lat": "43.7347", "lng": "7.4206"',
        '"latitude": "43.7347° N", "longitude": "7.4206° E"',
        '"coordinates": [43.7347, 7.4206]',
        '"coordinates": ["43.7347 N", "7.4206 E"]',
        '"coordinates": "7.4206 E, 43.7347 N"',
        '"GPS coordinates": "(43.7347, 7.4206)"',
        '"gps": "N 43.7347 E 7.4206"',
        '"coordinates": {"Latitude": 43.7347, "Longitude": 7.4206}',
        '"coordinates": "Lat: 43.7347, Lon: 7.4206"',
        """"coordinates": "43°44'4.92\\"N, 7°25'14.16\\"E\"""",
    ],
)
def test_coordinates_in_any_form(coordinates: str) -> None:
    reply = (
        '<think>{"country": "France"}</think>Here:\n```json\n{"structured_observation": {"Signage": "French {"},\n'
        f'"hypothesis_update": {{"country": "Monaco", "city": "Monaco", "street/area": "Bd", {coordinates}}},'
        '"next_action": {"stop": true}}\n```\nHope it helps {x}. {"country": "Italy", "city": "x", "lat": 1, "lon": 2}'
    )
    found = find_hypothesis(reply, REQUIRED).value
    assert (found.country, found.city, found.street) == ("Monaco", "Monaco", "Bd")
    assert (found.lat_deg, found.lon_deg) == (pytest.approx(43.7347, abs=1e-6), pytest.approx(7.4206, abs=1e-6))


def test_south_and_west_are_negative_once() -> None:
    for text in (
        "33.9 S, 70.6 W",
        "-33.9 S, -70.6 W",
        "-33.9, -70.6",
        "33.9 south 70.6 west",
        "\u221233.9; \u221270.6",
    ):
        found = find_hypothesis(json.dumps({"country": "Chile", "city": "Santiago", "gps": text}), REQUIRED).value
        assert found is not None, text
        assert (found.lat_deg, found.lon_deg) == (-33.9, -70.6)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("Monaco, I think.", "no_json"),
        ('{"answer": "B"}', "no_place"),
        ('{"country": "Monaco", "lat": 43.7, "lon": 7.4}', "missing_city"),
        ('{"country": "Unknown", "city": "Monaco", "lat": 43.7, "lon": 7.4}', "unknown_country"),
        ('{"country": "Monaco", "city": "Cannot be determined", "lat": 1, "lon": 7.4}', "unknown_city"),
        ('{"country": "Monaco", "city": "Monaco"}', "missing_coordinates"),
        ('{"country": "Monaco", "city": "Monaco", "coordinates": "N/A"}', "unknown_coordinates"),
        ('{"country": "Monaco", "city": "Monaco", "lat": 0.0, "lon": 0}', "placeholder_coordinates"),
        ('{"country": "Monaco", "city": "Monaco", "lat": 143.7, "lon": 7.4}', "coordinates_out_of_range"),
        ('{"country": "Monaco", "city": "Monaco", "coordinates": "43 to 44 N, 7 E"}', "unreadable_coordinates"),
        ('{"country": "Monaco", "city": "Monaco", "lat": true, "lon": 7.4}', "unreadable_coordinates"),
        ('{"country": "Monaco", "city": "Monaco", "lat": NaN, "lon": 7.4}', "unreadable_coordinates"),
        ("{" * 100_000, "no_json"),
        ('{"country": "Monaco", "city": "Mon', "no_json"),
    ],
)
def test_invalid_replies_have_a_reason(reply: str, reason: str) -> None:
    assert find_hypothesis(reply, REQUIRED) == (None, reason)


def geo(number: int, task: str = EMBODIED, apart: bool = False, **place: Any) -> dict[str, Any]:
    """A released geo-localization question."""
    return {
        "id": number, "panorama": f"p{number}", "dimension": "Geo-localization", "task": task, "question": "Where?",
        "options": None, "ground_truth": json.dumps(MONACO | place), "out_of_distribution": apart,
    }  # fmt: skip


def choice(number: int, task: str, truth: str) -> dict[str, Any]:
    return {
        "id": number, "panorama": f"p{number % 3}", "dimension": "x", "task": task, "question": "Which?",
        "options": ["A. left", "B. right"], "ground_truth": truth, "out_of_distribution": False,
    }  # fmt: skip


def score(folder: Path, rows: list[dict[str, Any]], replies: dict[int, str], **settings: Any) -> ScoreResults:
    lines = [{"id": i, "answer": reply} for i, reply in replies.items()]
    files = file_of(folder / "q.json", rows), file_of(folder / "p.jsonl", lines)
    return scored(SCORE, files[0], [files[1]], GeoScoreSettings.model_validate(settings))


def values(found: ScoreResults, figure: str) -> dict[str, float | None]:
    return {row.metric: row.value for row in found.rows if row.figure.name == figure}


def reply(**place: Any) -> str:
    return json.dumps({"hypothesis_update": MONACO | place})


def test_table_2_by_hand(tmp_path: Path) -> None:
    """Right; right city 111 km off; nothing valid. One degree of latitude is 111.195 km."""
    replies = {1: reply(), 2: reply(lat=44.7347, street=None), 3: "no idea"}
    own = values(score(tmp_path, [geo(1), geo(2), geo(3)], replies), "embodied")
    third = 100 / 3
    assert (own["street"], own["city"], own["country"]) == pytest.approx((third, 2 * third, 2 * third))
    assert [own[f"within_{km}_km"] for km in (1, 25, 200, 750, 2500)] == pytest.approx([third, third, *[2 * third] * 3])
    assert own["median_error_km"] == pytest.approx(111.195, abs=0.001)
    assert own["mean_error_km"] == pytest.approx((0 + 111.195 + FARTHEST_KM) / 3, abs=0.001)
    s_err = 100 * (1 - math.log(112.195) / math.log(20_038.5))
    assert own["s_err"] == pytest.approx(s_err, abs=0.001)
    assert own["gls"] == pytest.approx((5 * third / 3 + 8 * third / 5 + s_err) / 3, abs=0.001)
    assert own["invalid"] == pytest.approx(third)
    assert (own["city_valid"], own["mean_error_km_valid"]) == (100, pytest.approx(111.195 / 2, abs=0.001))
    assert (own["gls_valid"] or 0) > (own["gls"] or 0)


def test_nothing_known_is_no_truth_and_out_of_distribution_is_apart(tmp_path: Path) -> None:
    rows = [geo(1), geo(2, street=None), geo(3, SINGLE, apart=True)]
    found = score(tmp_path, rows, {1: reply(street="Elsewhere"), 2: reply(), 3: reply()})
    assert values(found, "embodied")["street"] == 0.0, "of one question the street is known"
    assert values(found, "single, out of distribution")["gls"] == pytest.approx(100.0)
    assert values(found, "single") == {}


def test_what_one_reply_to_all_earns(tmp_path: Path) -> None:
    """Two of three in Monaco, and the middle of three places on a meridian: 111.195 km to the others."""
    rows = [geo(1), geo(2, lat=44.7347), geo(3, lat=42.7347, country="Italy", city="Pisa", street=None)]
    found = score(tmp_path, rows, {1: reply()})
    s_err = 100 * (1 - math.log(112.195) / math.log(20_038.5))
    earned = ((100 + 200 / 3 + 200 / 3) / 3 + (100 / 3 * 2 + 300) / 5 + s_err) / 3
    note = f"Replying Monaco, Monaco to all questions of the setting embodied earns a GLS of {earned:.2f}."
    assert found.marks.notes == [note]


def test_gls_in_the_wilderness_is_that_of_the_levels_that_are_known(tmp_path: Path) -> None:
    found = score(tmp_path, [geo(1, SINGLE, apart=True, street=None, city=None)], {1: reply(lat=44.7347)})
    own = values(found, "single, out of distribution")
    s_err = 100 * (1 - math.log(112.195) / math.log(20_038.5))
    assert own["gls"] == pytest.approx((100 + 60 + s_err) / 3, abs=0.001)


def test_what_there_is_not_need_not_be_named(tmp_path: Path) -> None:
    """The truth as a reply; a city that there is must be named, and coordinates always."""
    wild = [geo(1, SINGLE, apart=True, street=None, city=None)]
    own = values(score(tmp_path, wild, {1: reply(street=None, city=None)}), "single, out of distribution")
    assert (own["gls"], own["invalid"], own["mean_error_km"]) == (100, 0, 0)
    own = values(score(tmp_path, [geo(1, street=None)], {1: reply(city=None)}), "embodied")
    assert (own["gls"], own["invalid"]) == (0, 100)
    own = values(score(tmp_path, wild, {1: reply(lat=None)}), "single, out of distribution")
    assert own["invalid"] == 100


@pytest.mark.parametrize(
    "place",
    [
        {"country": None, "city": None, "street": None},  # the high seas
        {"city": "Köln; Cologne", "street": "Rue A; A-Straße"},
        {"country": "Italy", "city": "None", "street": "Not a Through Road"},
        {"city": "Frankfurt (Oder)", "street": "Straße des 17. Juni"},
        {"city": "東京", "street": "5"},
    ],
)
def test_every_truth_is_a_right_reply_to_its_question(place: dict[str, Any], tmp_path: Path) -> None:
    for task, apart in ((EMBODIED, False), (SINGLE, True)):
        found = score(tmp_path, [row := geo(1, task, apart, **place)], {1: row["ground_truth"]})
        assert [(row.value) for row in found.rows if row.metric in {"gls", "gls_valid"}] == [100, 100]


def test_a_wrong_name_among_right_ones_is_wrong_and_no_place_is_known_by_hits_and_error_alone(tmp_path: Path) -> None:
    row = geo(1, city="Köln; Cologne")
    assert values(score(tmp_path, [row], {1: reply(city="Cologne; Bonn")}), "embodied")["city"] == 0
    sea = geo(1, country=None, city=None, street=None)
    own = values(score(tmp_path, [sea], {1: reply(lat=44.7347, country="Nowhereland")}), "embodied")
    s_err = 100 * (1 - math.log(112.195) / math.log(20_038.5))
    assert own["gls"] == pytest.approx((60 + s_err) / 2, abs=0.001)


@pytest.mark.parametrize(
    ("truth", "named"),
    [("Monaco", "its truth is"), ("[]", "its truth is"), (json.dumps(MONACO | {"lat": None}), "lat of its truth"),
     (json.dumps(MONACO | {"lon": 181}), "lon of its truth"),
     (json.dumps(MONACO | {"city": ["A"]}), "city of its truth")],
)  # fmt: skip
def test_a_bad_truth_is_an_error_that_names_its_question(truth: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"question 7: {named}"):
        score(tmp_path, [geo(7) | {"ground_truth": truth}], {7: reply()})


def test_what_a_reply_must_name_can_be_chosen(tmp_path: Path) -> None:
    only_country = {1: '{"country": "Monaco"}'}
    assert values(score(tmp_path, [geo(1)], only_country), "embodied")["invalid"] == 100
    own = values(score(tmp_path, [geo(1)], only_country, required=["country"]), "embodied")
    assert (own["invalid"], own["country"], own["mean_error_km"]) == (0, 100, FARTHEST_KM)


def test_table_3_counts_tasks_and_dimensions_alike(tmp_path: Path) -> None:
    rows = [choice(n, task, "A") for n, task in enumerate(["Signage", "Terrain", "Terrain", "Distance"])]
    found = score(tmp_path, rows, {0: "A", 1: "B", 2: "the left one: A", 3: "left"})
    own = {name: values(found, name)["accuracy"] for name in ("Terrain", "Foundational Perception", "all")}
    assert own == {"Terrain": 0.5, "Foundational Perception": 0.75, "all": 0.875}
    assert not [row for row in found.rows if row.metric == "gls"]


def test_intervals_of_medians_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [{**geo(n), "panorama": f"p{n % 7}"} for n in range(20)]
    found = score(tmp_path, rows, {n: reply(lat=float(43 + rng.random() * 20)) for n in range(20)})
    away = found.marks.values["median_error_km"]
    (row,) = [row for row in found.rows if row.metric == "median_error_km"]
    (composite,) = [row for row in found.rows if row.metric == "gls"]
    drawn = rng_for("bootstrap", 7).multinomial(7, np.full(7, 1 / 7), size=2000)
    medians = [np.median(np.repeat(away, counts[[n % 7 for n in range(20)]])) for counts in drawn]
    assert (row.low, row.high) == tuple(pytest.approx(q, rel=1e-12) for q in np.quantile(medians, [0.025, 0.975]))
    assert row.value == np.median(away)
    assert (composite.low or 0) < (composite.value or 0) < (composite.high or 0)


def test_what_guessing_earns_is_told_of_accuracy_alone() -> None:
    guessed = {name: metric.sections for name, metric in SCORE.metrics.items() if metric.is_guessed}
    assert guessed == {ACCURACY: ("task", "dimension", "")}


def test_settings_differ_question_by_question_over_the_same_panoramas(tmp_path: Path) -> None:
    """An agent is 10 km nearer in each panorama: the difference is sure, the two errors are not."""
    rng = np.random.default_rng(5)
    rows = [
        geo(2 * n + k, task) | {"panorama": f"p{n}"} for n in range(30) for k, task in enumerate((SINGLE, EMBODIED))
    ]
    rows += [geo(100 + n, EMBODIED, apart=True) for n in range(4)]
    off = {n: float(rng.uniform(1, 15)) for n in range(30)}
    replies = {2 * n: reply(lat=43.7347 + off[n] + 10 / DEGREE_KM) for n in off}
    replies |= {2 * n + 1: reply(lat=43.7347 + off[n]) for n in off} | {100 + n: "{}" for n in range(4)}
    found = score(tmp_path, rows, replies)
    by = {(row.figure.name, row.metric): row for row in found.rows}
    gain = by["embodied less single", "mean_error_km"]
    assert (gain.value, gain.low, gain.high) == (pytest.approx(-10, abs=1e-6),) * 3
    alone = by["single", "mean_error_km"]
    assert (alone.high or 0) - (alone.low or 0) > 100
    drop = by["embodied, drop, out of distribution", "gls"]
    assert drop.value == by["embodied", "gls"].value > 0, "nothing valid earns nothing in the wilderness"
    assert by["embodied less single", "gls"].value == pytest.approx(
        by["embodied", "gls"].value - by["single", "gls"].value, abs=1e-9
    )


def test_how_an_agent_looked_about_is_read_from_its_log(tmp_path: Path) -> None:
    """A view of 90 degrees, 4 : 3, shows 13.94% of the sphere; one within it adds nothing, one across the seam does."""
    share = 100 * 4 * math.asin(0.75 / math.sqrt(2 * 1.5625)) / (4 * math.pi)
    assert explored(np.array([[170.0, 0.0, 1.0]]))["coverage"] == pytest.approx(share, abs=0.3)
    log = [{"yaw": yaw, "pitch": 0.0, "zoom": zoom} for yaw, zoom in ((170, 1), (170, 3), (-100, 1), (-100, 1))]
    lines = [{"id": 1, "answer": reply(), "log": log}, {"id": 2, "answer": reply(), "log": [{"yaw": "left"}]}]
    files = file_of(tmp_path / "q.json", [geo(1), geo(2)]), file_of(tmp_path / "p.jsonl", lines)
    own = values(scored(SCORE, files[0], [files[1]], GeoScoreSettings()), "embodied")
    assert (own["steps"], own["turns"], own["zoomed"]) == (4, 1, 25)
    assert own["coverage"] == pytest.approx(2 * share, abs=0.6)


def test_dimensions_are_correlated_over_models(tmp_path: Path) -> None:
    rows = [choice(n, task, "A") for n, task in enumerate(["Signage", "Signage", "Distance", "Distance"])]
    rights = {"a": (0, 2), "b": (1, 1), "c": (2, 0), "d": (2, 0), "e": (0, 2)}  # of Signage and of Distance
    models = {}
    for name, (signs, far) in rights.items():
        (tmp_path / name).mkdir()
        models[name] = score(tmp_path / name, rows, {n: "A" if n % 2 < (signs, far)[n // 2] else "B" for n in range(4)})
    names, related = leaderboard(SCORE, models, {}).correlations
    assert names == ["Foundational Perception", "Spatial Awareness"]
    assert related == pytest.approx(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert leaderboard(SCORE, {k: models[k] for k in "abcd"}, {}).correlations[0] == ()


def test_what_the_paper_prints_is_beside_ones_own_with_verbose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = score(tmp_path, [geo(1), choice(2, "Signage", "A")], {1: reply(), 2: "A"})
    show_score(scored, SCORE, has_blind=False)
    short = capsys.readouterr().out
    assert "By setting, all metrics; GLS, beside the paper's models; accuracy" in " ".join(short.split())
    assert ("median error (km)" in short, "S_err" in short, "67.55" in short) == (True, False, False)
    monkeypatch.setattr(output_options, "verbose", True)
    show_score(scored, SCORE, has_blind=False)
    printed = capsys.readouterr().out
    assert "S_err" in printed
    assert "beside the paper's models" in printed
    assert "67.55" in printed
    assert "0.7793" in printed
    assert "66.45" not in printed, "Terrain was not asked"
