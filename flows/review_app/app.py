"""The routes of the review page. Every form works without scripts; with scripts the video keeps playing."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import SplitResult, parse_qs, urlsplit

import h11
import uvicorn
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from flows.orchestration.watchdog import LOOPBACK
from flows.review_app.routes import LEGS, ScenePage, WrittenRoutes
from flows.review_app.site import RefusedError, ReviewSite
from pipeline.core.errors import StoreError
from pipeline.core.templates import in_unit
from pipeline.release.card import figure
from pipeline.review.mends import LONGEST_OPTION, LONGEST_WORDING, QuestionEdit
from pipeline.review.review_bundle import CHECKS
from pipeline.review.sheets import name_problem
from pipeline.review.verdicts import COMMON, REASONS, REVIEWERS, ROLES, STATES, Role
from pipeline.worlds.indoor.facts import TURNS
from pipeline.worlds.indoor.readers.written_routes import route_steps

HERE: Final = Path(__file__).resolve().parent
MAX_BODY: Final = 64 * 1024
WRONG_TOKEN_S: Final = 1.0  # how long a wrong token waits for its answer
A_YEAR_S: Final = 365 * 24 * 3600
ACTIONS: Final = ("answer", "accept", "flag", "undo")
NOT_STORED: Final = "Not stored, try again: "
_SEE_OTHER: Final = 303


class Pages:
    """The pages about one build.

    Args:
        site: what they show and store.
        salt: the build's secret.
        token: what reviewers must know to sign in; None on the own machine.
        routes: the routes that people may write from the videos; None: the benchmark asks for none.
        flags: as in `Benchmark`.
    """

    def __init__(
        self,
        site: ReviewSite,
        salt: bytes,
        token: str | None,
        routes: WrittenRoutes | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        self._site, self._token, self._routes = site, token, routes
        self._key = hashlib.sha256(b"cookie" + salt + (token or "").encode()).digest()
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"reasons": REASONS, "states": STATES, "needed": REVIEWERS, "build": site.build}
        self._templates.globals |= {"checks": CHECKS}
        self._templates.globals |= {"offered": [*COMMON, *flags], "longest": (LONGEST_WORDING, LONGEST_OPTION)}
        self._templates.globals |= {"routes": routes, "turns": TURNS, "legs": LEGS, "steps_of": route_steps}
        self._templates.filters |= {"clock": clock, "drawn": drawn, "figure": figure}
        self._templates.filters |= {"short": short, "in_unit": in_unit}

    def app(self, only_loopback: bool) -> Starlette:
        """The application; ``only_loopback``: as in `AuthMiddleware`."""
        return Starlette(
            routes=[
                Route("/", self.overview),
                Route("/sign-in", self.sign_in, methods=["POST"]),
                Route("/sign-out", self.sign_out, methods=["POST"]),
                Route("/next", self.next_item),
                Route("/items/{item:id}", self.item),
                Route("/items/{item:id}/video", self.video),
                Route("/items/{item:id}/pictures/{number:id}", self.picture),
                Route("/items/{item:id}/drawing", self.drawing),
                *(Route(f"/items/{{item:id}}/{action}", self.act, methods=["POST"]) for action in ACTIONS),
                *self._route_pages(),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            middleware=[Middleware(AuthMiddleware, only_loopback=only_loopback)],
            exception_handlers={
                HTTPException: self._http_error,
                RefusedError: told(409),
                StoreError: told(503, NOT_STORED),
                ClientDisconnect: told(400),  # to nobody: the line was cut in the middle of a request
            },
        )

    def _route_pages(self) -> list[Route]:
        if self._routes is None:
            return []
        return [
            Route("/routes", self.route_scenes),
            Route("/routes/{scene:id}", self.route_scene),
            Route("/routes/{scene:id}/video", self.route_video),
            Route("/routes/{scene:id}/{action:str}", self.write_route, methods=["POST"]),
        ]

    def route_scenes(self, request: Request) -> Response:
        """The scenes for which routes may be written."""
        return self._page("routes.html", reviewer=self._signed_in(request), written=self._desk.scenes())

    def route_scene(self, request: Request) -> Response:
        """The page to write routes through one scene."""
        return self._route_page(request, self._scene_page(request), {}, None)

    async def write_route(self, request: Request) -> Response:
        """Stores a route, or takes one away; what is refused comes back with the reason, as it was filled in."""
        self._signed_in(request)
        form = await read_form(request)
        return await run_in_threadpool(self._write_route, request, form)

    def _write_route(self, request: Request, form: dict[str, str]) -> Response:
        page, action = self._scene_page(request), request.path_params["action"]
        if action not in {"add", "remove"}:
            raise HTTPException(404)
        try:
            if action == "add":
                self._desk.add(page, form)
            else:
                self._desk.remove(form.get("line", ""))
        except RefusedError as error:
            response = self._route_page(request, page, form, str(error))
            response.status_code = 409
            return response
        return RedirectResponse(f"/routes/{page.number}", _SEE_OTHER)

    def route_video(self, request: Request) -> Response:
        """The video of a scene for which routes may be written."""
        self._signed_in(request)
        return _file(self._desk.video(request.path_params["scene"]))

    def _route_page(self, request: Request, page: ScenePage, form: dict[str, str], problem: str | None) -> HTMLResponse:
        return self._page("route.html", reviewer=self._signed_in(request), page=page, form=form, problem=problem)

    def _scene_page(self, request: Request) -> ScenePage:
        self._signed_in(request)
        page = self._desk.page(request.path_params["scene"])
        if page is None:
            raise HTTPException(404)
        return page

    @property
    def _desk(self) -> WrittenRoutes:
        if self._routes is None:
            raise HTTPException(404)
        return self._routes

    def overview(self, request: Request) -> Response:
        """The progress of the review; or the form to sign in."""
        reviewer = self._reviewer(request)
        if reviewer is None:
            return self._page("sign_in.html", reviewer=None, needs_token=self._token is not None, problem=None)
        overview = self._site.overview(reviewer)
        return self._page("overview.html", reviewer=reviewer, overview=overview, items=len(self._site))

    async def sign_in(self, request: Request) -> Response:
        """Takes a name, and the token where one is demanded."""
        form = await read_form(request)
        name = " ".join(form.get("reviewer", "").split())
        problem = name_problem(name)
        if self._token is not None and not hmac.compare_digest(form.get("token", "").encode(), self._token.encode()):
            await asyncio.sleep(WRONG_TOKEN_S)
            problem = "that is not the token of this review"
        if problem:
            page = self._page("sign_in.html", reviewer=None, needs_token=self._token is not None, problem=problem)
            page.status_code = 403
            return page
        response = RedirectResponse("/", _SEE_OTHER)
        response.set_cookie(COOKIE, signed(name, self._key), max_age=A_YEAR_S, httponly=True, samesite="strict")
        return response

    def sign_out(self, request: Request) -> Response:
        """Forgets the name."""
        response = RedirectResponse("/", _SEE_OTHER)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def next_item(self, request: Request) -> Response:
        """Goes on to the next item, or back to the overview when nothing is left."""
        reviewer, role = self._signed_in(request), _role(request.query_params.get("role"))
        given = request.query_params.get("after", "")
        after = int(given) if re.fullmatch(_Id.regex, given) else None
        if role == "adjudicate":
            chosen = self._site.next_dispute(reviewer, after)
            return RedirectResponse("/" if chosen is None else f"/items/{chosen}?role=adjudicate", _SEE_OTHER)
        chosen = self._site.next_item(reviewer, after)
        return RedirectResponse("/" if chosen is None else f"/items/{chosen}", _SEE_OTHER)

    def item(self, request: Request) -> Response:
        """One item: with the truth for who has answered it, without for everybody else."""
        reviewer, role = self._signed_in(request), _role(request.query_params.get("role"))
        return self._item_page("item.html", self._known_item(request), reviewer, role)

    async def act(self, request: Request) -> Response:
        """Stores an answer, that the truth holds, or a flag; or takes the last of these two back."""
        reviewer, form = self._signed_in(request), await read_form(request)
        item, role = self._known_item(request), _role(form.get("role"))
        action = request.url.path.rpartition("/")[2]
        return await run_in_threadpool(self._act, request, item, reviewer, role, action, form)

    def _act(
        self, request: Request, item: int, reviewer: str, role: Role, action: str, form: dict[str, str]
    ) -> Response:
        content, site = form.get("content", ""), self._site
        if action == "answer":
            site.answer(item, reviewer, role, content, form.get("answer", ""))
        elif action == "accept":
            site.accept(item, reviewer, role, content)
        elif action == "undo":
            site.undo(item, reviewer, role, content)
        else:
            reason, note, right = (form.get(name, "") for name in ("reason", "note", "correction"))
            mend = mend_in(form)
            site.flag(item, reviewer, role, content, reason, note, right, None if site.reads(item, mend) else mend)
        if "hx-request" in request.headers:
            return self._item_page("work.html", item, reviewer, role)
        query = "?role=adjudicate" if role == "adjudicate" else ""
        return RedirectResponse(f"/items/{item}{query}", _SEE_OTHER)

    def video(self, request: Request) -> Response:
        """The video of an item; parts of it where the browser asks for parts."""
        self._signed_in(request)
        return _file(self._site.video(self._known_item(request)))

    def picture(self, request: Request) -> Response:
        """A picture that the question of an item shows."""
        self._signed_in(request)
        return _file(self._site.picture(self._known_item(request), request.path_params["number"]))

    def drawing(self, request: Request) -> Response:
        """The drawing of what proves the answer to an item, once this reviewer has answered."""
        reviewer = self._signed_in(request)
        return _file(self._site.drawing(self._known_item(request), reviewer))

    def _item_page(self, template: str, item: int, reviewer: str, role: Role) -> HTMLResponse:
        view = self._site.view(item, reviewer, role)
        return self._page(template, reviewer=reviewer, view=view, items=len(self._site))

    def _page(self, template: str, **told: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(told))

    def _reviewer(self, request: Request) -> str | None:
        return reviewer_of(request.cookies.get(COOKIE), self._key)

    def _signed_in(self, request: Request) -> str:
        reviewer = self._reviewer(request)
        if reviewer is None:
            raise HTTPException(401)
        return reviewer

    def _known_item(self, request: Request) -> int:
        item: int = request.path_params["item"]
        if item not in self._site:
            raise HTTPException(404)
        return item

    async def _http_error(self, request: Request, error: Exception) -> Response:
        status = cast(HTTPException, error).status_code
        if status == 401 and request.method == "GET" and not _MEDIA.search(request.url.path):
            return RedirectResponse("/", _SEE_OTHER)
        return PlainTextResponse(_ERRORS.get(status, f"The page cannot do that ({status})."), status)


_MEDIA: Final = re.compile(r"/(video|pictures/\d+|drawing)$")
_ERRORS: Final = {
    401: "Sign in first: open the first page.",
    404: "There is nothing here. The question may be gone since the build was made again.",
    405: "The page cannot do that.",
    413: "That is too long.",
}


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; of one that is named twice the last. Raises HTTPException where it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413)
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def mend_in(form: Mapping[str, str]) -> QuestionEdit | None:
    """The words that a form gives a question; None: it has no fields for them."""
    if "wording" not in form:
        return None
    letters = sorted(name[-1] for name in form if re.fullmatch("option-[A-Z]", name))
    options = tuple(f"{letter}. {' '.join(form[f'option-{letter}'].split())}" for letter in letters)
    return QuestionEdit(" ".join(form["wording"].split()), options or None)


def _role(given: str | None) -> Role:
    return next((role for role in ROLES if role == given), "review")


def _file(path: Path | None) -> FileResponse:
    """A file that is this reviewer's to see; its type follows from its name. Raises HTTPException where it is gone."""
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, headers={"cache-control": "private, no-cache"})


