"""Builds whose scenes go to a real Dask cluster; what Ray does is seen by `python -m tests.bench cluster ray`."""

import dataclasses
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.remote.cluster import CLUSTERS, Dask, check_answers
from flows.remote.cluster_worker import work
from pipeline.core.errors import ConfigError, StoreError
from pipeline.engine.job import Job
from pipeline.stages.builder import Builder
from tests.builds import REPOSITORY, TWO_TASKS, TWO_TASKS_SETTINGS, Cli, build, config_of, perturbed
from tests.engine.test_kill import SCENES, assert_same_build, n_files
from tests.worlds.indoor.readers.broken_metadata import write_scenes

N_SCENES = 16
KILLED_AT_FILES = 10  # of 150: in the midst of its scenes


@pytest.fixture(scope="module")
def meta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("meta") / "meta.json", perturbed(SCENES, N_SCENES))


@dataclass(frozen=True)
class Running:
    """A cluster that runs: the address of its scheduler, and its worker processes."""

    address: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A scheduler and two workers, as people start them; a worker that dies stays dead."""
    place = tmp_path_factory.mktemp("cluster")
    file = place / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(program: str, *options: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(file), *options]
        environment = os.environ | {"DASK_TEMPORARY_DIRECTORY": str(place), "OMP_NUM_THREADS": "1"}
        started.append(
            subprocess.Popen(
                command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )

    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    for _ in range(2):
        start("dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard")
    try:
        until = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.05)
        address = json.loads(file.read_bytes())["address"]
        from distributed import Client  # it takes a second

        with Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
        yield Running(address, started[1:])
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_worker_killed_in_its_work_costs_nothing(
    meta: Path, cluster: Running, scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(meta, tmp_path / "alone", **TWO_TASKS)
    out = tmp_path / "out"

    def kill() -> None:
        while n_files(out) < KILLED_AT_FILES:
            time.sleep(0.002)
        cluster.workers[0].kill()

    threading.Thread(target=kill, daemon=True).start()
    monkeypatch.chdir(tmp_path)  # the workers are somewhere else
    to = ("--runner", "dask", "--runner-address", cluster.address)
    done = scan2qa(
        "build", "vsi", "--root", f"vsi_meta={os.path.relpath(meta)}", "--out", "out", *to, *TWO_TASKS_SETTINGS
    )
    assert done.code == 0, done.err
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert_same_build(out, tmp_path / "alone")


SRUN = """#!/bin/bash
for _ in $(seq "${1#--ntasks=}"); do "${@:2}" & done
wait
"""


@pytest.mark.slow
def test_the_documented_job_of_slurm_builds_the_same(meta: Path, tmp_path: Path) -> None:
    """Here `srun` starts its tasks on this machine; all else is the script of the page."""
    build(meta, tmp_path / "alone", **TWO_TASKS)
    page = (REPOSITORY / "docs" / "maintain" / "several-machines.md").read_text(encoding="utf-8")
    script = textwrap.dedent(page[page.index("    #!/bin/bash") :].split("\n\n")[0])
    assert script.count("--ntasks=64") == 2
    script = script.replace("--ntasks=64", "--ntasks=2").replace("/shared/meta_info", shlex.quote(str(meta)))
    script = f"{script.replace('/shared/vsi', str(tmp_path / 'out'))} {shlex.join(TWO_TASKS_SETTINGS)}"
    srun = tmp_path / "srun"
    srun.write_text(SRUN, encoding="utf-8")
    srun.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "SLURM_JOB_ID": "7", "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    job = subprocess.Popen(["bash", "-c", script], cwd=REPOSITORY, env=environment, start_new_session=True)
    try:
        assert job.wait(120) == 0
    finally:
        os.killpg(job.pid, signal.SIGKILL)  # as Slurm ends what a job left running
    assert_same_build(tmp_path / "out", tmp_path / "alone")


def test_what_cannot_go_well_is_said_before_the_first_stage(
    meta: Path, scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = ("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "out")
    unknown = scan2qa(*common, "--runner", "slurm")
    assert (unknown.code, unknown.started) == (2, False)
    assert "unknown runner 'slurm'; there are dask, ray, or none for this machine's cores" in unknown.err
    alone = scan2qa(*common, "--runner-address", "tcp://host:1")
    assert alone.code == 2
    assert "name the cluster with --runner dask or ray" in alone.err
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = scan2qa(*common, "--runner", "dask")
    assert (missing.code, missing.started) == (2, False)
    assert "--runner dask needs distributed, which is not installed; it is in the extra [dask]" in missing.err
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_is_not_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.remote.cluster.REACHED_WITHIN_S", 0.5)
    nobody = r"no Dask scheduler .* answers at tcp://127.0.0.1:9 .*run `dask scheduler`"
    with pytest.raises(ConfigError, match=nobody):
        Dask("tcp://127.0.0.1:9", 1).job_runner(1)
    with pytest.raises(ConfigError, match=nobody):
        check_answers("dask", "tcp://127.0.0.1:9")
    for address in (None, "auto"):
        check_answers("ray", address)


@pytest.mark.parametrize("told", [None, b"{", b"[]", b'{"address": 3}'])
def test_a_file_that_names_no_scheduler_is_one_clear_error(told: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    if told is not None:
        file.write_bytes(told)
    with pytest.raises(ConfigError, match=r"no Dask scheduler .* answers at .*scheduler\.json .*run `dask scheduler`"):
        check_answers("dask", str(file))


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "another"])
def test_what_listens_and_is_no_scheduler_is_told_before_anything_starts(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy takes any connection, and so does a port that is forwarded to nobody."""
    monkeypatch.setattr("flows.remote.cluster.ANSWERS_WITHIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def answer() -> None:
            server.accept()[0].close()  # whether anybody listens
            with server.accept()[0] as taken:
                taken.sendall(said)
                taken.recv(1 << 16)
                ended.wait(5)

        ended = threading.Event()
        pool.submit(answer)
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ConfigError, match=rf"no Dask scheduler .* answers at {address} "):
            check_answers("dask", address)
        ended.set()


