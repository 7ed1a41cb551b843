"""The command `scan2qa schedule`: serves a build to a running Prefect server, which starts it on a schedule."""

from __future__ import annotations

import os
from pathlib import Path

from flows.cli.output.console import console
from flows.orchestration.build import BuildRequest, check, resolve_build
from flows.orchestration.prefect_server import is_kept, spare_loopback, trouble
from flows.orchestration.roots import written
from pipeline.core.errors import ConfigError


def schedule(request: BuildRequest, cron: str, zone: str) -> None:
    """Runs until it is stopped; a build that has nothing to do takes seconds and says so.

    Raises ConfigError at once for what would else fail at night: no server, no such root, a wrong key.
    """
    if not is_kept():
        remedy = "run `prefect server start`, then `prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api`"
        raise ConfigError(f"a schedule needs a Prefect server that is kept running: {remedy}")
    resolved = resolve_build(request, write=True)
    check(resolved)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")  # of the processes that it starts
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows.orchestration.prefect_flows import build_flow

    try:
        at = Cron(cron, timezone=zone)
    except ValueError as error:
        message = f"--cron {cron!r} in {zone}: {error}; write minute, hour, day, month and weekday: '0 3 * * *'"
        raise ConfigError(message) from error
    spare_loopback(os.environ)
    if (told := trouble()) is not None:
        raise ConfigError(f"Prefect cannot be used: {told}; start its server first")
    name = resolved.config.build
    told = f"Serving build/{name} at {cron} ({zone}), until Ctrl-C."
    console.print(f"{told} Now: prefect deployment run build/{name}", soft_wrap=True)
    build_flow.serve(
        name=name,
        schedule=at,
        parameters={
            "benchmark": request.name if request.path.stem == request.name else str(request.path.resolve()),
            "roots": written(resolved.roots),
            "settings": dict(setting.split("=", 1) for setting in resolved.settings),
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
