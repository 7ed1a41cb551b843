"""What is guessed without the video follows from the questions, not from what the machine's processor can do.

numpy and OpenBLAS choose their code by the processor, and logarithms differ in the last bit between those choices. The
variables below make this machine choose as older ones would.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from pipeline.blind.features import encode, rows_of
from pipeline.blind.items import BlindItem, folds_of
from pipeline.blind.stress_test import stress_test
from tests.blind.made import NAMES, nearest_items, number_item

REPOSITORY: Final = Path(__file__).resolve().parents[2]
TOLD: Final = "from tests.blind.test_processors import told; print(told())"
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


@pytest.mark.slow
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