def told(status: int, before: str = "") -> Callable[[Request, Exception], Any]:
    """A handler that answers with a status and the words of the error."""

    async def handle(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{before}{error}", status)

    return handle


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds: 1:02.5."""
    return f"{int(seconds // 60)}:{seconds % 60:04.1f}"


def drawn(option: str) -> str | None:
    """An option that is a small map, its rows one below the other; None for any other option."""
    rows = option.split(" / ")
    return "\n".join(rows) if len(rows) > 1 and len({len(row) for row in rows}) == 1 else None


def short(value: float) -> str:
    """A number of the evidence with at most four digits behind the point."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


COOKIE: Final = "reviewer"
# Everything comes from this server; no script, style or frame of anybody else, none written into a page.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class _Id(IntegerConvertor):  # type: ignore[misc]  # without types of its own
    """Ids in paths: others have more digits than Python reads."""

    regex = "[0-9]{1,16}"


register_url_convertor("id", _Id())


class AuthMiddleware:
    """Refuses requests that another site's page sends, and adds the headers that keep pages apart.

    Args:
        app: what is guarded.
        only_loopback: whether requests must name this machine; a foreign name that leads here (DNS rebinding) is
            refused.
    """

    def __init__(self, app: ASGIApp, only_loopback: bool) -> None:
        self._app = app
        self._only_loopback = only_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI interface."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._only_loopback and _split(f"//{headers.get('host', '')}").hostname not in LOOPBACK:
            await PlainTextResponse("Open the page as http://127.0.0.1 or localhost.", 400)(scope, receive, send)
        elif scope["method"] not in {"GET", "HEAD"} and not _from_here(headers):
            refused = "Refused: this was not sent from the page itself. Reload the page and try again."
            await PlainTextResponse(refused, 403)(scope, receive, _with_headers(send))
        else:
            await self._app(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending


def _from_here(headers: Headers) -> bool:
    """Returns whether the request comes from this site's own page, by its headers; without them it is refused."""
    origin = headers.get("origin")
    if origin is not None:
        return _split(origin).netloc == headers.get("host")
    return headers.get("sec-fetch-site") == "same-origin"


def _split(url: str) -> SplitResult:
    """The parts of an address; of what is none ("//[") no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def signed(name: str, key: bytes) -> str:
    """A reviewer's name as a cookie that nobody else can make."""
    raw = base64.urlsafe_b64encode(name.encode()).decode()
    return f"{raw}.{_mac(raw, key)}"


def reviewer_of(cookie: str | None, key: bytes) -> str | None:
    """The name in a cookie; None where it was not made with this key."""
    raw, _, mac = (cookie or "").partition(".")
    if not raw or not hmac.compare_digest(mac.encode(), _mac(raw, key).encode()):
        return None
    return base64.urlsafe_b64decode(raw).decode()


def _mac(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


WHOLE_WITHIN_S: Final = 30.0
_IN_PART: Final = frozenset({h11.IDLE, h11.SEND_BODY})  # states of a client whose request is not whole


def configured(app: Starlette, host: str, port: int) -> uvicorn.Config:
    """The configuration of a server that cuts half-sent requests, and logs warnings alone."""
    quiet = {"log_level": "warning", "server_header": False, "access_log": False}
    return uvicorn.Config(app, host=host, port=port, http=RequestProtocol, **quiet)


class RequestProtocol(H11Protocol):  # type: ignore[misc]  # without types of its own
    """Closes a connection on which a request is not whole `WHOLE_WITHIN_S` seconds after it began."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Waits for a request from here on."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A part of a request, the last one perhaps."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in _IN_PART:
            self._rest()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(WHOLE_WITHIN_S, self.transport.close)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
