"""What each test costs, and the promise behind ``make test-fast``: a test that takes long says so by the mark `slow`.

Measured are seconds of the processors, of the test's process and of the processes that it started and waited for, so
that whatever else the machine does counts for little. The first test that needs a shared fixture pays for its making.
"""

import math
import os
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.environment import LONG, REAL_DATA, pace

SLOW_S: Final = 0.5  # a test that takes longer is marked `slow`
FAST_TOTAL_S: Final = 120.0  # all unmarked tests together: under two minutes of two idle cores
# From here a test, or a whole run, fails. In between lies what machines differ in, and a crowded one from an idle one.
REFUSED_S: Final = math.inf if LONG else 12 * SLOW_S
REFUSED_TOTAL_S: Final = 5 * FAST_TOTAL_S
SLOW_FIXTURES: Final = frozenset(
    {"samples", "flights", "official", "reference_pages"}
)  # dear to make: whoever needs one is slow
SHOWN: Final = 10
# A file's tests stay in one process: the dearest files begin first, or the other processes would wait for them. The
# first three write the samples and the flights, which others need, and start the real command.
DEAREST: Final = (
    *("test_frames_oracle", "test_cli", "test_planted_flights", "test_builder", "test_browser", "test_vln"),
    *("test_converters", "test_tasks", "test_blind_stages", "test_oracles", "test_kill", "test_planted_truth"),
    *("test_cluster", "test_harness", "test_faults", "test_reference", "test_shown", "test_captures"),
    *("test_release", "test_corpus", "test_flights", "test_motions", "test_embedded", "test_llama_server"),
    *("test_scene_folders", "test_packaging", "test_look", "test_suite", "test_prune", "test_review"),
    *("test_adapters", "test_annotations", "test_vsi_meta", "test_clips", "test_label", "test_areas"),
    *("test_selection", "test_view", "test_projection", "test_comparison", "test_views", "test_visibility"),
    *("test_revsi", "test_with_second", "test_candidates", "test_choices", "test_stop", "test_code"),
    *("test_small_flights", "test_audit", "test_author", "test_gallery", "test_fixes", "test_examples"),
    *("test_kept", "test_figures", "test_example_package", "test_read_once", "test_play", "test_boxes"),
    *("test_damage", "test_drawings", "test_documented_commands", "test_lease", "test_movements", "test_faulty_cities"),
)

_spent_s: dict[str, float] = {}  # test -> seconds so far
_is_slow: dict[str, bool] = {}


def cpu_s() -> float:
    """Processor seconds of this process and of those it has waited for."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def complaint(spent_s: float, slow: bool) -> str | None:
    """What is wrong with a test that took so long, if anything is."""
    if slow or spent_s <= REFUSED_S * pace():
        return None
    return (
        f"this test took {spent_s:.1f} s of the processor, and one above {SLOW_S:g} s is `slow`: make it cheaper, or"
        " mark it and all others that share its fixtures with @pytest.mark.slow"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not LONG:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: DEAREST.index(name) if (name := item.path.stem) in DEAREST else len(DEAREST))
    for item in items:
        if item.get_closest_marker("real_data"):
            item.user_properties.append(("real_data", True))  # .ci/run looks
            if not REAL_DATA.is_dir():
                item.add_marker(pytest.mark.skip(f"{REAL_DATA} is absent: set SCAN2QA_REAL_DATA"))
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)
        if not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    before = cpu_s()
    result = yield
    item.stash[_SETUP] = cpu_s() - before
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = cpu_s()
    try:
        result = yield
    finally:
        spent_s = item.stash.get(_SETUP, 0.0) + cpu_s() - before
        slow = item.get_closest_marker("slow") is not None
        item.user_properties += [("cpu_s", round(spent_s, 2)), ("slow", slow)]
    if (said := complaint(spent_s, slow)) is not None:
        pytest.fail(said, pytrace=False)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        told: dict[str, Any] = dict(report.user_properties)
        _spent_s[report.nodeid] = told["cpu_s"]
        _is_slow[report.nodeid] = told["slow"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    fast_s = _fast_s()
    if sum(_spent_s.values()) < SLOW_S:
        return
    terminalreporter.section("processor seconds")
    for node in sorted(_spent_s, key=_spent_s.__getitem__, reverse=True)[:SHOWN]:
        terminalreporter.line(f"{_spent_s[node]:7.1f} {'slow' if _is_slow[node] else 'fast'}  {node}")
    total_s = sum(_spent_s.values())
    terminalreporter.line(f"{total_s:7.1f} all; {fast_s:.1f} of them not marked slow (meant: {FAST_TOTAL_S:g})")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Too many tests of a second each are too much as well."""
    if _fast_s() > REFUSED_TOTAL_S * pace() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _fast_s() -> float:
    return sum(spent for node, spent in _spent_s.items() if not _is_slow[node])


_SETUP = pytest.StashKey[float]()
