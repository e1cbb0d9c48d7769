"""The MCP server at /mcp of the app: a gate before the door, which admits programs by their tokens, not browsers.

The SDK, which takes more than a second to import, is loaded for the first admitted request.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.core.domain.errors import PinciteError
from pincite.core.domain.tokens import Permission, Token
from pincite.core.services.bootstrap import Pincite
from pincite.web.door import Door

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

logger = logging.getLogger(__name__)

PATH = "/mcp"
CLOSING_SECONDS = 5.0
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class McpGate:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, door: Callable[[], Door], pincite: Callable[[], Pincite]) -> None:
        self._app = app
        self._door = door()
        self._pincite = pincite
        self._servers: dict[frozenset[Permission], asyncio.Task[None]] = {}
        self._started: dict[frozenset[Permission], asyncio.Future[StreamableHTTPSessionManager]] = {}
        self._stop = asyncio.Event()

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
            if message["type"] == "lifespan.shutdown.complete" and self._servers:
                self._stop.set()
                await asyncio.wait(self._servers.values(), timeout=CLOSING_SECONDS)
            await send(message)

        return sending

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, listening = Headers(scope=scope), scope.get("server") or ("", 0)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._door.is_ours(hosts[0], listening):
            return await _refusal(421, "Pincite does not answer to this host name.")(scope, receive, send)
        if "origin" in headers:  # a browser sends it, and no page has a token
            return await _refusal(403, "Pincite does not answer to web pages here.")(scope, receive, send)
        try:
            token = await asyncio.to_thread(self._token, headers.get("authorization", ""))
            if token is None:
                wanted = {"WWW-Authenticate": "Bearer"}
                return await _refusal(401, "A token is needed; make one in the settings.", wanted)(scope, receive, send)
            if scope["method"] != "POST":
                return await _refusal(405, "Only POST is answered.", {"Allow": "POST"})(scope, receive, send)
            server = await self._server(token.permissions)
        except PinciteError as error:
            return await _refusal(503, str(error))(scope, receive, send)
        await server.handle_request(scope, receive, send)

    def _token(self, authorization: str) -> Token | None:
        scheme, _, secret = authorization.partition(" ")
        given = secret.strip() if scheme.lower() == "bearer" else ""
        return self._pincite().tokens.admitted(given) if given else None

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

        server = make_server(Operations(self._pincite()), permissions)
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate has looked at the host
        server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, transport_security=checked)
        return server.session_manager


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sending