@pytest.fixture
def jobs(meta: Path, tmp_path: Path) -> list[Job]:
    """What a build hands on for its scenes."""
    taken: list[Job] = []

    def take(stages: str, batches: list[list[Job]]) -> list[Any]:
        taken.extend(job for batch in batches for job in batch)
        return []

    Builder(config_of(meta), tmp_path / "out", take).build()
    return taken


def test_a_worker_that_is_not_fit_says_so(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    job, lease = dataclasses.replace(jobs[0], lease=None), jobs[0].folder / ".lease"  # of a build that is over
    monkeypatch.setattr("flows.remote.cluster_worker.SEEN_WITHIN_S", 0.2)
    with pytest.raises(StoreError, match=r"does not see .*out: give a folder all machines share"):
        work([job], "mine")
    lease.write_text("another's")  # a folder of the same name on the worker's own disk
    with pytest.raises(StoreError, match="does not see"):
        work([job], "mine")
    lease.write_text("mine")
    assert [done.unit for done in work([job], "mine")] == [job.unit]
    assert job.raw is not None
    unmounted = dataclasses.replace(job, raw=dataclasses.replace(job.raw, root=Path("/not/mounted")))
    with pytest.raises(StoreError, match="does not see /not/mounted: mount it there at the same path"):
        work([unmounted], "mine")
    step = job.steps[0]
    older = dataclasses.replace(step, spec=dataclasses.replace(step.spec, code="0"))
    with pytest.raises(StoreError, match=f"other code or libraries than this machine for stage {step.spec.stage}"):
        work([dataclasses.replace(job, steps=(older,))], "mine")


def test_every_cluster_has_an_extra() -> None:
    from pipeline.core.errors import EXTRAS

    assert set(CLUSTERS) <= set(EXTRAS)
