"""That filtering leaves no more bias than it found, with panels of known accuracy; and says so where it does."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from pipeline.blind.attack import SCORES, score_column, stress_test
from pipeline.blind.features import encode, rows_of
from pipeline.blind.filtering import FILTERED, _check, _guessed, filtered, text_only
from pipeline.blind.items import BlindItem, folds_of
from pipeline.blind.priors import PRIORS
from pipeline.blind.rule import rule
from pipeline.blind.totals import TextOnly
from pipeline.core.errors import BiasError
from tests.blind.panel import (
    NAMES,
    directions,
    knowing,
    meaning,
    nearest_items,
    number_item,
    panel,
    question,
    questions_table,
    replies_table,
)

SKEWED = {"left": 93, "right": 95, "back": 30}


def summary(rows: Sequence[dict[str, Any]], *, orders: int = 3, **models: Any) -> TextOnly:
    questions = questions_table(rows)
    verdicts = rule(questions, replies_table(rows, orders, **models), panel(*models))
    table = filtered(questions, verdicts)
    assert table.schema.equals(FILTERED)
    (found,) = text_only(questions, table, None, verdicts)
    return found


def liking(favourite: str, share: float = 0.3) -> Any:
    """A model that knows some answers and else says its favourite."""

    def answer(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        return str(row["ground_truth"]) if rng.random() < share else meaning(favourite)(row, rng)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        (knowing(0.4), knowing(0.4), knowing(0.4)),
        (liking("right"), liking("right"), liking("right")),
        (liking("right", 0.5), liking("left", 0.5), knowing(0.5)),
    ],
)
def test_the_released_questions_are_no_easier_to_guess(a: Any, b: Any, c: Any) -> None:
    found = summary(directions(SKEWED), a=a, b=b, c=c)
    assert found.answered > 5
    assert abs(found.released.earned["most frequent"] - found.asked.earned["most frequent"]) < 0.07
    assert 40 < found.released.n == 218 - found.answered - found.balanced
    for name, score in found.asked.earned.items():
        assert found.released.earned[name] <= score + 0.01 + 2 * found.released.errors["forest"], name
    assert found.voters["a"].right_released < found.voters["a"].right


@pytest.mark.slow
def test_constants_change_nothing() -> None:
    """What made the medium directions 186, 61 and 60: voters that agree on a constant."""
    found = summary(directions(SKEWED), a=meaning("right"), b=meaning("right"), c=meaning("right"))
    assert {voter.standing for voter in found.voters.values()} == {"constant"}
    assert found.released == found.asked
    assert (found.answered, found.balanced, found.by_luck) == (0, 0, 0.0)


@pytest.mark.slow
def test_a_split_that_became_easier_to_guess_fails_and_names_task_and_figures() -> None:
    """A lamp is right in half the questions; a panel that knows just these leaves questions in which it never is."""
    rows = []
    for n in range(160):
        names = [f"lamp {n}", f"sofa {n}"] if n % 4 else [f"sofa {n}", f"lamp {n}"]
        rows.append(question(n, names, f"{'lamp' if n % 8 < 4 else 'sofa'} {n}", "made", f"a{n}/scene"))

    def knows_lamps(row: dict[str, Any], rng: np.random.Generator) -> str | None:
        return str(row["ground_truth"]) if row["answer"].startswith("lamp") else str(rng.choice(["A", "B"]))

    with pytest.raises(BiasError, match=r"made: forest 0\.\d+ -> forest \d\.\d+ ± .*blind.remove: none"):
        summary(rows, orders=1, a=knows_lamps, b=knows_lamps)


def test_without_a_panel_attackers_are_told_and_nothing_is_removed() -> None:
    questions = questions_table(directions({"left": 20, "right": 20, "back": 20}))
    table = filtered(questions, [])
    assert table["reason"].null_count == 60
    (found,) = text_only(questions, table, None, [])
    assert found.asked == found.released
    of_numbers = {"median", "by number", *(name for name in PRIORS if "usual" in name)}
    of_times = {"by time", "interpolated", "by clip", "clip interpolated"}
    of_options = {*PRIORS} - of_numbers - of_times - {"by many"}  # no time is told, and of each scene as much is asked
    assert set(found.asked.earned) == {*of_options, "by other questions", "forest"}
    assert found.voters == {}


REPOSITORY: Final = Path(__file__).resolve().parents[2]
TOLD: Final = "from tests.blind.test_filtering import told; print(told())"
NO_AVX512: Final = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4"
PROCESSORS: Final = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": NO_AVX512},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": f"{NO_AVX512} AVX2 FMA3 X86_V3"},
}


def distance_items(n: int) -> list[BlindItem]:
    """Distances of 0.2 to 9.9 m between two of nine things, two questions a scene."""
    return [
        number_item(
            id, 0.2 + id * 61 % 98 / 10, (NAMES[id % 5], NAMES[5 + id % 3]), f"scene{id // 2}", "object_abs_distance"
        )
        for id in range(n)
    ]


def told() -> str:
    """Digest of what forests say of made questions, with numbers and with options, and of the features they grow on."""
    digest = hashlib.sha256()
    for items in (distance_items(400), nearest_items(120, shortcut=False)):
        fold = folds_of([item.group for item in items])
        scores = stress_test(items, fold)
        digest.update(scores.bias.tobytes() + scores.earned.tobytes() + encode(rows_of(items), fold, 0).tobytes())
    return digest.hexdigest()


@pytest.mark.long
def test_forests_see_and_say_the_same_on_three_kinds_of_processors() -> None:
    here = told()
    for name, features in PROCESSORS.items():
        # numpy warns of features that this machine does not have either.
        environment = os.environ | features | {"PYTHONWARNINGS": "ignore", "PYTHONPATH": str(REPOSITORY)}
        run = subprocess.run(
            [sys.executable, "-c", TOLD], cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True
        )
        assert run.stdout.split()[-1] == here, name


def test_logarithms_are_rounded_before_trees_split_by_them() -> None:
    target = rows_of(distance_items(50)).target
    assert target.round(9).tolist() == target.tolist()
    assert len(set(target.tolist())) > 20


def test_figures_of_a_sampled_model_are_those_of_what_it_was_asked() -> None:
    rows = directions({"left": 20, "right": 20, "back": 20})
    questions, config = questions_table(rows), panel(embedded="small")
    few = [row for row in rows if row["id"] % 4 == 0]
    verdicts = rule(questions, replies_table(few, small=lambda row, rng: str(row["ground_truth"])), config)
    (found,) = text_only(questions, filtered(questions, verdicts), None, verdicts)
    small = found.voters["small"]
    assert (small.asked, small.right, small.right_released) == (15, 1.0, 1.0)
    assert small.luck == pytest.approx(1 / 3, abs=0.05)
    assert found.asked == found.released
    of_others = rule(questions, replies_table([question(99, None, "3", "count")], small=knowing(0.0)), config)
    (unasked,) = text_only(questions, filtered(questions, of_others), None, of_others)
    assert unasked.voters == {}


def test_chance_by_frequency_is_the_best_constant_of_numbers_and_the_commonest_of_all_else() -> None:
    """4 for 4, 4 and 5 earns 1, 1 and 0.7; of three answers in words or letters two are alike."""

    def frequency(rows: list[dict[str, Any]]) -> float | None:
        asked = questions_table(rows)
        scores = score_column(dict.fromkeys(SCORES.names, np.array([1.0, 0.0, 0.5])), np.ones(3, dtype=bool))
        table = pa.table({"id": asked["id"], "score": scores})
        found = _guessed(table, "score", asked)
        return found and found.frequency

    numbers = [question(n, None, text, "object_counting") for n, text in enumerate(("4", "4", "5"))]
    assert frequency(numbers) == pytest.approx(0.9)
    written = [question(n, ["4", "5"], text) for n, text in enumerate(("4", "4", "5"))]
    assert frequency(written) == pytest.approx(2 / 3), "they are chosen"
    assert frequency([question(n, ["left", "right"], "left") for n in range(3)]) == 1.0


def test_numbers_are_also_attacked_among_their_choices() -> None:
    """Of four numbers the third is always right: without choices nobody knows; what a panel removed is not in it."""
    rows = [
        question(n, None, str(n % 7 + 3), "object_counting")
        | {"choices": [str(n % 7 + at) for at in (1, 2, 3, 4)], "choice": "C"}
        for n in range(40)
    ]
    removed = np.arange(40) < 12
    questions = questions_table([*rows, *(question(n, ["left", "right"], "left") for n in (40, 41, 42))])
    verdicts = rule(
        questions,
        replies_table(rows, 1, **dict.fromkeys("ab", lambda row, rng: row["ground_truth"] if row["id"] < 12 else "99")),
        panel("a", "b"),
    )
    table = filtered(questions, verdicts)
    among = table["choices"].is_valid().to_numpy()
    assert among.tolist() == [*(~removed).tolist(), False, False, False]
    numbers, options = text_only(questions, table, None, verdicts)
    assert (numbers.choices.n, numbers.choices.chance, numbers.choices.frequency) == (28, 0.25, 1.0)
    assert (numbers.choices.earned["by letter"], numbers.choices.errors["by letter"]) == (1.0, 0.0)
    assert numbers.released.earned["forest"] < 0.5
    assert options.choices is None


def easier(was: dict[str, list[float]], now: dict[str, list[float]], *, groups: bool = False) -> str:
    """What is said of twenty questions, two a scene, of which the first few stay."""
    n, stay = len(was["forest"]), len(now["forest"])
    rows = [question(i, ["a", "b"], "a", "t", f"d/s{i // 2}") | {"group": str(i) if groups else None} for i in range(n)]
    nothing, mine = np.full(n, np.nan), np.arange(n) < stay
    before, after = (
        {name: np.array(scores.get(name, nothing[: len(scores["forest"])])) for name in SCORES.names}
        for scores in (was, now)
    )
    columns = {"id": pa.array(range(n)), "task": ["t"] * n}
    columns |= {"asked": score_column(before, np.ones(n, dtype=bool)), "left": score_column(after, mine)}
    try:
        _check(pa.table(columns), questions_table(rows))
    except BiasError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("was", "now", "stay", "groups", "said"),
    [
        ([0.5] * 20, 0.509, 10, False, False),  # a hundredth more is none
        ([0.5] * 20, 0.511, 10, False, True),
        ([0.5] * 20, 0.9, 9, False, False),  # nine tell nothing
        ([0.5] * 20, 0.9, 20, False, False),  # none was removed
        ([0.0, 0, 1, 1] * 5, 0.842, 10, False, False),  # 0.5 with an error of √(10 · 10 / 9) / 20, twice
        ([0.0, 0, 1, 1] * 5, 0.844, 10, False, True),
        ([0.0, 0, 1, 1] * 5, 0.738, 10, True, False),  # √(5 · 20 / 19) / 20, where each is of a group of its own
        ([0.0, 0, 1, 1] * 5, 0.740, 10, True, True),
    ],
)
def test_what_is_easier_to_guess_by_hand(was: list[float], now: float, stay: int, groups: bool, said: bool) -> None:
    found = easier({"forest": was}, {"forest": [now] * stay}, groups=groups)
    assert found.startswith("blind filtering made what is left easier") == said


def test_the_best_attacker_after_is_compared_with_the_best_one_before() -> None:
    was = {"forest": [0.5] * 20, "by letter": [0.6] * 20, "by text": [0.4] * 20, "by words": [0.9] * 19 + [np.nan]}
    for after, said in ((0.609, False), (0.62, True)):
        now = {"forest": [0.5] * 12, "by letter": [0.5] * 12, "by text": [after] * 12, "by words": [0.9] * 12}
        assert ("t: by letter 0.600 -> by text 0.620 ± 0.000." in easier(was, now)) == said
