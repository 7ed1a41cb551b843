"""Asks a detector behind an HTTP address what pictures show. Its answers are untrusted, and proposals alone."""

from __future__ import annotations

import base64
import json
import urllib.request
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from flows.review_app.app import LOOPBACK
from pipeline.core.errors import ConfigError
from pipeline.worlds.indoor.labels.proposals import Detections

WAIT_S: Final = 120.0
MAX_ANSWER: Final = 2**20


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
