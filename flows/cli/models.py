"""Models that commands ask: their replies are kept beside what the command writes, and recorded."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from flows.cli.output.console import EVERY_S, console, count_of, errors
from flows.cli.output.progress import progress_shown
from pipeline.engine.stage import Progress
from pipeline.llm.base import ModelSpec, Reply, Request
from pipeline.llm.budget import Money
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Account
from pipeline.llm.providers import record
from pipeline.llm.session import Session

A = TypeVar("A")
B = TypeVar("B")


class ModelSession:
    """One model that is open. Made by `model_session`."""

    def __init__(self, spec: ModelSpec, session: Session, progress: Progress) -> None:
        self._spec, self._session, self._progress = spec, session, progress

    def ask(self, request: Request) -> Reply:
        """The reply to a request. Raises ModelError where there is none."""
        return self._session.ask(self._spec.name, request)

    @property
    def account(self) -> Account:
        """What has been asked so far."""
        return self._session.account(self._spec.name)

    def each(self, label: str, items: Sequence[A], work: Callable[[A], B]) -> list[B]:
        """What ``work`` makes of each item, as many at once as the model takes; Ctrl-C waits for none of them."""
        done = 0

        def counted(item: A) -> B:
            nonlocal done
            made = work(item)
            done += 1
            self._progress(label, done, len(items))
            return made

        self._progress(label, 0, len(items))  # the first may take minutes: an agent's are up to sixty requests
        with ThreadPoolExecutor(self._spec.concurrency) as threads:
            made, told = [threads.submit(counted, item) for item in items], ""
            try:
                while (state := wait(made, EVERY_S, FIRST_EXCEPTION)).not_done and not any(
                    one.exception() for one in state.done
                ):
                    failed_attempts = self.account.failed_attempts
                    if failed_attempts != told:  # a server may refuse for minutes before the model counts as down
                        console.print(f"{self._spec.name}: {failed_attempts}")
                        told = failed_attempts
                return [one.result() for one in made]
            except BaseException:
                for one in made:
                    one.cancel()
                self._session.close()  # what is under way ends with a ModelError
                raise


@contextmanager
def model_session(spec: ModelSpec, cache: Path, recording: Path, limit_cost: float | None) -> Iterator[ModelSession]:
    """Opens a model, and records its replies at the end.

    Args:
        spec: the model.
        cache: file of the replies, so that nothing is asked twice.
        recording: all of them, as provider `replay` reads them; none of a model that is itself a recording.
        limit_cost: dollars, over all runs with this cache.
    """
    key = spec.key_name
    keys = {key: os.environ[key]} if key and os.environ.get(key) else {}
    try:
        with Session([spec], cache, keys, money=Money(limit_cost=limit_cost)) as session, progress_shown() as progress:
            yield ModelSession(spec, session, progress)
    except KeyboardInterrupt:
        errors.print(f"Replies are kept in {cache}: the same command asks only for the rest", soft_wrap=True)
        raise
    if spec.provider != "replay":
        with ReplyCache(cache) as kept:
            n = record(kept, spec.provider, spec.model, recording)
        if n:
            console.print(f"{count_of(n, 'reply')} of {spec.name}: {recording}")
