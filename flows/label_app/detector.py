"""Asks a detector, or a vision model, what pictures show. Their answers are untrusted, and proposals alone."""

from __future__ import annotations

import base64
import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from flows.review_app.app import LOOPBACK
from pipeline.core.errors import ConfigError
from pipeline.formats.images import size_of
from pipeline.llm.base import Image, ModelSpec, Request, record, user
from pipeline.llm.failures import CUT, ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.llm.session import Session
from pipeline.worlds.indoor.labels.proposals import DETECTIONS_MAX, Detections

WAIT_S: Final = 120.0
MAX_ANSWER: Final = 2**20
PROMPT: Final = "propose_boxes"
ROOM_TOKENS: Final = 4096  # for some hundred boxes; a reply that was cut is asked for again with more room
ATTEMPTS: Final = 3
_SIDE: Final = 1000  # models tell places in thousandths of the picture, whatever size they are shown it in
_ONE_PICTURES: Final = frozenset({"malformed", "refused", CUT})  # failures that say nothing about the next picture
_NUMBER: Final = {"type": "number", "minimum": 0, "maximum": _SIDE}
_BOX: Final = {"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4}


_LIST: Final = {"type": "array", "items": record(label={"type": "string"}, box=_BOX), "maxItems": DETECTIONS_MAX}
_SCHEMA: Final = record(detections=_LIST)
Detect = Callable[[bytes, list[str]], Detections | None]


def detect(url: str, jpeg: bytes, names: list[str]) -> Detections:
    """What a detector finds in a picture. Raises ConfigError.

    It gets a POST of ``{"image": base64 of a JPEG, "names": categories}`` and answers
    ``{"detections": [{"label": "chair", "box": [x0, y0, x1, y1], "score": 0.9}, …]}`` in pixels of the picture.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"--propose {url}: give an address that begins with http:// or https://")
    body = json.dumps({"image": base64.b64encode(jpeg).decode(), "names": names}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")  # noqa: S310
    handlers = [urllib.request.ProxyHandler({})] if parts.hostname in LOOPBACK else []
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=WAIT_S) as answer:
            raw = answer.read(MAX_ANSWER + 1)
    except (OSError, HTTPException, ValueError) as error:
        raise ConfigError(f"--propose {url}: no answer ({error}); start the detector, or leave it out") from error
    if len(raw) > MAX_ANSWER:
        raise ConfigError(f"--propose {url}: its answer has over {MAX_ANSWER} bytes")
    try:
        return Detections.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"--propose {url}: its answer is no list of detections: {where}: {first['msg']}") from error


@contextmanager
def model_detector(url: str, model: str, key_env: str | None) -> Iterator[Detect]:
    """A vision model behind the OpenAI protocol as a detector; None for a picture to which it gives no usable answer.

    Args:
        url: the server's, to ``/v1``.
        model: the server's name of the model.
        key_env: the environment variable that holds its key; None where it takes none.

    Raises ConfigError: also when it is asked and the server does not answer.
    """
    try:
        spec = ModelSpec(
            provider="openai",
            model=model,
            base_url=url,
            key_env=key_env,
            inputs=("text", "image"),
            max_tokens=ROOM_TOKENS,
            timeout_s=WAIT_S,
            attempts=ATTEMPTS,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"--propose: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if key_env is not None and not os.environ.get(key_env):
        raise ConfigError(f"model {model} needs an API key: export {key_env}=…")
    keys = {key_env: os.environ[key_env]} if key_env else {}
    with TemporaryDirectory() as folder, Session([spec], Path(folder) / "replies.sqlite", keys) as session:

        def ask(jpeg: bytes, names: list[str]) -> Detections | None:
            words = load_prompt(PROMPT).render(names=names)
            request = Request((user(words, Image(jpeg, "image/jpeg")),), _SCHEMA, prompt=PROMPT)
            try:
                return _in_pixels(structured(session.ask(spec.name, request)), jpeg)
            except ModelError as failure:
                if failure.kind in _ONE_PICTURES:
                    return None
                remedy = "correct the address, --model or --key-env, or leave --propose out"
                raise ConfigError(f"--propose {url}, model {model}: no answer ({failure}); {remedy}") from failure

        yield ask


def _in_pixels(told: Any, jpeg: bytes) -> Detections | None:
    """What a reply of the schema says, in pixels of the picture; None where a box ends before it begins."""
    width, height = size_of(jpeg) or (_SIDE, _SIDE)
    scale = (width / _SIDE, height / _SIDE) * 2
    placed = [one | {"box": [v * s for v, s in zip(one["box"], scale, strict=True)]} for one in told["detections"]]
    try:
        return Detections.model_validate({"detections": placed})
    except ValidationError:
        return None
