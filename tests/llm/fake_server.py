"""A server on the loopback interface that speaks the OpenAI and the Gemini protocol, badly if asked to.

``python -m tests.llm.fake_server '{"latency_s": 0.05, …}'`` prints its address and serves until its input is closed.
A prompt names its question as ``Q123``; what goes wrong is drawn from the question and the number of its attempt, so
that every run meets the same faults. The model's name chooses other behaviour (`_BEHAVIOURS`), with the error bodies of
the real APIs (`tests.llm.bodies`). ``replies`` are texts by what a prompt holds ("{letter of TEXT}" is that of an
option), ``pictures`` by the SHA-256 of what it shows. ``quota`` allows so many requests in each window of so many
seconds. ``GET /records`` tells what came in, what became of it and which tokens were billed: those of every body that
was sent whole.
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from subprocess import PIPE, Popen
from typing import Any
from urllib.request import urlopen

from tests.llm import bodies

Body = dict[str, Any]
# Refusals at random are few: real ones come by quota.
FAULTS = {"rate_limited": 0.01, "server_error": 0.03, "timeout": 0.02, "malformed": 0.01, "reset": 0.01}


@dataclass
class Settings:
    """How the server behaves."""

    latency_s: float = 0.0
    retry_after_s: float = 0.2
    hang_s: float = 30.0
    faults: dict[str, float] = field(default_factory=dict)
    quota: tuple[int, float] | None = None
    replies: dict[str, str] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)  # replies by the SHA-256 of a picture


@dataclass
class Record:
    """One request."""

    at_s: float
    question: str
    outcome: str
    body: dict[str, Any]
    headers: dict[str, str]
    billed: tuple[int, int] = (0, 0)


class FakeServer:
    """The protocols, without a framework: resets and cut bodies are made on the bare connection."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: list[Record] = []
        self.attempts: dict[str, int] = {}
        self.windows: dict[int, int] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                method, path, _ = first.split(" ")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                if not await self.answer(method, path, headers, raw, writer):
                    break
        writer.close()

    async def answer(
        self, method: str, path: str, headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        if path == "/records":
            return await send(writer, 200, [asdict(record) for record in self.records])
        if "/files" in path:
            return await self.file(method, path, headers, raw, writer)
        body = json.loads(raw)
        gemini = ":generateContent" in path
        model = path.partition("/models/")[2].partition(":")[0] if gemini else str(body["model"])
        text = _text(body)
        found = re.search(r"Q\d+", text)
        question = found[0] if found else text[:40]
        self.attempts[question] = self.attempts.get(question, 0) + 1
        record = Record(time.monotonic(), question, self.fault(question) or "", body, headers)
        self.records.append(record)
        record.outcome = await self.outcome(record, question, model, gemini, writer)
        return record.outcome in {"success", "rate_limited", "server_error", "status", "quota", "schema"}

    async def outcome(
        self, record: Record, question: str, model: str, gemini: bool, writer: asyncio.StreamWriter
    ) -> str:
        wait_s = self.over_quota()
        if wait_s is not None:
            body = bodies.GEMINI_MINUTE if gemini else bodies.RATE_LIMIT
            await send(writer, 429, body, {"Retry-After": f"{wait_s:.3f}"})
            return "quota"
        fault = self.fault(question)
        if fault in {"rate_limited", "server_error", "timeout", "malformed", "reset"}:
            await self.misbehave(fault, gemini, writer)
            return fault
        await asyncio.sleep(self.settings.latency_s)
        key = record.headers.get("authorization", "").removeprefix("Bearer ")
        key = key or record.headers.get("x-goog-api-key", "")
        told = [text for part, text in self.settings.replies.items() if part in _text(record.body)]
        told = [self.settings.pictures[one] for one in _shown(record.body) if one in self.settings.pictures] or told
        behaviour = _says(_filled(told[0], _text(record.body))) if told else _BEHAVIOURS.get(model, _plain)
        said = behaviour(Asked(self.attempts[question], key, gemini, record.body))
        if said.body is not None:
            await send(writer, said.status, said.body, said.headers)
            return "status"
        if fault == "schema":
            said = Said("I would rather not.")
        record.billed = (20, said.tokens)
        await send(writer, 200, _gemini(said) if gemini else _openai(said))
        return "success" if fault is None else fault

    def over_quota(self) -> float | None:
        """Seconds until the next request is allowed; None: this one is."""
        if self.settings.quota is None:
            return None
        allowed, window_s = self.settings.quota
        now = time.monotonic()
        window = int(now // window_s)
        self.windows[window] = self.windows.get(window, 0) + 1
        return None if self.windows[window] <= allowed else (window + 1) * window_s - now

    async def misbehave(self, fault: str, gemini: bool, writer: asyncio.StreamWriter) -> None:
        if fault == "reset":
            writer.transport.abort()
            return
        await asyncio.sleep(self.settings.hang_s if fault == "timeout" else self.settings.latency_s)
        if fault == "rate_limited":
            wait = {"Retry-After": str(self.settings.retry_after_s)}
            await send(writer, 429, bodies.GEMINI_MINUTE if gemini else bodies.RATE_LIMIT, wait)
        elif fault == "server_error":
            await send(writer, 500, bodies.GEMINI_OVERLOADED if gemini else bodies.OVERLOADED)
        elif fault == "malformed":
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n"
            writer.write(head + b'{"choices": [')

    def fault(self, question: str) -> str | None:
        drawn = int.from_bytes(hashlib.sha256(f"{question} {self.attempts[question]}".encode()).digest()[:4], "big")
        share = drawn / 2**32
        for name, probability in self.settings.faults.items():
            if share < probability:
                return name
            share -= probability
        return None

    async def file(
        self, method: str, path: str, headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Gemini's resumable upload; a file is being processed when first looked at."""
        self.records.append(Record(time.monotonic(), f"{method} {path}", "file", {"bytes": len(raw)}, headers))
        host = headers["host"]
        shown = {"name": "files/v1", "uri": f"http://{host}/v1/files/v1", "mimeType": "video/mp4"}
        if headers.get("x-goog-upload-command") == "start":
            return await send(writer, 200, {}, {"X-Goog-Upload-URL": f"http://{host}/upload/files/v1"})
        if method == "POST":
            file = {"file": shown | {"state": "PROCESSING"}}
            return await send(writer, 200, file, {"X-Goog-Upload-Status": "final"})
        return await send(writer, 200, {} if method == "DELETE" else shown | {"state": "ACTIVE"})


async def send(writer: asyncio.StreamWriter, status: int, value: Any, headers: dict[str, str] | None = None) -> bool:
    raw = json.dumps(value).encode()
    lines = {"Content-Type": "application/json", "Content-Length": str(len(raw))} | (headers or {})
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    writer.write(head.encode() + b"\r\n" + raw)
    await writer.drain()
    return True


@dataclass
class Asked:
    """What a behaviour looks at."""

    attempt: int
    key: str
    gemini: bool
    body: Body

    @property
    def room(self) -> int:
        """Tokens that the reply may have."""
        config = self.body.get("generationConfig", {})
        names = ("max_tokens", "max_completion_tokens")
        return int(config.get("maxOutputTokens") or next(self.body[name] for name in names if name in self.body))


@dataclass
class Said:
    """What it answers: a text, or a body with a status."""

    text: Any
    finish: str | None = "stop"
    tokens: int = 2
    body: Body | None = None
    status: int = 200
    headers: dict[str, str] | None = None
    usage: bool = True


def _filled(reply: str, asked: str) -> str:
    """A reply with "{letter of TEXT}" replaced by the letter that an option of the question has."""
    letters = {line[3:]: line[0] for line in asked.splitlines() if line[1:3] == ". "}
    return re.sub(r"\{letter of (.*?)\}", lambda match: letters.get(match[1], "none"), reply)


def _error(status: int, openai: Body, gemini: Body | None = None, **headers: str) -> Callable[[Asked], Said]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def error(asked: Asked) -> Said:
        return Said("", body=(gemini or openai) if asked.gemini else openai, status=status, headers=named)

    return error


def _says(text: Any, finish: str | None = "stop", usage: bool = True) -> Callable[[Asked], Said]:
    return lambda asked: Said(text, finish, usage=usage)


_plain = _says("B")


def _leaky(status: int) -> Callable[[Asked], Said]:
    def leak(asked: Asked) -> Said:
        words = f"no such key or no such luck: {asked.key}"
        body = bodies.gemini(status, words, "X") if asked.gemini else bodies.openai(words, None)
        return Said("", body=body, status=status)

    return leak


def _reasoning(asked: Asked) -> Said:
    """A model that refuses the older name of the limit and any temperature, one after the other."""
    if "max_tokens" in asked.body:
        return Said("", body=bodies.NO_MAX_TOKENS, status=400)
    if "temperature" in asked.body:
        return Said("", body=bodies.NO_TEMPERATURE, status=400)
    return Said("B")


def _wordy(needed: int) -> Callable[[Asked], Said]:
    """A model that takes so many tokens to come to its answer."""

    def wordy(asked: Asked) -> Said:
        if asked.room < needed:
            return Said("A is too far, and", "MAX_TOKENS" if asked.gemini else "length", tokens=asked.room)
        return Said("The answer is B.", tokens=needed)

    return wordy


def _after(first: Callable[[Asked], Said], n: int, then: Callable[[Asked], Said]) -> Callable[[Asked], Said]:
    """Another behaviour from question Q<n> on."""
    return lambda asked: (then if int(_NUMBER.findall(_text(asked.body))[0]) >= n else first)(asked)


_NUMBER = re.compile(r"Q(\d+)")
_BEHAVIOURS: dict[str, Callable[[Asked], Said]] = {
    "json": _says('{"letter": "B"}'),
    "json-fenced": _says('<think>\nB, or {"letter": "A"}?\n</think>\n\n```json\n{"letter": "B"}\n```'),
    "json-late": lambda asked: Said('{"letter": "B"}' if asked.attempt > 1 else "I think it is B"),
    "json-other": _says('{"letter": "Z"}'),
    "thoughtful": _says("A"),
    "prose": _says("The answer depends on the video."),
    "empty": _says(""),
    "filtered": _says("", "content_filter"),
    "half-filtered": _says("A is", "content_filter"),
    "aborted": lambda asked: Said("A is", "OTHER" if asked.gemini else "abort") if asked.attempt < 2 else Said("B"),
    "never-told": _says("B", None),
    "no-usage": _says("B", usage=False),
    "parts": _says([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"}]),
    "wordy": _wordy(500),
    "endless": _wordy(10**9),
    "overbills": lambda asked: Said("B", tokens=100 * asked.room),
    "reasoning": _reasoning,
    "leaky": lambda asked: Said(f"B, says {asked.key}"),
    "leaky-401": _leaky(401),
    "leaky-500": _leaky(500),
    "gone": _error(404, bodies.NO_MODEL, bodies.GEMINI_MODEL),
    "quota": _error(429, bodies.INSUFFICIENT_QUOTA, bodies.GEMINI_DAY),
    "day": _error(429, bodies.DAY_LIMIT, bodies.GEMINI_DAY),
    "wrong-key": _error(401, bodies.WRONG_KEY, bodies.GEMINI_KEY),
    "spent-later": _after(_plain, 20, _error(402, bodies.NO_BALANCE, bodies.GEMINI_DAY)),
    "tomorrow": _error(429, bodies.RATE_LIMIT, bodies.GEMINI_MINUTE, Retry_After="86400"),
    "bad": _error(400, bodies.VLLM_BAD, bodies.GEMINI_BAD),
    "moved": _error(307, {}, Location="http://127.0.0.1:1/elsewhere"),
    "huge": lambda asked: Said("B" * (17 * 2**20)),
    "error-200": _error(200, bodies.openai("The upstream model is asleep", None)),
}


def _openai(said: Said) -> Body:
    message = {"role": "assistant", "content": said.text}
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    usage = {"prompt_tokens": 20, "completion_tokens": said.tokens, "total_tokens": 20 + said.tokens}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return body | {"usage": usage if said.usage else None}


def _gemini(said: Said) -> Body:
    thought = [{"text": "Let me think: C?", "thought": True}] if said.text == "A" else []
    reasons = {"stop": "STOP", "content_filter": "SAFETY"}
    candidate: Body = {"content": {"role": "model", "parts": [*thought, {"text": said.text}]}}
    if said.finish:
        candidate["finishReason"] = reasons.get(said.finish, said.finish)
    counts = {"candidatesTokenCount": said.tokens - 1, "thoughtsTokenCount": 1}
    usage = {"promptTokenCount": 20, "totalTokenCount": 20 + said.tokens} | counts
    return {"candidates": [candidate]} | ({"usageMetadata": usage} if said.usage else {})


def _text(body: dict[str, Any]) -> str:
    if "contents" in body:
        return " ".join(part.get("text", "") for part in body["contents"][-1]["parts"])
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def _shown(body: dict[str, Any]) -> list[str]:
    """SHA-256 of the pictures in a request."""
    if "contents" in body:
        data = [p["inlineData"]["data"] for p in body["contents"][-1]["parts"] if "inlineData" in p]
    else:
        content = body["messages"][-1]["content"]
        parts = [] if isinstance(content, str) else content
        data = [p["image_url"]["url"].partition(",")[2] for p in parts if p["type"] == "image_url"]
    return [
        hashlib.sha256(base64.b64decode(one, altchars=b"-_" if "contents" in body else None)).hexdigest()
        for one in data
    ]


@dataclass
class Running:
    """A server in a process of its own."""

    address: str

    def records(self) -> list[dict[str, Any]]:
        """What came in."""
        with urlopen(f"{self.address}/records") as response:  # noqa: S310
            records: list[dict[str, Any]] = json.load(response)
        return records


@contextlib.contextmanager
def running(**settings: Any) -> Iterator[Running]:
    """A server until the end of the block."""
    command = [sys.executable, "-m", "tests.llm.fake_server", json.dumps(settings)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Running(process.stdout.readline().strip())
        finally:
            process.kill()


async def _main(settings: Settings) -> None:
    fake = FakeServer(settings)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0, backlog=1000)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(Settings(**json.loads(sys.argv[1]))))
