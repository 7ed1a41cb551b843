"""The command `scan2qa schedule`: serves a build to a Prefect server that is kept, which starts it by the clock."""

from __future__ import annotations

import os
from pathlib import Path

from flows.build import Asked, prepare, start
from flows.console import console
from flows.roots import written
from flows.server import is_kept, spare_loopback, trouble
from pipeline.core.errors import ConfigError


def schedule(asked: Asked, cron: str, zone: str) -> None:
    """Runs until it is stopped; a build that has nothing to do takes seconds and says so.

    Raises ConfigError at once for what would else fail at night: no server, no such root, a wrong key.
    """
    if not is_kept():
        remedy = "run `prefect server start`, then `prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api`"
        raise ConfigError(f"a schedule needs a Prefect server that is kept running: {remedy}")
    prepared = prepare(asked, write=True)
    start(prepared)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")  # of the processes that it starts
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows.orchestrate import build_flow

    try:
        at = Cron(cron, timezone=zone)
    except ValueError as error:
        message = f"--cron {cron!r} in {zone}: {error}; write minute, hour, day, month and weekday: '0 3 * * *'"
        raise ConfigError(message) from error
    spare_loopback(os.environ)
    if (told := trouble()) is not None:
        raise ConfigError(f"Prefect cannot be used: {told}; start its server first")
    name = prepared.config.build
    told = f"Serving build/{name} at {cron} ({zone}), until Ctrl-C."
    console.print(f"{told} Now: prefect deployment run build/{name}", soft_wrap=True)
    build_flow.serve(
        name=name,
        schedule=at,
        parameters={
            "benchmark": asked.name if asked.path.stem == asked.name else str(asked.path.resolve()),
            "roots": written(prepared.roots),
            "settings": dict(setting.split("=", 1) for setting in prepared.settings),
            "out": str(Path.cwd() / prepared.folder),
            "workers": asked.workers,
            "runner": asked.runner,
            "runner_address": asked.address,
        },
        description=f"Builds {prepared.config.of_benchmark().title}; runs only what changed.",
        tags=["scan2qa", prepared.config.benchmark],
        limit=1,
        print_starting_message=False,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
