"""The MCP server at /mcp of the app: a gate before the door, which admits programs by their tokens, not browsers.

The SDK, which takes more than a second to import, is loaded for the first admitted request.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from h11 import LocalProtocolError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.core.domain.errors import PinciteError
from pincite.core.domain.tokens import Permission, Token, looks_like_token
from pincite.core.services.bootstrap import Pincite
from pincite.web.door import Door

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

logger = logging.getLogger(__name__)

PATH = "/mcp"
CLOSING_SECONDS = 5.0
BODY_SECONDS = 30.0
MAX_OPEN = 12
"""Requests that are answered at once: each may take one of the threads that the app's own files need, too."""
MAX_LOOKED_UP = 2
BY_TOKEN = frozenset({Permission.READ, Permission.ASK})
"""What a token can permit; only ``pincite mcp --allow-add``, on this machine, adds files."""
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class McpGate:
    """ASGI middleware around the whole app."""

    def __init__(
        self, app: ASGIApp, door: Callable[[], Door], pincite: Callable[[], Pincite], version: str = ""
    ) -> None:
        self._app = app
        self._version = version
        self._door = door()
        self._pincite = pincite
        self._servers: dict[frozenset[Permission], asyncio.Task[None]] = {}
        self._started: dict[frozenset[Permission], asyncio.Future[StreamableHTTPSessionManager]] = {}
        self._stop = asyncio.Event()
        self._looking_up = asyncio.Semaphore(MAX_LOOKED_UP)
        self._open = 0
        self._noting = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._closing(send))
        elif scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
        else:
            await self._answer(scope, receive, _with_headers(send))

    def _closing(self, send: Send) -> Send:
        """Stop the servers before the app reports that it is closed: the event loop ends directly afterwards."""

        async def sending(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete" and threading.current_thread() is threading.main_thread():
                self._heed_signals(asyncio.get_running_loop())
            if message["type"] == "lifespan.shutdown.complete" and self._servers:
                self._stop.set()
                await asyncio.wait(self._servers.values(), timeout=CLOSING_SECONDS)
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
        headers, listening = Headers(scope=scope), scope.get("server") or ("", 0)
        hosts, given = headers.getlist("host"), headers.getlist("authorization")
        if len(hosts) != 1 or not self._door.is_ours(hosts[0], listening):
            return await _refusal(421, "Pincite does not answer to this host name.")(scope, receive, send)
        if "origin" in headers:  # a browser sends it, and no page has a token
            return await _refusal(403, "Pincite does not answer to web pages here.")(scope, receive, send)
        if "content-length" in headers and "transfer-encoding" in headers:
            return await _refusal(400, "This request has two lengths.")(scope, receive, send)
        try:
            token = await self._token(given[0]) if len(given) == 1 else None
            if token is None:
                wanted = {"WWW-Authenticate": "Bearer"}
                return await _refusal(401, "A token is needed; make one in the settings.", wanted)(scope, receive, send)
            if scope["method"] != "POST":
                return await _refusal(405, "Only POST is answered.", {"Allow": "POST"})(scope, receive, send)
            if self._open >= MAX_OPEN:
                return await _refusal(503, "Too many requests at once.", {"Retry-After": "5"})(scope, receive, send)
            self._open += 1
            try:
                server = await self._server(token.permissions & BY_TOKEN)
                await self._until_stopped(server.handle_request(scope, _timely(receive), send))
            finally:
                self._open -= 1
        except PinciteError:
            logger.exception("The MCP server cannot use the library")
            await _refusal(503, "Pincite cannot use its library; the app says why.")(scope, receive, send)

    async def _until_stopped(self, answering: Coroutine[Any, Any, None]) -> None:
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

    async def _token(self, authorization: str) -> Token | None:
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer" or not looks_like_token(secret):
            return None
        async with self._looking_up:
            token = await asyncio.to_thread(lambda: self._pincite().tokens.admitted(secret))
        if token is not None and not self._noting:
            self._noting = True
            noted = asyncio.get_running_loop().run_in_executor(None, self._note_use, token)
            noted.add_done_callback(lambda _: setattr(self, "_noting", False))
        return token

    def _note_use(self, token: Token) -> None:
        with suppress(PinciteError):  # a database that is busy or full is no reason to refuse a reader
            self._pincite().tokens.note_use(token)

    async def _server(self, permissions: frozenset[Permission]) -> "StreamableHTTPSessionManager":
        """Return the running server with the tools that these permissions allow."""
        if permissions not in self._started:
            self._started[permissions] = asyncio.get_running_loop().create_future()
            self._servers[permissions] = asyncio.create_task(self._run(permissions))
        return await asyncio.shield(self._started[permissions])

    async def _run(self, permissions: frozenset[Permission]) -> None:
        """Hold the server open until the app closes: its task group is entered and left in this task."""
        started = self._started[permissions]
        try:
            manager = await asyncio.to_thread(self._made, permissions)
            async with manager.run():
                started.set_result(manager)
                await self._stop.wait()
        except Exception as error:
            logger.exception("The MCP server failed")
            if not started.done():
                started.set_exception(error)
            with suppress(KeyError):
                del self._started[permissions]  # the next request tries again

    def _made(self, permissions: frozenset[Permission]) -> "StreamableHTTPSessionManager":
        from mcp.server.transport_security import TransportSecuritySettings

        from pincite.web.mcp_server import make_server
        from pincite.web.operations import Operations

        server = make_server(Operations(self._pincite()), permissions, version=self._version)
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate has looked at the host
        server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, transport_security=checked)
        return server.session_manager


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)


def _timely(receive: Receive) -> Receive:
    """Give up a request whose body does not come."""
    whole = False

    async def receiving() -> Message:
        nonlocal whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout(BODY_SECONDS):
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
