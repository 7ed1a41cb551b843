"""The surroundings of a flow run: Prefect's temporary server, the run's artifacts, cancellation, and schedules.

The temporary server is started here so that a failing start is noticed early: Prefect itself waits two minutes for a
server that has ended, and restarts one that cannot use its database again and again. Prefect would also import its
whole server into this process, which takes longer than all else of the start.

Runs of a deployment are cancelled with a signal by the worker or server process that started them; runs that the
command line started have no such process.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import IO, Any, Final
from uuid import UUID
from zoneinfo import available_timezones

import httpx
import prefect
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.worker import EventsWorker
from prefect.exceptions import PrefectException
from prefect.runtime import deployment, flow_run
from prefect.settings import PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS, get_current_settings

from flows.cli.diff import report_of
from flows.cli.output.console import console
from flows.orchestration.build import BuildRequest, check, resolve_build
from flows.orchestration.prefect_server import LostPrefectError, is_kept, spare_loopback, trouble
from flows.orchestration.processes import Watchdog, children_end_with_us, stop, stoppable
from flows.orchestration.roots import written
from flows.orchestration.watchdog import LOOPBACK
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import Outcome
from pipeline.release.comparison import markdown
from pipeline.release.history import RELEASE, RELEASES, latest
from pipeline.release.released import Released

PORTS: Final = 3  # that are tried: another program may take one just before
APP: Final = "prefect.server.api.server:create_app"
HEALTH_EVERY_S: Final = 0.1
ENDS_WITHIN_S: Final = 5.0
_TAKEN: Final = re.compile(r"address already in use|only one usage of each socket address", re.IGNORECASE)
_FAULT: Final = re.compile(r"^[\w.]*?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)


def start_server() -> str:
    """Has Prefect's temporary server run until this process ends. Raises LostPrefectError.

    Returns:
        The URL of its API.
    """
    with tempfile.TemporaryFile() as said:
        for _ in range(PORTS):
            port = _free_port()
            process, url = _start_server_process(port, said), f"http://{LOOPBACK[0]}:{port}/api"
            atexit.register(_end, process)
            if _answers(process, url):
                return url
            said.seek(0)
            words = said.read().decode(errors="replace")
            if not _TAKEN.search(words):
                break  # with another port it would end the same way
    faults = _FAULT.findall(words)
    told = ": ".join(faults[-1]) if faults else "it ends without a word"
    raise LostPrefectError(f"its temporary server does not start ({told})")


def _free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind((LOOPBACK[0], 0))
        port: int = one.getsockname()[1]
    return port


def _start_server_process(port: int, errors: IO[bytes]) -> Popen[bytes]:
    """Starts a process of the server as Prefect does; its errors go to a file."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(Path(prefect.__file__).parents[1]), "--factory", APP]
    command += ["--host", LOOPBACK[0], "--port", str(port), "--log-level", "error", "--lifespan", "on"]
    own = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    return Popen(command, env={**os.environ, **own, **settings}, stderr=errors)  # noqa: S603 # our own interpreter


