"""A server on the loopback interface that speaks the OpenAI and the Gemini protocol, badly if asked to.

``python -m tests.llm.fake_server '{"latency_s": 0.05, …}'`` prints its address and serves until its input is closed.
A prompt names its question as ``Q123``; what goes wrong is drawn from the question and the number of its attempt, so
that every run meets the same faults. The model's name chooses other behaviour (`_BEHAVIOURS`). ``GET /records`` tells
what came in and what became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from subprocess import PIPE, Popen
from typing import Any
from urllib.request import urlopen

FAULTS = {"rate_limited": 0.05, "server_error": 0.03, "timeout": 0.02, "malformed": 0.01, "reset": 0.01}


@dataclass
class Settings:
    """How the server behaves."""

    latency_s: float = 0.0
    retry_after_s: float = 0.2
    hang_s: float = 30.0
    faults: dict[str, float] = field(default_factory=dict)


@dataclass
class Record:
    """One request."""

    at_s: float
    question: str
    outcome: str
    body: dict[str, Any]
    headers: dict[str, str]


class FakeServer:
    """The protocols, without a framework: resets and cut bodies are made on the bare connection."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: list[Record] = []
        self.attempts: dict[str, int] = {}
        self.uploads: dict[str, int] = {}

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
        record.outcome = await self.outcome(question, model, headers, gemini, writer)
        return record.outcome in {"success", "rate_limited", "server_error", "status"}

    async def outcome(
        self, question: str, model: str, headers: dict[str, str], gemini: bool, writer: asyncio.StreamWriter
    ) -> str:
        fault = self.fault(question)
        if fault is not None:
            await self.misbehave(fault, writer)
            return fault
        await asyncio.sleep(self.settings.latency_s)
        key = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-goog-api-key", "")
        status, text, extra = _BEHAVIOURS.get(model, _plain)(self.attempts[question], key)
        if status != 200:
            await send(writer, status, {"error": {"message": text, "code": text if status == 429 else status}}, extra)
            return "status"
        await send(writer, 200, _gemini(text, extra) if gemini else _openai(text, extra))
        return "success"

    async def misbehave(self, fault: str, writer: asyncio.StreamWriter) -> None:
        if fault == "reset":
            writer.transport.abort()
            return
        await asyncio.sleep(self.settings.hang_s if fault == "timeout" else self.settings.latency_s)
        if fault == "rate_limited":
            wait = {"Retry-After": str(self.settings.retry_after_s)}
            await send(writer, 429, {"error": {"message": "slow down", "code": 429}}, wait)
        elif fault == "server_error":
            await send(writer, 500, {"error": {"message": "oops", "code": 500}})
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


Behaviour = tuple[int, str, Any]


def _plain(attempt: int, key: str) -> Behaviour:
    return 200, "B", None


_BEHAVIOURS = {
    "json": lambda attempt, key: (200, '{"letter": "B"}', None),
    "json-late": lambda attempt, key: (200, '{"letter": "B"}' if attempt > 1 else "I think it is B", None),
    "json-other": lambda attempt, key: (200, '{"letter": "Z"}', None),
    "thoughtful": lambda attempt, key: (200, "A", None),
    "prose": lambda attempt, key: (200, "The answer depends on the video.", None),
    "empty": lambda attempt, key: (200, "", None),
    "filtered": lambda attempt, key: (200, "", "content_filter"),
    "leaky": lambda attempt, key: (200, f"B, says {key}", None),
    "leaky-401": lambda attempt, key: (401, f"no such key: {key}", None),
    "leaky-500": lambda attempt, key: (500, f"crashed with {key}", None),
    "gone": lambda attempt, key: (404, "no such model", None),
    "quota": lambda attempt, key: (429, "insufficient_quota", None),
    "tomorrow": lambda attempt, key: (429, "come back tomorrow", {"Retry-After": "86400"}),
    "bad": lambda attempt, key: (400, "this field is not known", None),
}


def _openai(text: str, reason: str | None) -> dict[str, Any]:
    tokens = {"content": [{"token": text, "logprob": -0.25, "bytes": None, "top_logprobs": []}]}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": reason or "stop", "logprobs": tokens}
    usage = {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


def _gemini(text: str, reason: str | None) -> dict[str, Any]:
    thought = [{"text": "Let me think: C?", "thought": True}] if text == "A" else []
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": [*thought, {"text": text}]},
        "finishReason": "SAFETY" if reason else "STOP",
        "logprobsResult": {"chosenCandidates": [{"token": text, "tokenId": 1, "logProbability": -0.25}]},
    }
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 1, "thoughtsTokenCount": 1, "totalTokenCount": 22}
    return {"candidates": [candidate], "usageMetadata": usage}


def _text(body: dict[str, Any]) -> str:
    if "contents" in body:
        return " ".join(part.get("text", "") for part in body["contents"][-1]["parts"])
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


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
