"""The MCP servers of the running app: one for each set of permissions, made for the first request that needs it."""

import asyncio
import logging
from collections.abc import Callable, Set
from contextlib import suppress
from typing import TYPE_CHECKING

from pincite.core.domain.tokens import Permission
from pincite.core.services.bootstrap import Pincite

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

logger = logging.getLogger(__name__)

BY_TOKEN = frozenset({Permission.READ, Permission.ASK})
"""What a token can permit here: only ``pincite mcp --allow-add`` adds files by their paths on this machine."""


class McpServers:
    """``stop``: set when the app closes."""

    def __init__(self, pincite: Callable[[], Pincite], version: str, stop: asyncio.Event) -> None:
        self._pincite = pincite
        self._version = version
        self._stop = stop
        self._tasks: dict[frozenset[Permission], asyncio.Task[None]] = {}
        self._started: dict[frozenset[Permission], asyncio.Future[StreamableHTTPSessionManager]] = {}

    async def running(self, permissions: Set[Permission]) -> "StreamableHTTPSessionManager":
        """Return the running server with the tools that these permissions allow."""
        allowed = BY_TOKEN & permissions
        if allowed not in self._started:
            self._started[allowed] = asyncio.get_running_loop().create_future()
            self._tasks[allowed] = asyncio.create_task(self._run(allowed))
        return await asyncio.shield(self._started[allowed])

    async def closed(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)

    async def _run(self, permissions: frozenset[Permission]) -> None:
        """Hold the server open until the app closes: its task group is entered and left in this task."""
        started = self._started[permissions]
        try:
            manager = await asyncio.to_thread(self._made, permissions)
            async with manager.run():
                started.set_result(manager)
                await self._stop.wait()
        except Exception as error:  # the task's outermost frame: whoever waits for the server gets the fault
            logger.exception("The MCP server failed")
            if not started.done():
                started.set_exception(error)
            with suppress(KeyError):
                del self._started[permissions]  # the next request tries again

    def _made(self, permissions: frozenset[Permission]) -> "StreamableHTTPSessionManager":
        from mcp.server.transport_security import TransportSecuritySettings

        from pincite.web.mcp_server import make_server
        from pincite.web.operations import Operations

        server = make_server(Operations(self._pincite), permissions, version=self._version)
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate has looked at the host
        server.streamable_http_app(streamable_http_path="/mcp", stateless_http=True, transport_security=checked)
        return server.session_manager
