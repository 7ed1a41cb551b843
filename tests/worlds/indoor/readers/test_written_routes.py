"""Routes that people wrote, from a file of theirs."""

from __future__ import annotations

from pathlib import Path

from pipeline.worlds.indoor.readers.written_routes import read_written_routes


def test_a_line_that_is_no_route_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "routes.jsonl"
    steps = '["Go forward until the sofa", "Turn left", "Go forward until the lamp"]'
    whole = f'{{"scene": "r/1", "start": "bed", "facing": "sofa", "steps": {steps}, "destination": "lamp"}}'
    path.write_text(f'{whole}\n{{"scene": "r/2", "start": "bed"}}\n')
    routes, broken = read_written_routes(path)
    assert list(routes) == ["r/1"]
    assert [(one.finding, one.scene) for one in broken] == [("bad_route", "(line 2)")]
