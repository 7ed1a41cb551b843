"""Which names give away what a shop is."""

from __future__ import annotations

import pytest

from pipeline.benchmarks.cityeqa.view import telling_words


@pytest.mark.parametrize(
    ("name", "sort", "told"),
    [
        ("Pharmacie Ferry", "pharmacy", 1),
        ("Hôtel Ambassador", "hotel", 1),
        ("La Poste", "post office", 1),
        ("Pizza&co", "restaurant", 1),
        ("GOLDEN CRUST", "bakery", 0),
        ("PAGE ONE", "bookshop", 0),
        ("Le barbagiuan", "bar", 0),
        ("Shopville", "gift shop", 0),
    ],
)
def test_words_that_tell(name: str, sort: str, told: int) -> None:
    assert telling_words(name, sort) == told
