"""The gate before the door: programs with a token reach the MCP server, the REST API and the OpenAI protocol here.

The libraries behind it, which take more than a second to import, are loaded for the first admitted request.
"""

import asyncio
import logging
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any

from h11 import LocalProtocolError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.core.domain.errors import AccessError, PinciteError
from pincite.core.domain.tokens import Permission, Token, looks_like_token
from pincite.core.services.bootstrap import Pincite
from pincite.web.door import Door
from pincite.web.mcp_servers import McpServers
from pincite.web.problems import problem

logger = logging.getLogger(__name__)

MCP = "/mcp"
FOLDERS = ("/api/", "/v1/")
UPLOAD = "/api/v1/documents"
DOCS = "/api/docs"
PUBLIC = (DOCS, "/api/openapi.json")
"""The description of the API, which says nothing about the library."""
TOKEN = "pincite.token"
"""Where a request's scope keeps the token that admitted it."""
CLOSING_SECONDS = 5.0
BODY_SECONDS, UPLOAD_SECONDS = 30.0, 900.0
"""Maximum time in which a whole request has to come."""
MAX_OPEN = 12
"""Requests that are answered at once: each may take one of the threads that the app's own files need, too."""
MAX_OPEN_PER_TOKEN = 6
MAX_PER_MINUTE = 240
"""Requests with one token."""
MAX_LOOKED_UP = 2
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}


_library: ContextVar[Pincite] = ContextVar("library")
"""The library as the user of the request at hand sees it."""


