"""Models asked from ordinary code and many threads."""

import asyncio
import json
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError, StoreError
from pipeline.llm.base import ModelSpec, ProviderTerms, Reply, Request, Usage, user
from pipeline.llm.cache import reply_to_json, request_digest
from pipeline.llm.failures import ModelError
from pipeline.llm.session import Session

SPEC = ModelSpec(provider="openai", model="m", base_url="http://127.0.0.1:9/v1", concurrency=4, attempts=1)


def asked(n: int) -> Request:
    return Request((user(f"Q{n}"),))


class Made:
    """A model that echoes, and counts what is under way."""

    def __init__(self, spec: ModelSpec, key: str | None) -> None:
        self.key = key
        self.now = self.most = 0
        self.closed = False
        self.hang = threading.Event()

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        messages = request.messages
        self.now += 1
        self.most = max(self.most, self.now)
        if messages[0].text == "hang":
            self.hang.set()
            await asyncio.sleep(60)
        await asyncio.sleep(0.005)
        self.now -= 1
        return Reply(messages[0].text.lower(), Usage(1, 1))

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        raise NotImplementedError

    async def close(self) -> None:
        self.closed = True


class Opener:
    def __init__(self) -> None:
        self.made: list[Made] = []

    def __call__(self, spec: ModelSpec, key: str | None) -> Made:
        self.made.append(Made(spec, key))
        return self.made[-1]


def test_many_threads_share_limits_cache_and_account(tmp_path: Path) -> None:
    opener = Opener()
    spec = SPEC.model_copy(update={"key_env": "MY_KEY"})
    with Session([spec], tmp_path / "c", {"MY_KEY": "secret"}, opener) as session, ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda n: session.ask("m", asked(n % 40)).text, range(80)))
        account = session.account("m")
    assert replies == [f"q{n % 40}" for n in range(80)]
    (model,) = opener.made
    assert (model.most, model.key, model.closed) == (4, "secret", True)
    assert (account.sent, account.asked, account.cached) == (40, 40, 40)
    with Session([spec], tmp_path / "c", opener=opener) as session:
        assert session.ask("m", asked(7)).text == "q7"
    assert len(opener.made) == 1  # the cache knew it: nothing was opened


def test_recorded_answers_and_what_was_not_recorded(tmp_path: Path) -> None:
    line = {"request": request_digest(asked(1))} | json.loads(reply_to_json(Reply("yes", Usage(3, 1))))
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n")
    spec = ModelSpec(provider="replay", model="r", recording=tmp_path / "r.jsonl")
    with Session([spec], tmp_path / "c") as session:
        assert session.ask("r", asked(1)) == Reply("yes", Usage(3, 1))
        with pytest.raises(ModelError, match="not_recorded"):
            session.ask("r", asked(2))
        assert session.account("r").failed == {"not_recorded": 1}


def test_a_model_that_cannot_be_opened_is_told_to_the_caller(tmp_path: Path) -> None:
    def fails(spec: ModelSpec, key: str | None) -> Made:
        raise ConfigError("no such package")

    with Session([SPEC], tmp_path / "c", opener=fails) as session:
        for _ in range(2):
            with pytest.raises(ConfigError, match="no such package"):
                session.ask("m", asked(1))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_ends_the_block_closes_everything(error: type[BaseException], tmp_path: Path) -> None:
    opener, failures = Opener(), []

    def wait(session: Session) -> None:
        try:
            session.ask("m", Request((user("hang"),)))
        except ModelError as failure:
            failures.append(failure.kind)

    threads = threading.active_count()
    with pytest.raises(error), Session([SPEC], tmp_path / "c", opener=opener) as session:  # noqa: PT012
        session.ask("m", asked(1))
        waiting = threading.Thread(target=wait, args=(session,))
        waiting.start()
        assert opener.made[0].hang.wait(5)
        raise error
    waiting.join(5)
    assert failures == ["closed"]
    assert opener.made[0].closed
    assert threading.active_count() == threads
    with pytest.raises(ModelError, match="closed"):
        session.ask("m", asked(1))
    session.close()  # twice is no harm


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """Python's own handler: whoever starts the tests may ignore SIGINT (nohup, a shell's background job, many CIs)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_raises")
def test_ctrl_c_while_waiting_ends_the_request(tmp_path: Path) -> None:
    opener = Opener()
    timer = threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    with Session([SPEC], tmp_path / "c", opener=opener) as session:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.ask("m", Request((user("hang"),)))
        assert session.ask("m", asked(1)).text == "q1"  # the session itself goes on
    assert opener.made[0].closed


def test_a_cache_that_cannot_be_kept_and_equal_names_are_refused(tmp_path: Path) -> None:
    threads = threading.active_count()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError), Session([SPEC], tmp_path / "file" / "c"):
        pass
    assert threading.active_count() == threads
    with pytest.raises(ConfigError, match="two models are named m"), Session([SPEC, SPEC], tmp_path / "c"):
        pass
