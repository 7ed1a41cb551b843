"""A sample of `python -m tests.torture`: whatever a file holds costs its own scene at most, and is said in words."""

from __future__ import annotations

import pytest

from tests.torture import torture


@pytest.mark.slow
def test_hostile_inputs_cost_nothing_but_themselves() -> None:
    table = torture(sample=1, apart_from=("model server",))
    assert {name: row.worst for name, row in table.items() if row.faults} == {}
    assert sum(row.tried for row in table.values()) > 35
