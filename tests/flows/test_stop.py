"""Signals end the real command at once, with one line, and leave no process and lose nothing."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from flows.orchestration.processes import children_end_with_us
from tests.builds import (
    COMMAND,
    REPOSITORY,
    TWO_TASKS,
    build,
    command_process,
    perturbed,
    prefect_environment,
    release_of,
)
from tests.engine.test_kill import SCENES, n_files
from tests.environment import times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

# Where the tests run in the background of a shell, SIGINT is ignored, and would be by what they start.
NOTICING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
STOPPED = "scan2qa: stopped; finished work is kept, and the same command goes on from there\n"
IMPORTS = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

module, number = sys.argv.pop(), int(sys.argv.pop())

class Finder:
    def find_spec(self, name, *rest):
        if name == module:
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Finder())
from scan2qa import main
main()
"""


@pytest.mark.parametrize(
    ("number", "module"),
    [(signal.SIGINT, "typer"), (signal.SIGINT, "pyarrow"), (signal.SIGTERM, "flows.cli.output.build_screen")],
)
def test_a_signal_ends_the_command_while_it_imports(number: signal.Signals, module: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", IMPORTS, "build", "vsi", str(number.value), module],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr) == (128 + number, "", STOPPED)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata of many scenes, ``meta``, and a build of them that was left alone, ``out``."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_scenes(folder / "meta" / "meta.json", perturbed(SCENES, 24))
    build(folder / "meta", folder / "out", **TWO_TASKS)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM][: times(1, 3)])
def test_a_signal_to_the_whole_group_ends_the_command(
    number: signal.Signals, undisturbed: Path, tmp_path: Path
) -> None:
    """As a terminal sends Ctrl-C. Who is killed says nothing, nor does Python's tracker of semaphores on its behalf."""
    meta, out = undisturbed / "meta", tmp_path / "out"
    with command_process(meta, out, "--no-prefect", code=NOTICING + COMMAND, start_new_session=True) as process:
        while process.poll() is None and n_files(out) < 5:
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
        (os.kill if number == signal.SIGKILL else os.killpg)(process.pid, number)
        sent = time.monotonic()
        _, said = process.communicate()
        took_s = time.monotonic() - sent
    is_killed = number == signal.SIGKILL
    assert (process.returncode, said) == ((-number, "") if is_killed else (128 + number, STOPPED))
    assert took_s < 2
    assert len(children) >= 2
    assert psutil.wait_procs(children, timeout=5)[1] == []
    build(meta, out, **TWO_TASKS)
    assert release_of(out) == release_of(undisturbed / "out")


PARENT = """
import os, signal, subprocess, sys
from flows.orchestration.processes import children_end_with_us
with children_end_with_us() as watch:
    child = subprocess.Popen(["sleep", "60"])
    watch.name_children()
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_ends_with_a_parent_that_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT], capture_output=True, text=True, cwd=REPOSITORY, check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 5
    while psutil.pid_exists(int(done.stdout)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not psutil.pid_exists(int(done.stdout))


def test_a_child_may_outlive_the_block_itself() -> None:
    """Only a parent that is gone takes it along."""
    with children_end_with_us() as watch, subprocess.Popen(["sleep", "60"]) as child:
        watch.name_children()
        child.kill()
        assert child.wait() == -signal.SIGKILL


WAITS = """
import fcntl, signal, termios, time
from flows.orchestration.processes import stoppable
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with stoppable():
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(("typed", "code"), [(b"\x03", 130), (None, 129)])
def test_ctrl_c_and_a_closed_terminal_end_a_command(typed: bytes | None, code: int) -> None:
    """On a real terminal: nothing can be said on one that is closed, and that must not keep the command."""
    terminal, its = pty.openpty()
    streams = {"stdin": its, "stdout": its, "stderr": its}
    command = [sys.executable, "-c", WAITS]
    with subprocess.Popen(command, cwd=REPOSITORY, env=prefect_environment(), start_new_session=True, **streams) as one:
        os.close(its)
        said = b""
        while b"ready" not in said:
            said += os.read(terminal, 100)
        if typed is not None:
            os.write(terminal, typed)
        else:
            os.close(terminal)
        assert one.wait(timeout=20) == code
    if typed is not None:
        os.close(terminal)


@pytest.mark.parametrize("inside", ["raise KeyboardInterrupt", "raise ImportError('initialization failed')", "pass"])
def test_ctrl_c_ends_any_other_command_with_one_line_whatever_it_interrupts(inside: str) -> None:
    code = NOTICING + (
        "from flows.orchestration.signals import default_signals, end_at_signals, end_if_interrupted\n"
        "end_at_signals(); default_signals()\n"
        "try:\n"
        "    try: signal.raise_signal(signal.SIGINT)\n"
        f"    except KeyboardInterrupt: {inside}\n"
        "except BaseException: pass\n"
        "end_if_interrupted()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "scan2qa: stopped\n")