def _end(process: Popen[bytes]) -> None:
    """Ends a server that still runs."""
    process.terminate()
    try:
        process.wait(ENDS_WITHIN_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def drop_unsent_states() -> None:
    """Drops what is still to be told to a server that is gone: each try takes seconds, and the process's end waits."""
    for worker in EventsWorker._instances.values():  # type: ignore[misc] # generic: of which type does not matter
        with worker._queue.mutex:
            worker._queue.queue.clear()


def _answers(process: Popen[bytes], url: str) -> bool:
    """Returns whether the server answers before it ends. Raises LostPrefectError where it does neither."""
    within_s = PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.value()
    until = time.monotonic() + within_s
    with httpx.Client(trust_env=False) as client:  # no proxy
        while process.poll() is None:
            try:
                if client.get(f"{url}/health", timeout=HEALTH_EVERY_S * 20).is_success:
                    return True
            except httpx.TransportError:
                time.sleep(HEALTH_EVERY_S)
            if time.monotonic() > until:
                process.kill()
                raise LostPrefectError(f"its temporary server does not answer within {within_s} s")
    return False


def show_in_prefect(config: BuildConfig, folder: Path, outcome: Outcome, newest_before: str | None) -> None:
    """Makes the artifacts of the flow run that is under way; ``newest_before``: the newest release before it."""
    name = config.build.replace("_", "-")  # keys have no other sign
    whys = sorted({why for row in outcome.counts().values() for why in row}, key=lambda why: (why == "reused", why))
    rows: list[dict[str, Any]] = [
        {"stage": stage, **{why: row.get(why, "") for why in whys}} for stage, row in outcome.counts().items()
    ]
    create_table_artifact(rows, key=f"{name}-stages", description="Stages that ran, and why")
    if outcome.released:
        create_table_artifact(_questions(outcome.released), key=f"{name}-questions", description="Questions")
        create_markdown_artifact(_funnel(outcome.released), key=f"{name}-funnel", description="From candidates on")
    if outcome.quarantine:
        left_out = [fault.model_dump() for fault in outcome.quarantine]
        create_table_artifact(left_out, key=f"{name}-quarantine", description="Left out")
    release = folder / RELEASE
    if release.is_dir():
        link = release.resolve()
        create_link_artifact(
            link.as_uri(), link_text=str(link), key=f"{name}-release", description="The newest release"
        )
    older, built = folder / RELEASES / (newest_before or ""), folder / RELEASES / (latest(folder) or "")
    if newest_before and older.is_dir() and built.is_dir() and older != built:
        try:
            text = markdown(report_of(older, built, f"Changes in {config.build}", config.benchmark)).decode()
        except ConfigError as error:  # a release that cannot be compared costs no build
            text = f"The changes are unknown: {error}"
        create_markdown_artifact(text, key=f"{name}-diff", description="Changes since the last release")


def _questions(released: Released) -> list[dict[str, Any]]:
    """A row for each task: its questions, its rejected candidates, and the most frequent answer."""
    rows = []
    for task in sorted({*released.questions, *released.rejections}):
        answers, n = released.answers.get(task, {}), released.questions.get(task, 0)
        top = max(answers, key=lambda a: (answers[a], a)) if answers else ""
        dropped = sum(released.rejections.get(task, {}).values())
        rows.append({"task": task, "questions": n, "rejected": dropped, "most frequent answer": top})
    return rows


def _funnel(released: Released) -> str:
    """All candidates, what each reason cost, and what is left, as a table in Markdown."""
    reasons: Counter[str] = Counter()
    for row in released.rejections.values():
        reasons.update(row)
    asked = sum(released.questions.values())
    lines = ["| | candidates |", "|---|---:|", f"| **all** | {asked + reasons.total():,} |"]
    lines += [f"| {reason.replace('_', ' ')} | −{n:,} |" for reason, n in reasons.most_common()]
    return "\n".join([*lines, f"| **questions** | {asked:,} |", ""])


ASK_EVERY_S: Final = 2.0


@contextmanager
def cancellable() -> Iterator[None]:
    """Within the block the flow run can be stopped: by signals, and in Prefect's UI. To be entered within a flow."""
    with children_end_with_us() as watch:
        watch.name_children()  # Prefect's temporary server runs by now
        if not is_kept() or deployment.id is not None:
            with stoppable(watch):
                yield
            return
        ended = threading.Event()
        with get_client(sync_client=True) as client:
            url = str(client.api_url).rstrip("/")
            known = client._client.headers  # which the server requires; there is no public way
            headers = {name: known[name] for name in ("authorization", "x-prefect-api-version") if name in known}
            watch.tell(f"{url}/flow_runs/{flow_run.id}/set_state", headers)
            asking = threading.Thread(target=_ask, args=(client, UUID(flow_run.id), watch, ended), daemon=True)
            asking.start()
            try:
                with stoppable(watch):  # Prefect has a way of its own, which takes minutes
                    yield
            finally:
                ended.set()
                asking.join(ASK_EVERY_S)


def _ask(client: SyncPrefectClient, run: UUID, watch: Watchdog, ended: threading.Event) -> None:
    """Asks again and again whether the run is being cancelled."""
    while not ended.wait(ASK_EVERY_S):
        try:
            state = client.read_flow_run(run).state
        except (httpx.HTTPError, PrefectException, RuntimeError):  # a server that is away comes back, or does not
            continue
        if state is not None and (state.is_cancelling() or state.is_cancelled()):
            stop(signal.SIGTERM, "Cancel in Prefect", watch)


def schedule(request: BuildRequest, cron: str, zone: str) -> None:
    """Runs until it is stopped; a build that has nothing to do takes seconds and says so.

    Raises ConfigError at once for what would else fail at night: no server, no such root, a wrong key.
    """
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")  # of the processes that it starts
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows.orchestration.prefect_flows import build_flow

    try:
        at = Cron(cron, timezone=zone)
    except ValueError as error:
        message = f"--cron {cron!r} in {zone}: {error}; write minute, hour, day, month and weekday: '0 3 * * *'"
        raise ConfigError(message) from error
    if zone not in available_timezones():
        near = get_close_matches(zone, available_timezones(), 1) or ["Europe/Berlin"]
        raise ConfigError(f"--zone {zone!r} is no time zone of the IANA database, such as {near[0]}")
    if not is_kept():
        remedy = "run `prefect server start`, then `prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api`"
        raise ConfigError(f"a schedule needs a Prefect server that is kept running: {remedy}")
    resolved = resolve_build(request, write=True)
    check(resolved)
    spare_loopback(os.environ)
    if (told := trouble()) is not None:
        raise ConfigError(f"Prefect cannot be used: {told}; start its server first")
    name = resolved.config.build
    told = f"Serving build/{name} at {cron} ({zone}), until Ctrl-C."
    console.print(f"{told} Now: prefect deployment run build/{name}")
    build_flow.serve(
        name=name,
        schedule=at,
        parameters={
            "benchmark": request.name if request.path.stem == request.name else str(request.path.resolve()),
            # Only what was given now: a saved argument that is changed later would else be undone by the next run.
            "roots": written(resolved.roots) if request.roots else {},
            "settings": dict(setting.split("=", 1) for setting in request.settings),
            "out": str(Path.cwd() / resolved.folder),
            "workers": request.workers,
            "runner": request.runner,
            "runner_address": request.address,
        },
        description=f"Builds {resolved.config.of_benchmark().title}; runs only what changed.",
        tags=["scan2qa", resolved.config.benchmark],
        limit=1,
        print_starting_message=False,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