class Gate:
    """ASGI middleware around the whole app."""

    def __init__(
        self, app: ASGIApp, door: Callable[[], Door], pincite: Callable[[], Pincite], version: str = ""
    ) -> None:
        self._app = app
        self._version = version
        self._door = door()
        self._pincite = pincite
        self._stop = asyncio.Event()
        self._mcp = McpServers(_library.get, version, self._stop)
        self._api: asyncio.Future[ASGIApp] | None = None
        self._looking_up = asyncio.Semaphore(MAX_LOOKED_UP)
        self._open = Counter[str]()
        self._recent = Counter[str]()
        self._minute = 0
        self._noting = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._closing(send))
        elif scope["type"] != "http" or not (scope["path"] == MCP or scope["path"].startswith(FOLDERS)):
            await self._app(scope, receive, send)
        else:
            await self._answer(scope, receive, _with_headers(send))

    def _closing(self, send: Send) -> Send:
        """Stop the servers before the app reports that it is closed: the event loop ends directly afterwards."""

        async def sending(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete" and threading.current_thread() is threading.main_thread():
                self._heed_signals(asyncio.get_running_loop())
            if message["type"] == "lifespan.shutdown.complete":
                self._stop.set()
                await self._mcp.closed(CLOSING_SECONDS)
            await send(message)

        return sending

    def _heed_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        """End open requests as soon as the app is asked to end; what the server does then stays as it is."""
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)

            def heed(number: int, frame: FrameType | None, before: Any = before) -> None:
                loop.call_soon_threadsafe(self._stop.set)
                if callable(before):
                    before(number, frame)

            signal.signal(number, heed)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with the reason."""
        path = scope["path"]
        try:
            if refusal := self._stranger(scope):
                await refusal(scope, receive, send)
            elif path in PUBLIC or path.startswith(f"{DOCS}/"):
                await asyncio.to_thread(self._pincite)
                await self._admit("", None, scope, receive, send)
            elif (token := await self._token(Headers(scope=scope).getlist("authorization"))) is None:
                wanted = {"WWW-Authenticate": "Bearer"}
                await problem(path, 401, "A token is needed.", "Make one in the settings.", wanted)(
                    scope, receive, send
                )
            elif path == MCP and scope["method"] != "POST":
                await problem(path, 405, "Only POST is answered.", headers={"Allow": "POST"})(scope, receive, send)
            elif path == UPLOAD and (refusal := self._no_upload(scope, token)):
                await refusal(scope, receive, send)
            else:
                await self._admit(token.id, token, scope, receive, send)
        except PinciteError:
            logger.exception("A program cannot use the library")
            await problem(path, 503, "Pincite cannot use its library; the app says why.")(scope, receive, send)

    def _stranger(self, scope: Scope) -> Response | None:
        """Return the refusal of a request that is not for this server, or comes from a web page of somebody else."""
        path, headers, listening = scope["path"], Headers(scope=scope), scope.get("server") or ("", 0)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._door.is_ours(hosts[0], listening):
            return problem(path, 421, "Pincite does not answer to this host name.")
        ours = [] if path == MCP else [[f"http://{hosts[0]}"], [f"https://{hosts[0]}"]]  # the API's own description
        if origins and origins not in ours:  # a browser sends it, and no other page has a token
            return problem(path, 403, "Pincite does not answer to web pages here.")
        if "content-length" in headers and "transfer-encoding" in headers:
            return problem(path, 400, "This request has two lengths.")
        return None

    def _no_upload(self, scope: Scope, token: Token) -> Response | None:
        """Return the refusal of a file before it comes."""
        length, largest = Headers(scope=scope).get("content-length", ""), self._pincite().settings.current.max_file_mib
        if scope["method"] == "POST" and Permission.ADD not in token.permissions:
            return problem(UPLOAD, 403, "This token does not permit adding.")
        if length.isdecimal() and int(length) > (largest + 1) << 20:
            return problem(UPLOAD, 413, f"The limit is {largest} MiB.", "Raise it in the settings, or split the file.")
        return None

    def _too_many(self, path: str, who: str) -> Response | None:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute = minute
            self._recent.clear()
        self._recent[who] += 1
        if self._recent[who] > MAX_PER_MINUTE:
            next_minute = {"Retry-After": str(60 - int(time.monotonic() % 60))}
            return problem(path, 429, f"More than {MAX_PER_MINUTE} requests a minute.", "Ask later.", next_minute)
        waiting = {"Retry-After": "5"}
        if self._open[who] >= MAX_OPEN_PER_TOKEN:
            return problem(path, 429, f"More than {MAX_OPEN_PER_TOKEN} requests at once.", "Ask later.", waiting)
        if self._open.total() >= MAX_OPEN:
            return problem(path, 503, "Too many requests at once.", "Ask later.", waiting)
        return None

    async def _admit(self, who: str, token: Token | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer within the limits. ``who``: the token's id; empty for those who look at the description."""
        if refusal := self._too_many(scope["path"], who):
            await refusal(scope, receive, send)
            return
        self._open[who] += 1
        try:
            if token:
                _library.set(await asyncio.to_thread(self._library_of, token))
            timely = _timely(receive, UPLOAD_SECONDS if scope["path"] == UPLOAD else BODY_SECONDS)
            if token and scope["path"] == MCP:
                server = await self._mcp.running(token.permissions)
                answering: Awaitable[None] = server.handle_request(scope, timely, send)
            else:
                api = await self._made_api()
                answering = api({**scope, TOKEN: token}, timely, send)
            await self._until_stopped(answering)
        finally:
            self._open[who] -= 1
            self._open += Counter()  # without those that are 0

    async def _until_stopped(self, answering: Awaitable[None]) -> None:
        """Answer, unless the app is asked to end: it would wait for each open request."""
        answer, stopped = asyncio.ensure_future(answering), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((answer, stopped), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                answer.result()
        finally:
            for task in (answer, stopped):
                task.cancel()
            await asyncio.wait((answer, stopped), timeout=CLOSING_SECONDS)

    async def _token(self, given: list[str]) -> Token | None:
        scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not looks_like_token(secret):
            return None
        async with self._looking_up:
            token = await asyncio.to_thread(self._admitted, secret)
        if token is not None and not self._noting:
            self._noting = True
            noted = asyncio.get_running_loop().run_in_executor(None, self._note_use, token)
            noted.add_done_callback(lambda _: setattr(self, "_noting", False))
        return token

    def _admitted(self, secret: str) -> Token | None:
        """Return the token with this secret; None also where its user may do nothing any more."""
        pincite = self._pincite()
        token = pincite.tokens.admitted(secret)
        return token if token and (pincite.accounts is None or pincite.accounts.with_id(token.owner)) else None

    def _library_of(self, token: Token) -> Pincite:
        """Return the library as the token's user sees it. Raises AccessError."""
        pincite = self._pincite()
        if pincite.accounts is None:
            return pincite
        if (user := pincite.accounts.with_id(token.owner)) is None:
            raise AccessError("The account of this token may do nothing any more.")
        return pincite.of(user)

    def _note_use(self, token: Token) -> None:
        with suppress(PinciteError):  # a database that is busy or full is no reason to refuse a reader
            self._pincite().tokens.note_use(token)

    async def _made_api(self) -> ASGIApp:
        if self._api is None or (self._api.done() and self._api.exception()):
            self._api = asyncio.ensure_future(asyncio.to_thread(self._make_api))
        return await asyncio.shield(self._api)

    def _make_api(self) -> ASGIApp:
        from pincite.web.api import make_api

        return make_api(_library.get, self._version)


def _timely(receive: Receive, seconds: float) -> Receive:
    """Give up a request whose body does not come."""
    whole, until = False, time.monotonic() + seconds

    async def receiving() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout(until - time.monotonic()):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        whole = not message.get("more_body", False)
        return message

    return receiving


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        with suppress(LocalProtocolError):  # the rest of the request was none, and has been refused already
            await send(message)

    return sending
