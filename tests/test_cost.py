"""The promise behind `make test-fast` is kept: what takes long and does not say so fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cost import REFUSED_S, complaint
from tests.environment import pace

REPOSITORY = Path(__file__).resolve().parents[1]
RUN = """
import sys, pytest
sys.exit(pytest.main([*sys.argv[1:], "-p", "tests.cost", "-p", "xdist", "-p", "no:cacheprovider", "-q", "-rA"]))
"""
TESTS = """
import subprocess, sys, time
import pytest
from tests import cost

cost.REFUSED_S, cost.REFUSED_TOTAL_S = 0.06, 0.5  # a hundredth, so that nothing need burn for seconds
cost.pace = lambda: 1.0

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

@pytest.fixture(scope="module")
def dear():
    burn(0.3)

@pytest.fixture
def samples():
    return None

def test_cheap(): pass
@pytest.mark.parametrize("n", range(20))
def test_many(n): burn(0.04)
def test_dear(): burn(0.3)
def test_waits(): time.sleep(0.3)
def test_dear_child(): subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
def test_dear_fixture(dear): pass
def test_shares_it(dear): pass
def test_of_samples(samples): burn(0.3)
@pytest.mark.slow
def test_says_so(): burn(0.3)
"""


def run_of(folder: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """Exit code, and test -> PASSED or FAILED, of a run of pytest in a process of its own."""
    (folder / "test_made.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    command = [sys.executable, "-c", RUN, *arguments, str(folder)]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # not the outer run's
    ours["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # each takes a part of a second to import
    run = subprocess.run(command, cwd=REPOSITORY, env=ours, capture_output=True, text=True, check=False)
    lines = (line.split() for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED")))
    return run.returncode, {node.partition("::")[2]: outcome for outcome, node, *_ in lines}


@pytest.mark.slow
def test_a_test_that_takes_long_and_does_not_say_so_fails_in_a_worker_too(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-n", "1")
    failed = {name for name, outcome in found.items() if outcome == "FAILED"}
    assert failed == {"test_dear", "test_dear_child", "test_dear_fixture"}
    assert len(found) == 28
    assert code == pytest.ExitCode.TESTS_FAILED


@pytest.mark.slow
def test_many_cheap_tests_may_be_too_much_together(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-k", "cheap or many")
    assert set(found.values()) == {"PASSED"}
    assert code == 1


@pytest.mark.slow
def test_the_fast_selection_leaves_out_what_is_marked_and_what_needs_the_samples(tmp_path: Path) -> None:
    code, found = run_of(tmp_path, "-m", "not slow", "-k", "cheap or waits or samples or says")
    assert found == {"test_cheap": "PASSED", "test_waits": "PASSED"}
    assert code == 0


def test_limits() -> None:
    assert complaint(REFUSED_S * pace(), slow=False) is None
    assert complaint(REFUSED_S * pace() + 0.01, slow=False) is not None
    assert complaint(REFUSED_S * pace() + 0.01, slow=True) is None
