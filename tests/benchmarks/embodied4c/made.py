"""Rows in Embodied4C's columns, and the published table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Table 2 of the paper: per embodiment SEM, SPA, TEM, PHY, VLN and S_b; then E4C-S and GEN.
TABLE_2 = Path(__file__).with_name("table_2.txt")


def published() -> dict[str, list[float]]:
    """Model -> its row of table 2."""
    return {name: list(map(float, row)) for name, *row in map(str.split, TABLE_2.read_text().splitlines())}


def question(number: int, sub: str = "DT", answer: str = "12.5", **more: Any) -> dict[str, Any]:
    """A released row; numeric where ``value`` is not given as None."""
    row = {
        "question_id": number,
        "log": f"drives/{number % 3}",
        "domain": "driving",
        "capability": "SPA",
        "sub_capability": sub,
        "question": "How far away is the nearest car, in metres, between the nearest surfaces?",
        "answer": answer,
        "accepted": [],
        "value": None,
        "unit": None,
    }
    return row | more
