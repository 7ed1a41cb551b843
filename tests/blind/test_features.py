from dataclasses import replace
from decimal import Decimal
from statistics import fmean

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from pipeline.blind import forest
from pipeline.blind.features import TaskRows, encode, rows_of
from pipeline.blind.items import BlindItem, folds_of, make_item
from pipeline.blind.shortcut_attackers import _mentioned_in_question, elsewhere, ranks
from tests.blind.panel import nearest_item, nearest_items, number_item, size_items

KINDS = {"options": nearest_items(60, shortcut=False), "numbers": size_items(60, spread=0.5)}


def relabelled(items: list[BlindItem], chosen: np.ndarray) -> list[BlindItem]:
    """The same questions, those chosen with other answers."""
    return [
        item
        if not other
        else replace(item, right=(item.right + 1) % len(item.options))
        if item.right is not None
        else replace(item, number=Decimal(item.number or 0) * 3 + 1)
        for item, other in zip(items, chosen, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", range(5))
def test_answers_of_the_test_fold_change_no_feature(kind: str, test: int) -> None:
    items = KINDS[kind]
    fold = folds_of([item.group for item in items])
    before = encode(rows_of(items), fold, test)
    after = encode(rows_of(relabelled(items, fold == test)), fold, test)
    assert before.tobytes() == after.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_the_own_fold_change_no_feature_of_a_training_question(kind: str) -> None:
    items = KINDS[kind]
    fold = folds_of([item.group for item in items])
    rows, changed = rows_of(items), rows_of(relabelled(items, fold == 1))
    mine = fold[rows.question] == 1
    before, after = encode(rows, fold, 0), encode(changed, fold, 0)
    assert before[mine].tobytes() == after[mine].tobytes()
    assert before[~mine].tobytes() != after[~mine].tobytes(), "the other folds learn from it"


def test_a_key_is_the_share_and_the_smoothed_mean_of_other_folds() -> None:
    fold = np.array([0, 1, 1, 2, 2])
    lamp = [nearest_item(id, "bed", ["lamp", "sofa", "tv", "door"], "lamp") for id in range(4)]
    items = [*lamp, nearest_item(4, "bed", ["lamp", "sofa", "tv", "door"], "tv")]
    features = encode(rows_of(items), fold, test=0)[:, 10:12]  # after the ten plain columns: the option alone
    # Either training fold offers the lamp twice among 8 options; it is right twice in fold 1 and once in fold 2.
    share, in_one, in_two = np.log(3 / 9), 1.5 / (2 + 2), 0.5 / (2 + 2)
    assert features[4] == pytest.approx([share, in_two]), "a row of fold 1 knows fold 2"
    assert features[12] == pytest.approx([share, in_one])
    assert features[0] == pytest.approx([share, (in_one + in_two) / 2]), "the test row knows both, one at a time"


def plain_encoding(rows: TaskRows, fold: np.ndarray, test: int) -> list[list[float]]:
    """As `encode`, one row after the other: `_` is a training fold, whose own answers its rows do not see."""
    own, target = fold[rows.question].tolist(), rows.target.tolist()
    training = [n for n in sorted(set(own)) if n != test]

    def of_key(kind: list[list[int]], key: int, left_out: int) -> list[float]:
        known = [n for n in range(len(own)) if own[n] not in (test, left_out)]
        here = [target[n] for n in known for code in kind[n] if code == key]
        every = [target[n] for n in known] or [0.0]
        center = 0.0 if rows.choice else fmean(every)
        spread = 0.0 if rows.choice else fmean((one - center) ** 2 for one in every)
        mean = (sum(here) + 2 * center) / (len(here) + 2)
        square = (sum(one * one for one in here) + 2 * (spread + center**2)) / (len(here) + 2)
        found = [np.log((len(here) + 1) / (len(known) + 1)), mean]
        return found if rows.choice else [*found, max(square - mean**2, 0.0) ** 0.5]

    encoded = []
    for n, plain in enumerate(rows.answer_free.tolist()):
        columns = list(plain)
        for codes in rows.keys:
            kind = codes.tolist()
            unseen = training if own[n] == test else [own[n]]
            told = [of_key(kind, key, left_out) for left_out in unseen for key in kind[n] if key >= 0]
            columns += [fmean(column) for column in zip(*told, strict=True)] or [0.0] * (2 if rows.choice else 3)
        encoded.append(columns)
    if not rows.choice:
        return encoded
    beside = [[m for m, q in enumerate(rows.question) if q == question] for question in rows.question]
    return [
        [*own, *(one - fmean(encoded[m][column] for m in beside[n]) for column, one in enumerate(own))]
        for n, own in enumerate(encoded)
    ]


def of_three_kinds() -> list[BlindItem]:
    """Options of different number, of a wording that no template has: names, words and pairs of words."""
    words, random = ["red sofa", "sofa", "tall lamp", "tv, lamp", "lamp, tv", "door"], np.random.default_rng(4)
    items = []
    for n in range(14):
        options = random.permutation(words)[: 2 + n % 3].tolist()
        text = f"Is it {'1. by 2. near' if n % 4 else 'by'} the {'bed' if n % 2 else 'big bed'}?"
        item = make_item(n, "t", f"s{n}", text, options, "ABCD"[int(random.integers(len(options)))])
        item.__dict__["names"] = {"a": "bed", "b": "tv"} if n % 3 else {"a": "rug"}
        items.append(item)
    return items


@pytest.mark.parametrize("test", [0, 2, 3])
@pytest.mark.parametrize("kind", ["options", "numbers"])
def test_keys_are_encoded_as_in_plain_python(kind: str, test: int) -> None:
    items = of_three_kinds() if kind == "options" else [
        number_item(n, 3 + n * n % 17, names, task="object_abs_distance")
        for n, names in enumerate([("bed", "tv"), ("tv", "sofa"), ("sofa", "bed"), ("door", "bed"), ("lamp", "tv")] * 3)
    ]  # fmt: skip
    rows, fold = rows_of(items), np.array([0, 1, 3, 1, 2, 3, 0, 1, 2, 3, 3, 1, 0, 2, 2][: len(items)])
    assert len(rows.keys) > 1
    np.testing.assert_allclose(encode(rows, fold, test), plain_encoding(rows, fold, test), atol=1e-8)


def test_keys_of_an_option_by_hand() -> None:
    """An option beside the name, in either role with it, and against each other option."""
    one = make_item(0, "object_rel_distance", "s", "Which?", ["lamp", "tv"], "A")
    other = make_item(1, "object_rel_distance", "s", "Which?", ["bed", "lamp"], "A")
    for item, name in ((one, "bed"), (other, "tv")):
        item.__dict__.update(fields={}, names={"primary": name})
    alone, with_name, either, against, named_against, *rest = (codes.tolist() for codes in rows_of([one, other]).keys)
    lamp, tv, bed, lamp_again = range(4)
    assert rest == []
    assert alone[lamp] == alone[lamp_again]
    assert len({*map(tuple, alone)}) == 3
    assert len({*map(tuple, with_name)}) == 4, "a lamp beside a bed and beside a tv"
    assert either[tv] == either[bed] != either[lamp]
    assert [len(row) for row in against] == [1] * 4
    assert len({*map(tuple, against)}) == 4
    assert len({*map(tuple, named_against)}) == 4
    order = make_item(0, "obj_appearance_order", "s", "In what order?", ["bed, sofa, tv", "tv, sofa, bed"], "A")
    *_, places, first, before, words = (codes.tolist() for codes in rows_of([order]).keys)
    assert places == [[0, 1, 2], [3, 1, 4]], "the sofa is the second of both"
    assert first == [[0], [1]]
    assert before == [[0, 1, 2], [3, 4, 5]]
    assert words == [[0, 1, 2], [0, 1, 2]]


def test_numbers_of_an_option_by_hand() -> None:
    """Its place and length, of how many parts, how alike, whether as listed, how far moved, its rank, and the text."""
    text = "1. Go forward. 2. Turn. Which one is it?"
    item = make_item(0, "t", "s", text, ["12", "7", "7.5", "-3"], "B")
    item.__dict__["fields"] = {"what": ("7",)}
    assert rows_of([item]).answer_free.tolist() == [
        [0, 2, 1, 0, 0, 0, 3, 4, 9, 2],
        [1, 1, 1, 0, 1, 0, 1, 4, 9, 2],
        [2, 3, 1, 0, 0, 0, 2, 4, 9, 2],
        [3, 2, 1, 0, 0, 0, 0, 4, 9, 2],
    ]
    assert rows_of([item]).target.tolist() == [-0.25, 0.75, -0.25, -0.25]
    orders = make_item(0, "t", "s", "Which?", ["a, b, c", "c, b, a", "b, a, c"], "C")
    orders.__dict__["fields"] = {"what": ("b", "a", "c")}
    assert rows_of([orders]).answer_free.tolist() == [
        [0, 7, 3, 2 / 6, 0, 2, 0, 3, 1, 0],
        [1, 7, 3, 1 / 6, 0, 4, 0, 3, 1, 0],
        [2, 7, 3, 1 / 6, 1, 0, 0, 3, 1, 0],
    ]
    number = number_item(0, 7, ["bed"])
    assert rows_of([number]).answer_free.tolist() == [[len(number.text.split()), 0]]
    assert rows_of([number]).target == pytest.approx([np.log(350 + np.sqrt(350**2 + 1))])


def test_rows_of_some_questions_are_counted_anew() -> None:
    rows = rows_of(of_three_kinds())
    some = rows.of(np.array([1, 4, 13]))
    mine = np.isin(rows.question, [1, 4, 13])
    assert some.question.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert some.target.tolist() == rows.target[mine].tolist()
    assert some.answer_free.tolist() == rows.answer_free[mine].tolist()
    assert [codes.tolist() for codes in some.keys] == [codes[mine].tolist() for codes in rows.keys]
    assert rows.of(np.array([], dtype=int)).question.tolist() == []


def test_a_name_never_seen_has_the_mean_of_all() -> None:
    items = [number_item(id, 10, ["bed"]) for id in range(4)] + [number_item(4, 99, ["sofa"])]
    features = encode(rows_of(items), np.array([0, 0, 2, 2, 1]), test=1)
    assert features[4, 2:] == pytest.approx([np.log(1 / 3), np.arcsinh(500), 0], abs=1e-6)


def test_test_rows_are_of_the_size_of_training_rows() -> None:
    """Ten categories, equally often in every fold: nothing but the answers may differ between folds."""
    items = [number_item(id, 10 + id % 10, [f"thing {id % 10}"]) for id in range(100)]
    fold = np.arange(100) // 10 % 5
    features = encode(rows_of(items), fold, test=3)
    assert features[fold == 3] == pytest.approx(features[fold == 2])


def test_both_orders_of_two_names_are_one_pair() -> None:
    ends = [("bed", "sofa"), ("sofa", "bed"), ("tv", "bed")]
    items = [number_item(id, 1, pair, task="object_abs_distance") for id, pair in enumerate(ends)]
    _, pair = rows_of(items).keys
    assert pair[0] == pair[1] != pair[2]


def test_letters_and_the_order_of_questions_make_no_difference_but_the_place() -> None:
    options = ["lamp", "sofa", "tv", "door"]
    one, turned = (nearest_item(0, "bed", o, "lamp") for o in (options, [*options[1:], "lamp"]))
    rows = [rows_of([item]) for item in (one, turned)]
    assert rows[0].answer_free[0, 1:5].tolist() == rows[1].answer_free[3, 1:5].tolist()
    assert (rows[0].answer_free[0, 0], rows[1].answer_free[3, 0]) == (0, 3)


def test_an_option_like_the_others_is_told_from_the_odd_one_out() -> None:
    orders = ["bed, sofa, tv", "bed, tv, sofa", "sofa, bed, tv", "bed, sofa, door"]
    text = "What will be the first-time appearance order of the following categories in the video: bed, sofa, tv?"
    item = make_item(0, "obj_appearance_order", "s", text, orders, "A")
    assert rows_of([item]).answer_free[:, 3] == pytest.approx([4 / 9, 2 / 9, 1 / 9, 3 / 9])
    assert rows_of([item]).answer_free[:, 4].tolist() == [1, 0, 0, 0], "the order in which the question lists them"
    assert rows_of([item]).answer_free[:, 5].tolist() == [0, 2, 2, 0], "places by which things are moved from there"


@pytest.mark.parametrize("tried", [2, 7])
@pytest.mark.parametrize("most_rows", [8_000, 150])
def test_trees_are_those_of_the_library(tried: int, most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_ROWS", most_rows)
    random = np.random.default_rng(3)
    features, target = random.random((200, 7)).round(2), random.random(200)
    trees = forest._grown(features, target, tried, 11)

    drawer = np.random.RandomState(11)
    for tree in trees:
        rows = np.arange(200) if most_rows >= 200 else np.sort(drawer.permutation(200)[:most_rows])
        known = ExtraTreeRegressor(min_samples_leaf=forest.MIN_LEAF, max_features=tried, random_state=drawer)
        known.fit(features[rows].astype(np.float32), target[rows])
        assert known.tree_.node_count == tree.node_count
        assert known.tree_.__getstate__()["nodes"].tobytes() == tree.__getstate__()["nodes"].tobytes()
        assert known.tree_.value.tobytes() == tree.value.tobytes()
    assert sum(tree.node_count for tree in trees) > 10 * len(trees)


def test_a_rank_is_the_number_of_greater_values() -> None:
    assert ranks([0.5, 0.1, 0.5, 0.3, 0.1 + 1e-12]) == (0, 3, 0, 2, 3)


def test_what_follows_a_step_that_no_option_repeats_is_told_from_other_options() -> None:
    """Half of the words will do: "turn right" repeats "turn left", and so "land" follows no missing step."""
    options = ["turn right", "land here now"]
    item = make_item(0, "t", "s", "What comes next in this list: go up; turn left; land?", options, "A")
    assert [follows for _, follows in _mentioned_in_question(item)] == [True, False]


def test_what_other_questions_say_right_after_what_is_asked_about_is_known() -> None:
    item = make_item(0, "t", "s", "What comes after going up?", ["turn left", "land"], "A")
    item = replace(item, company=((9, ("go up, then turn left, then land",)),))
    assert [after for _, after, _ in elsewhere(item)] == [0, 1]
