"""The routes of the page to label: the page, what it shows, and the boxes that it sends after every change.

Asked for proposals, a detector or a vision model says what pictures show; answers are untrusted, and proposals alone.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from flows.label_app.scene import LabelledScene
from flows.orchestration.watchdog import opener_for
from flows.review_app.app import (
    A_YEAR_S,
    NOT_STORED,
    WRONG_TOKEN_S,
    AuthMiddleware,
    read_form,
    reviewer_of,
    signed,
    told,
)
from flows.review_app.app import HERE as REVIEW
from pipeline.core.errors import ConfigError, RawDataError, StoreError, first_fault
from pipeline.formats.images import size_of
from pipeline.formats.scene_folder import MAX_BYTES
from pipeline.llm.base import Image, ModelSpec, record, user
from pipeline.llm.base import Request as ModelRequest
from pipeline.llm.failures import CUT, ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.llm.session import Session
from pipeline.worlds.indoor.labels.boxes import ChangedError, DrawnBoxes, PlacedBox, UnusableError
from pipeline.worlds.indoor.labels.proposals import DETECTIONS_MAX, Detections

HERE: Final = Path(__file__).resolve().parent
COOKIE: Final = "labeller"
MAX_REQUEST: Final = 64 * 1024
_SEE_OTHER: Final = 303
M = TypeVar("M", bound=BaseModel)


class Rectangle(BaseModel):
    """A rectangle to give a height to.

    Attributes:
        box: upright, on the rectangle.
        low: heights in metres; only the surface between them counts.
        high: heights in metres.
        tighten: whether the rectangle shrinks to what is in it.
    """

    model_config = ConfigDict(extra="forbid")

    box: PlacedBox
    low: FiniteFloat
    high: FiniteFloat
    tighten: bool = False


class LabelPages:
    """The page about one scene.

    Args:
        scene: what it shows and writes.
        token: what a person must know; None on the own machine.
    """

    def __init__(self, scene: LabelledScene, token: str | None) -> None:
        self._scene, self._token = scene, token
        self._key = hashlib.sha256(b"label" + (token or "").encode()).digest()

    def app(self, only_loopback: bool) -> Starlette:
        """The application; ``only_loopback``: as in `AuthMiddleware`."""
        return Starlette(
            routes=[
                Route("/", self.page),
                Route("/sign-in", self.sign_in, methods=["POST"]),
                Route("/scene", self.state),
                Route("/points", self.points),
                Route("/fit", self.fit, methods=["POST"]),
                Route("/views", self.views, methods=["POST"]),
                Route("/frames/{number:id}", self.frame),
                Route("/frames/{number:id}/view", self.view),
                Route("/objects", self.save, methods=["POST"]),
                Route("/icon.svg", lambda _: FileResponse(REVIEW / "static" / "icon.svg")),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            middleware=[Middleware(AuthMiddleware, only_loopback=only_loopback)],
            exception_handlers={
                HTTPException: _http_error,
                ChangedError: told(409),
                UnusableError: told(422),
                RawDataError: told(409),
                StoreError: told(503, NOT_STORED),
                ClientDisconnect: told(400),
            },
        )

    def page(self, request: Request) -> Response:
        """The page; or the form that asks for the token."""
        return FileResponse(HERE / "static" / ("label.html" if self._is_authorized(request) else "token.html"))

    async def sign_in(self, request: Request) -> Response:
        """Takes the token."""
        token = (await read_form(request)).get("token", "")
        if self._token is not None and not hmac.compare_digest(token.encode(), self._token.encode()):
            await asyncio.sleep(WRONG_TOKEN_S)
            raise HTTPException(403, "That is not the token of this page.")
        response = RedirectResponse("/", _SEE_OTHER)
        response.set_cookie(COOKIE, signed(COOKIE, self._key), max_age=A_YEAR_S, httponly=True, samesite="strict")
        return response

    def state(self, request: Request) -> Response:
        """The boxes and all else that the page begins with."""
        self._check(request)
        return JSONResponse(self._scene.state())

    def points(self, request: Request) -> Response:
        """The surface."""
        self._check(request)
        return Response(self._scene.points(), media_type="application/octet-stream")

    async def fit(self, request: Request) -> Response:
        """The box of what stands on a rectangle; null where nothing does."""
        asked = await self._sent(request, Rectangle)
        box = await run_in_threadpool(self._scene.fit, asked.box, asked.low, asked.high, asked.tighten)
        return JSONResponse(None if box is None else box.model_dump(mode="json"))

    async def views(self, request: Request) -> Response:
        """The frames that show a box."""
        box = await self._sent(request, PlacedBox)
        return JSONResponse([view._asdict() for view in await run_in_threadpool(self._scene.views, box)])

    def frame(self, request: Request) -> Response:
        """The picture of a frame."""
        self._check(request)
        picture = self._scene.picture(request.path_params["number"])
        if picture is None:
            raise HTTPException(404)
        return Response(picture, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"})

    def view(self, request: Request) -> Response:
        """Time and camera of a frame."""
        self._check(request)
        view = self._scene.view(request.path_params["number"])
        if view is None:
            raise HTTPException(404)
        return JSONResponse(view._asdict())

    async def save(self, request: Request) -> Response:
        """Writes all boxes; tells the digest of what is there now."""
        drawn = await self._sent(request, DrawnBoxes, MAX_BYTES)
        return JSONResponse({"digest": await run_in_threadpool(self._scene.save, drawn)})

    def _is_authorized(self, request: Request) -> bool:
        return self._token is None or reviewer_of(request.cookies.get(COOKIE), self._key) == COOKIE

    def _check(self, request: Request) -> None:
        if not self._is_authorized(request):
            raise HTTPException(401, "Open the first page, and give the token.")

    async def _sent(self, request: Request, kind: type[M], most: int = MAX_REQUEST) -> M:
        self._check(request)
        raw = bytearray()
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > most:
                raise HTTPException(413, "That is too long.")
        try:
            return kind.model_validate_json(bytes(raw))
        except ValidationError as error:
            raise HTTPException(422, first_fault(error)) from error


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return PlainTextResponse(detail, status)


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
    try:
        with opener_for(url).open(request, timeout=WAIT_S) as answer:
            raw = answer.read(MAX_ANSWER + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ConfigError(f"--propose {url}: no answer ({error}); start the detector, or leave it out") from error
    if len(raw) > MAX_ANSWER:
        raise ConfigError(f"--propose {url}: its answer has over {MAX_ANSWER} bytes")
    try:
        return Detections.model_validate_json(raw)
    except ValidationError as error:
        raise ConfigError(f"--propose {url}: its answer is no list of detections: {first_fault(error)}") from error


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
        raise ConfigError(f"--propose: {first_fault(error)}") from error
    if key_env is not None and not os.environ.get(key_env):
        raise ConfigError(f"model {model} needs an API key: export {key_env}=…")
    keys = {key_env: os.environ[key_env]} if key_env else {}
    with TemporaryDirectory() as folder, Session([spec], Path(folder) / "replies.sqlite", keys) as session:

        def ask(jpeg: bytes, names: list[str]) -> Detections | None:
            words = load_prompt(PROMPT).render(names=names)
            request = ModelRequest((user(words, Image(jpeg, "image/jpeg")),), _SCHEMA, prompt=PROMPT)
            try:
                return _in_pixels(structured(session.ask(spec.name, request)), jpeg)
            except ModelError as failure:
                if failure.kind in _ONE_PICTURES:
                    return None
                remedy = "correct the address, --model or --key-env, or leave --propose out"
                raise ConfigError(f"--propose {url}, model {model}: no answer ({failure}); {remedy}") from failure

        yield ask


def _in_pixels(value: Any, jpeg: bytes) -> Detections | None:
    """What a reply of the schema says, in pixels of the picture; None where a box ends before it begins."""
    width, height = size_of(jpeg) or (_SIDE, _SIDE)
    scale = (width / _SIDE, height / _SIDE) * 2
    placed = [one | {"box": [v * s for v, s in zip(one["box"], scale, strict=True)]} for one in value["detections"]]
    try:
        return Detections.model_validate({"detections": placed})
    except ValidationError:
        return None
