import hashlib
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.identity import ID_BITS, digest, question_ids, rng_for

# No separator (U+001F) in names: no reader lets a control character through.
names = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


def test_ids_are_pinned() -> None:
    """A change here gives every released question another id."""
    ids = question_ids("scannet/scene0251_00", "object_counting", "vsi/object_counting", [("table",), ("chair",)])
    assert ids == [1871423771790976, 5671227206436820]
    room = question_ids("arkitscenes/41069025", "room_size_estimation", "vsi/room_size_estimation", [()])
    assert room == [414742638994982]


def test_an_id_is_the_start_of_a_sha256_over_scene_task_template_and_operands() -> None:
    text = "\x1f".join(("s", "t", "vsi/t", "bed", "lamp"))
    first = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big") >> (256 - ID_BITS)
    assert question_ids("s", "t", "vsi/t", [("bed", "lamp")]) == [first]


@given(names, names, names, st.lists(st.lists(names, max_size=5), max_size=6))
def test_ids_are_exact_as_doubles(scene: str, task: str, template: str, operands: list[list[str]]) -> None:
    for number in question_ids(scene, task, template, operands):
        assert 0 <= number < 2**ID_BITS
        assert int(float(number)) == number


@given(st.lists(st.lists(names, max_size=4).map(tuple), unique=True, min_size=2, max_size=30))
def test_different_operands_have_different_ids(operands: list[tuple[str, ...]]) -> None:
    # No operand at all and one empty operand would be the same text; names are never empty.
    ids = question_ids("s", "t", "w", operands)
    assert len(set(ids)) == len(operands)
    assert ids == [question_ids("s", "t", "w", [one])[0] for one in operands]


def test_parts_do_not_run_together() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc")}) == 3
    assert question_ids("s", "t", "w", [("ab", "c")]) != question_ids("s", "t", "w", [("a", "bc")])
    assert question_ids("s", "t", "w", [("a",)]) != question_ids("s", "t", "wa", [()])


def test_no_two_of_many_ids_are_equal() -> None:
    operands = [(f"object {i}", f"object {j}") for i in range(1000) for j in range(100)]
    ids = {i for s in range(3) for i in question_ids(f"scene{s}", "t", "w", operands)}
    assert len(ids) == 3 * len(operands)


def test_draws_are_pinned() -> None:
    """A change here draws every option and letter again."""
    assert rng_for(42, "option_order").permutation(8).tolist() == [2, 1, 3, 0, 6, 4, 5, 7]
    assert rng_for("scannet/scene0251_00", "letters").integers(0, 1000, 5).tolist() == [971, 382, 664, 79, 942]


def test_draws_depend_on_the_identity_alone() -> None:
    first = rng_for(7, "choices").random(4)
    rng_for(8, "choices").random(1000)
    np.random.default_rng(0).random(10)
    assert (rng_for(7, "choices").random(4) == first).all()
    assert (rng_for(7, "letters").random(4) != first).any()
    assert (rng_for(8, "choices").random(4) != first).any()


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    code = (
        "from pipeline.core.identity import question_ids, rng_for;"
        "print(question_ids('s', 't', 'w', [('bed', 'lamp')]), rng_for('s', 3).integers(0, 10**6, 4).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1", "4242")
    }
    expected = f"{question_ids('s', 't', 'w', [('bed', 'lamp')])} {rng_for('s', 3).integers(0, 10**6, 4).tolist()}\n"
    assert outputs == {expected.encode()}
