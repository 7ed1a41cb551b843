"""A builder that slept (SIGSTOP, a laptop's lid) and was taken over by another changes nothing more in the folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builds import REPOSITORY, perturbed
from tests.engine.test_kill import SCENES
from tests.environment import times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

EXPIRES_S = 2.0
# A builder on a folder of the network without kernel locks; the first one stops itself where it is told to.
BUILDER = f"""
import errno, fcntl, os, signal, sys
from pathlib import Path
from pipeline.core.errors import StoreError
from pipeline.engine import lease
from pipeline.release import history

def refuse(*_):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

def sleeping(real, nth):
    calls = iter(range(10_000))
    def sleep(*given):
        if next(calls) == nth:
            os.kill(os.getpid(), signal.SIGSTOP)
        return real(*given)
    return sleep

fcntl.flock = refuse
lease.EXPIRES_S, lease.BEAT_S = {EXPIRES_S}, 0.2
meta, out, cap, moment = sys.argv[1:]
if moment == "among scenes":
    lease.Lease.check = sleeping(lease.Lease.check, 9)
if moment == "before the link is turned":
    history.checksums = sleeping(history.checksums, 0)
from pipeline.stages.builder import Builder
from tests.builds import TWO_TASKS, config_of
try:
    Builder(config_of(Path(meta), select={{"per_scene_and_task": int(cap)}}, **TWO_TASKS), Path(out)).build()
except StoreError as error:
    sys.exit(str(error))
"""


def builder(meta: Path, out: Path, cap: int, moment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(meta), str(out), str(cap), moment],
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )


def there(out: Path) -> dict[str, bytes]:
    """Every file of a build, the link as what it says, and the lease of nobody."""
    found = {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
    return found | {"release": bytes((out / "release").readlink())}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before the link is turned", "among scenes"][: times(1, 2)])
def test_a_builder_that_slept_writes_nothing_over_its_successor(moment: str, tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    meta.mkdir()
    write_scenes(meta / "meta.json", perturbed(SCENES, 3))
    with builder(meta, out, 6, moment) as first:
        _, status = os.waitpid(first.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(EXPIRES_S + 1)
        with builder(meta, out, 2, "never") as second:
            _, said = second.communicate(timeout=120)
        assert second.returncode == 0, said
        before = there(out)
        first.send_signal(signal.SIGCONT)
        _, said = first.communicate(timeout=120)
    assert first.returncode == 1
    assert f"{out}: taken over by another build, as this one was not heard of for" in said
    assert said.count("\n") == 1
    after = there(out)
    new = {name for name in after.keys() - before.keys() if not name.startswith("releases/")}
    assert not new, "a release beside the newest is found by the next build"
    assert {name: raw for name, raw in after.items() if name in before} == before
