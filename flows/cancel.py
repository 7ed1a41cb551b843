"""Stops a flow run of this process from Prefect's side, and tells Prefect when it was stopped from here.

Runs of a deployment are cancelled by the worker or the server process that started them, with a signal; those that the
command line started have nobody else.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import PrefectException
from prefect.runtime import deployment, flow_run

from flows.server import is_kept
from flows.stop import Watch, children_end_with_us, stop, stoppable

EVERY_S: Final = 2.0


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
            watch.tell(f"{url}/flow_runs/{flow_run.id}/set_state", _headers(client))
            asking = threading.Thread(target=_ask, args=(client, UUID(flow_run.id), watch, ended), daemon=True)
            asking.start()
            try:
                with stoppable(watch):  # Prefect has a way of its own, which takes minutes
                    yield
            finally:
                ended.set()
                asking.join(EVERY_S)


def _ask(client: SyncPrefectClient, run: UUID, watch: Watch, ended: threading.Event) -> None:
    """Asks again and again whether the run is being cancelled."""
    while not ended.wait(EVERY_S):
        try:
            state = client.read_flow_run(run).state
        except (httpx.HTTPError, PrefectException, RuntimeError):  # a server that is away comes back, or does not
            continue
        if state is not None and (state.is_cancelling() or state.is_cancelled()):
            stop(signal.SIGTERM, "Cancel in Prefect", watch)


def _headers(client: SyncPrefectClient) -> dict[str, str]:
    """What the server wants to be told of whoever asks."""
    known = client._client.headers  # there is no public way
    return {name: known[name] for name in ("authorization", "x-prefect-api-version") if name in known}
