"""Panoramas of which a question would name what the views do not show so: each is refused, and for that reason."""

from typing import Any

import pytest

from pipeline.worlds.panorama.facts import PanoramaObject, PanoramaScene, SphereCrop
from tests.benchmarks.ergeobench.made import PICTURE, scene, seen, tables

YAW, CELL, DEPTH, NEARER = "Yaw Estimation", "2D Positioning", "Depth Estimation", "Distance"
SIDE, BACK, TURNS, NEED, TWO = "Left/Right Relative", "Front/Back Relative", "Cross View", "Single-View", "Dual-View"
TREE = {"slot": "Vegetation"}
A, B = seen("a", 0.0), seen("b", 30.0, "tree", **TREE)


def place(key: str, yaw_deg: float, kind: str | None, label: str = "shop front", **more: Any) -> PanoramaObject:
    return seen(key, yaw_deg, label, kind=kind, **{"slot": "Architecture"} | more)


def sphere(*objects: PanoramaObject, **more: Any) -> PanoramaScene:
    """With a statue behind the camera."""
    return scene(*objects, seen("z", 178.0, "statue", slot="Architecture"), **more)


BANK, BOOKS = place("a", 0.0, "bank", "bank"), place("b", 30.0, "books", "bookshop")
CROP = SphereCrop(full_width=4096, full_height=2048, left=1024, top=0)
HALF = sphere(A, B, picture=PICTURE.model_copy(update={"width": 2048, "crop": CROP}))
ROUND = [seen(f"p{n}", 60.0 * n, "palm", **TREE) for n in range(6)]
UNLOGGED, SMALL, HIDDEN = ("label_not_complete", 0, 1), ("too_small_to_tell", 2.4, 2.5), ("occluded", 0.5, 0.6)
ALONE, DOUBT, TURNED = ("no_view_shows_it_alone", 0, 1), ("object_in_doubt", 1, 0), ("another_of_its_label", 2, 1)
# What is planted: a panorama, a task that would ask of it, the object or words, the reason, its measured value and
# limit.
PLANTED: dict[str, tuple[PanoramaScene, str, str, tuple[Any, ...]]] = {
    "a fountain where there may be more": (sphere(A, B, complete=("tree",)), YAW, "a", UNLOGGED),
    "a side of it": (sphere(A, B, complete=("fountain",)), SIDE, "b", UNLOGGED),
    "behind me": (sphere(A, B, complete=()), BACK, "a", UNLOGGED),
    "the nearer of two that may be three": (
        sphere(A, seen("c", 30, distance_m=30.0), complete=()), NEARER, "a", UNLOGGED,
    ),
    "a view shows none of some that are known": (sphere(A, B, complete=()), "Infrastructure", "a", UNLOGGED),
    "a second one in every view": (sphere(A, seen("c", 12.0)), YAW, "a", ALONE),
    "a second one in every view that is in doubt": (sphere(A, seen("c", 12.0, doubt="moves")), YAW, "a", ALONE),
    "a second one above it": (sphere(A, seen("c", 0.0, pitch_low_deg=20.0, pitch_high_deg=28.0)), CELL, "a", ALONE),
    "a palm beside the tree": (sphere(B, seen("c", 33.0, "palm tree", **TREE)), YAW, "b", ALONE),
    "a van beside the vans": (sphere(seen("a", 0, "van"), seen("c", 9.0, "vans")), CELL, "a", ALONE),
    "a dustbin beside the waste bin": (sphere(seen("a", 0, "waste bin"), seen("c", 9.0, "dustbin")), TURNS, "a", ALONE),
    "a palm tree behind, the tree ahead": (sphere(B, seen("c", 150.0, "palm tree", **TREE)), BACK, "b", TURNED),
    "a Tree is left of the tree": (sphere(B, seen("c", 15.0, "Tree", **TREE), A), SIDE, "b", ALONE),
    "no tree in a view of palm trees": (
        sphere(*(o.model_copy(update={"label": "palm tree"}) for o in ROUND), seen("t", 5.0, "tree", **TREE)),
        "Vegetation", "tree", ("always_in_view", 0, 1),
    ),
    "a second one in the middle": (
        sphere(A, seen("c", 15.0, distance_m=5.0)), DEPTH, "a", ("another_of_its_label", 11.25, 15),
    ),
    "a fountain behind a truck": (sphere(seen("a", 0, visible_share=0.5), B), YAW, "a", HIDDEN),
    "how far a hidden one is": (sphere(seen("a", 0, visible_share=0.5), B), DEPTH, "a", HIDDEN),
    "a fountain of 17 pixels": (sphere(seen("a", 0, width_deg=2.4), B), YAW, "a", SMALL),
    "a fountain of 17 rows": (sphere(seen("a", 0, pitch_low_deg=0.0, pitch_high_deg=2.4), B), SIDE, "a", SMALL),
    "a name of small letters": (
        sphere(place("a", 0, "bank", name="Societe de Banque", width_deg=8.0), BOOKS), NEED, "a",
        ("letters_too_small", 8 / 17, 0.7),
    ),
    "what nobody is sure of": (sphere(seen("a", 0, doubt="moves"), B), YAW, "a", DOUBT),
    "how far, where it is not known": (
        sphere(seen("a", 0, distance_m=None), A.model_copy(update={"id": "c", "yaw_deg": 90.0})), DEPTH, "a",
        ("distance_unknown", None, 0),
    ),
    "how far at a border": (sphere(seen("a", 0, distance_m=11.0), B), DEPTH, "a", ("near_a_depth_border", 0.1, 0.15)),
    "which of two as far": (
        sphere(A, seen("c", 30, distance_m=18.0)), NEARER, "a", ("distances_too_similar", 1.2, 1.35),
    ),
    "which of two that overlap": (
        sphere(A, seen("c", 10, distance_m=30.0)), NEARER, "a", ("side_by_side_too_close", 2, 4),
    ),
    "left of what it overlaps": (
        sphere(A, seen("b", 9.0, "tree", **TREE)), SIDE, "a", ("side_by_side_too_close", 1, 4),
    ),
    "across the edges of the panorama": (sphere(seen("a", -179.0), B), BACK, "a", ("across_the_seam", -3, 3)),
    "the bank of two banks": (
        sphere(BANK, BOOKS, place("c", 12.0, "atm", "cash machine")), NEED, "a", ("two_serve_the_need", 1, 0),
    ),
    "a bank where there may be more": (
        sphere(BANK, BOOKS, complete=("bookshop",)), NEED, "a", ("others_not_logged", 0, 1),
    ),
    "a shop of unknown sort beside the bank": (
        sphere(BANK, BOOKS, place("c", 14.0, None, "shop")), NEED, "a", ("two_serve_the_need", 1, 0),
    ),
    "the same in two views": (
        sphere(BANK, BOOKS, place("c", -12.0, None, "store front")), TWO, "a", ("two_serve_the_need", 1, 0),
    ),
    "a bank behind a bus": (
        sphere(place("a", 0, "bank", visible_share=0.7), BOOKS), NEED, "a", ("occluded", 0.7, 0.75),
    ),
    "what the picture does not hold": (HALF, "Infrastructure", "p1", ("not_all_around", 180, 360)),
    "a part of the picture that is black": (HALF, TURNS, "p1", ("not_all_around", 180, 360)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_question_that_the_views_do_not_bear_is_refused_for_that(name: str) -> None:
    panorama, task, about, reason = PLANTED[name]
    (found,) = tables(panorama, None, [task])
    rows = [row for row in found.to_pylist() if about in row["operands"]]
    assert not [row for row in rows if row["reason"] is None]
    assert reason in [(row["reason"], pytest.approx(row["measured"], abs=1e-6), row["limit"]) for row in rows]
